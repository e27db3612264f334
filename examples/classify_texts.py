"""Label texts by their nearest neighbours; a new labelled text counts at once."""

from cptw_search import Cptw, EmbeddedIndex, KnnClassifier

documents = [
    {"id": 1, "text": "The striker scored twice in the final.", "label": "sport"},
    {"id": 2, "text": "A late goal decided the cup match.", "label": "sport"},
    {"id": 3, "text": "The final match of the cup had a late winner.", "label": "sport"},
    {"id": 4, "text": "Shares fell after the bank's profit warning.", "label": "business"},
    {"id": 5, "text": "The bank reported a rise in annual profit.", "label": "business"},
    {"id": 6, "text": "Annual shares of profit fell at the bank.", "label": "business"},
]
model = Cptw(vectors="lsi", n_dimensions=3).fit(documents)
index = EmbeddedIndex.build(model, documents)
classifier = KnnClassifier(index, k=3)
print(classifier.predict(["Who won the cup?", "Profits at the banks"]))

index.add([{"id": 7, "text": "An election brought a new parliament.", "label": "politics"}])
print(KnnClassifier(index, k=1).predict(["Parliament after the election"]))
