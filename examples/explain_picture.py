"""Draw why a news text matches a query that shares no word with it: the figure of the README.

Usage: python explain_picture.py figure.png
"""

import sys
from pathlib import Path

from cptw_search import Cptw, EmbeddedIndex
from cptw_search.explain_views import draw
from cptw_search.lee_corpus import load_lee_corpus

corpus = load_lee_corpus()
model = Cptw(vectors="lsi").fit([*corpus.texts, *corpus.judged])
index = EmbeddedIndex.build(model, corpus.texts, progress=False)
has_the_word = {hit.id for hit in index.search("blaze", k=300, method="bm25")}
hit = next(hit for hit in index.search("blaze", method="cptw", explain=True) if hit.id not in has_the_word)
if hit.explanation is not None:
    figure = draw(hit.explanation, title="“blaze” finds a text about bushfires that does not hold the word")
    figure.savefig(Path(sys.argv[1]), dpi=150)
