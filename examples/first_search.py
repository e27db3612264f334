"""Index a handful of texts in memory and search them: what the README shows."""

from cptw_search import EmbeddedIndex, model_for

texts = [
    "The captain of the ship watched the storm at sea.",
    "A fishing boat was lost in the storm off the coast.",
    "The ship and the fishing boat met in the harbour.",
    "Harbour authorities closed the coast to every vessel.",
    "The government raised the tax on income.",
    "Voters want the government to lower income tax.",
]
model = model_for("search", n_dimensions=3).fit(
    texts
)  # or vectors=load_vectors("GoogleNews-vectors-negative300.bin.gz")
index = EmbeddedIndex.build(model, texts)
for hit in index.search("vessel in distress", explain=True):
    words = {match.words[0] for match in hit.explanation.matches} if hit.explanation else set()
    print(f"{hit.score:.2f}  {hit.fields['text']}  ({', '.join(sorted(words))})")
