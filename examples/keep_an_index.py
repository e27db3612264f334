"""Save an index, open it again, add, replace and delete documents, search with a filter."""

import tempfile
from pathlib import Path

from cptw_search import Cptw, EmbeddedIndex

documents = [
    {"id": "a", "title": "Storm", "text": "A ship was lost in the storm.", "year": 1999},
    {"id": "b", "title": "Harbour", "text": "The harbour is open to every ship.", "year": 2004},
    {"id": "c", "title": "Storm", "text": "The storm closed the harbour.", "year": 2010},
]
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "index"
    model = Cptw(vectors="lsi", tau=0.3, field_weights={"title": 2, "text": 1}).fit(documents)
    EmbeddedIndex.build(model, documents, path=path).close()

    with EmbeddedIndex.open(path) as index:
        index.update([{"id": "b", "title": "Harbour", "text": "The harbour is closed.", "year": 2005}])
        index.delete(["c"])
        index.save()  # until here, whoever opens the directory sees the old state

    reader = EmbeddedIndex.open(path)
    for hit in reader.search("harbour", filter={"year": {"gte": 2000}}):
        print(hit.id, round(hit.score, 2), hit.fields["title"])
