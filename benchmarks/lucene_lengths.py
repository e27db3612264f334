"""Why a cluster's figures differ a little from the embedded engine's: Lucene keeps a document's length in one byte.

Computes the search default on test collections with exact lengths and with lengths rounded as Lucene's SmallFloat does, by
the arrays of `retrieval_study.py`. docs/retrieval.md lays it beside what the servers gave.

Usage: CPTW_DATA=... python benchmarks/lucene_lengths.py [--output docs/results/lucene-lengths.json]
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from retrieval_study import COLLECTIONS, Prepared, Scores, Setting, best_is_one, prepare, top

from cptw_search.bm25 import bm25_norms, bm25_saturation
from cptw_search.feedback import FEEDBACK_DOCS, LEARNED_SHARE, TEACHER_LAMBDA, learn_words

MEASURES = ("ndcg@10", "map", "recall@100")
BM25 = {"k1": 1.5, "b": 0.75}
SETTING = {"tau": 0.35, "lambda": 0.3}
_EXACT_BELOW = 24  # SmallFloat.intToByte4 keeps the lengths below that, and three bits behind the first one of others


def in_one_byte(length: int) -> int:
    """Round a length as Lucene's `SmallFloat.intToByte4` and back."""
    if length < _EXACT_BELOW:
        return length
    rest = length - _EXACT_BELOW
    dropped = max(rest.bit_length() - 4, 0)
    return _EXACT_BELOW + ((rest >> dropped) << dropped)


class OneByte(Prepared):
    """A collection whose documents are searched with rounded lengths; words are learned by exact ones, as a client does."""

    def bm25(self, setting: Setting) -> Scores:
        """BM25 with rounded lengths."""
        key = ("bm25 in one byte", setting["k1"], setting["b"])
        return self.keep(key, lambda: (self.queries @ self.idf @ self.rounded(setting).T).toarray())

    def rounded(self, setting: Setting) -> sp.csr_matrix:
        """Give the document weights with rounded lengths."""
        rows = self.documents.copy()
        lengths = np.array([in_one_byte(int(length)) for length in rows.sum(axis=1).A1], dtype=np.float64)
        of_entries = np.repeat(lengths, np.diff(rows.indptr))
        norms = bm25_norms(of_entries, self.model.average_length_, setting["k1"], setting["b"])
        rows.data = bm25_saturation(rows.data, norms, setting["k1"])
        return rows

    def default(self) -> Scores:
        """Score by the search default."""
        exact = sp.csr_matrix(self.saturated(BM25["k1"], BM25["b"]) @ self.idf)
        teachers = self.hybrid(BM25, {**SETTING, "lambda": TEACHER_LAMBDA})
        rows = []
        for scores in teachers:
            best = top(scores, FEEDBACK_DOCS)
            rows.append(learn_words(exact[best], scores[best]))
        taught = best_is_one((sp.vstack(rows) @ self.rounded(BM25).T).toarray())
        return LEARNED_SHARE * taught + (1 - LEARNED_SHARE) * best_is_one(self.hybrid(BM25, SETTING))


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("docs/results/lucene-lengths.json"))
    parser.add_argument("--collections", default=",".join(COLLECTIONS))
    arguments = parser.parse_args()
    records = []
    for name in arguments.collections.split(","):
        prepared = prepare(name)
        found = prepared.measure(OneByte(prepared.collection, prepared.model).default())
        records.append({"collection": name, **{measure: round(found.mean[measure], 4) for measure in MEASURES}})
        print(records[-1], flush=True)
    arguments.output.write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
