"""Tests of what may explain a difference to the paper's Table 2; docs/reproduction.md holds what came out.

Each check changes one thing and leaves the protocol as it is: the preparation of the texts, the length of rows, the order
of the documents, the vectors, what is known of the test part, and the two numbers of documents in the authors' code. Run
with the data sets in the folder that CPTW_DATA names::

    python benchmarks/reproduction_checks.py preparation reuters twitter --out checks.json
    python benchmarks/reproduction_checks.py vectors reuters --vectors googlenews.npz --others glove.npz --out checks.json

Results are added to the file.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from cptw_search import WordVectors, load_vectors
from cptw_search.evaluation.baselines import BagOfWords, Bm25, MeanVector
from cptw_search.evaluation.classification import run_split
from cptw_search.evaluation.datasets import LabelledTexts, load_dataset
from cptw_search.evaluation.knn import Comparison, SparseComparison, nearest, unit_sparse
from cptw_search.evaluation.methods import Method, Setting
from cptw_search.evaluation.paper_figures import TABLE_2
from cptw_search.evaluation.propagated import Propagated
from cptw_search.evaluation.protocol import CountedTexts, Round, Split, count_texts, make_splits
from cptw_search.evaluation.report import paper_method
from cptw_search.evaluation.statistics import with_contractions
from cptw_search.evaluation.unnormalised import UnnormalisedBagOfWords
from cptw_search.propagation import column_scale, idf_released
from cptw_search.similarity import term_similarity

CHECKS = ("preparation", "rows", "order", "neighbours", "bm25", "vectors", "transductive", "released")
TAUS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
VARIANTS = ("l2 tf", "l2 idf-released", "l2 idf-input")
SHARES = (0.25, 0.5, 0.75)

Row = dict[str, object]


@dataclass(frozen=True)
class TransductiveRound(Round):
    """A round that knows the document frequencies of the whole data set, as the authors' code does."""

    @property
    def df(self) -> npt.NDArray[np.float64]:  # type: ignore[override]
        """Document frequencies in all documents."""
        counts = self.data.counts
        return np.bincount(counts.indices, minlength=counts.shape[1]).astype(np.float64)[self.columns]

    @property
    def n_docs(self) -> int:
        """All documents."""
        return int(self.data.counts.shape[0])


@dataclass(frozen=True)
class TransductiveTexts(CountedTexts):
    """A data set whose words are known in advance, those of the test part included."""

    def round(self, train: npt.NDArray[np.intp], queries: npt.NDArray[np.intp]) -> Round:
        """Give counts over all words of the data set."""
        columns = np.flatnonzero(np.bincount(self.counts.indices, minlength=self.counts.shape[1]) >= self.min_df)
        return TransductiveRound(self.counts[train][:, columns], self.counts[queries][:, columns], columns, self)


@dataclass(frozen=True)
class GensimBm25:
    """BM25 as gensim had it until version 3.6: the number of documents stands where a document's length belongs.

    So length does not count, and frequencies are hardly saturated.
    """

    k1s: Sequence[float] = (1.0, 1.25, 1.5, 1.75, 2.0)
    bs: Sequence[float] = (0.5, 0.75, 1.0)
    name: str = "bm25-gensim"
    votes: tuple[str, ...] = ("similarity", "uniform")

    def grid(self) -> list[Setting]:
        """Every k1 with every b."""
        return Bm25(self.k1s, self.bs).grid()

    def compare(self, part: Round, settings: Sequence[Setting]) -> Iterator[tuple[Setting, Comparison]]:
        """Give the scores."""
        idf = np.log(part.n_docs - part.df + 0.5) - np.log(part.df + 0.5)
        idf = np.where(idf >= 0, idf, 0.25 * idf.mean())
        mean_length = part.train.sum() / part.n_docs
        for setting in settings:
            chosen = dict(setting.parameters)
            k1, b = chosen["k1"], chosen["b"]
            rows = part.train.copy()
            saturation = rows.data + k1 * (1 - b + b * part.n_docs / mean_length)
            rows.data = idf[rows.indices] * rows.data * (k1 + 1) / saturation
            yield setting, SparseComparison(part.queries, rows)


@dataclass(frozen=True)
class ReleasedCode(Propagated):
    """CPTW_IDF to the letter of the authors' code: the weights of queries have the number of all documents in them."""

    variants: Sequence[str] = ("l2 idf-released",)
    taus: Sequence[float] = TAUS
    name: str = "cptw-released"

    def compare(self, part: Round, settings: Sequence[Setting]) -> Iterator[tuple[Setting, Comparison]]:
        """Give the cosines."""
        n_all = part.n_docs + part.queries.shape[0]
        for setting in sorted(settings, key=lambda one: one.parameters):
            S = term_similarity(part.vectors, setting.parameters[0][1], n_threads=1, progress=False)
            alpha = column_scale(S, "l2")
            ours, theirs = (
                idf_released(S, alpha, part.df, part.n_docs, n_docs_in_log=n_docs).apply(rows)
                for rows, n_docs in ((part.train, part.n_docs), (part.queries, n_all))
            )
            yield setting, SparseComparison(unit_sparse(theirs), unit_sparse(ours))


def measure(data: CountedTexts, method: Method, splits: Sequence[Split], **said: object) -> Iterator[Row]:
    """Run the protocol and give one row a variant and way to vote."""
    found: dict[tuple[str, str], list[float]] = {}
    for split in splits:
        for outcome in run_split(data, split, method):
            right = np.mean(np.array(outcome.predicted) == data.codes[split.test])
            found.setdefault((outcome.variant, outcome.votes), []).append(float(right))
    for (variant, votes), values in found.items():
        name = method.name.partition("-")[0] if method.name != "we-avg" else method.name
        yield {
            "dataset": data.name,
            "method": method.name,
            "variant": variant,
            "votes": votes,
            "micro_f1": round(float(np.mean(values)), 4),
            "paper_micro_f1": TABLE_2.get(data.name, {}).get(paper_method(name, variant)),
            **said,
        }


def splits_of(data: CountedTexts) -> list[Split]:
    """Make the splits of the evaluation."""
    return make_splits(data.codes, data.is_test)


def check_preparation(texts: LabelledTexts, vectors: WordVectors | None) -> Iterator[Row]:
    """Stop words left out, left out with the parts of contractions, and kept."""
    smart = count_texts(texts, None)
    from cptw_search.analysis import Analyzer, get_analyzer

    paper = get_analyzer("paper")
    wider = with_contractions(paper.stop_words) if isinstance(paper, Analyzer) else ()
    prepared = {"SMART": smart, "SMART and parts": count_texts(texts, None, stop_words=tuple(wider))}
    prepared["none"] = count_texts(texts, None, stop_words=())
    for name, data in prepared.items():
        for method in (BagOfWords("bow"), BagOfWords("tfidf")):
            yield from measure(data, method, splits_of(data), check="preparation", stop_words=name)
    if smart.min_df > 1:
        for least in (1, 2):
            data = count_texts(texts, None, min_df=least)
            yield from measure(data, BagOfWords("bow"), splits_of(data), check="preparation", min_df=least)


def check_rows(texts: LabelledTexts, vectors: WordVectors | None) -> Iterator[Row]:
    """BOW by Euclidean distance of bare counts, and of counts divided by their sum."""
    data = count_texts(texts, None)
    for method in (BagOfWords("bow"), UnnormalisedBagOfWords("bow-counts"), UnnormalisedBagOfWords("bow-shares")):
        yield from measure(data, method, splits_of(data), check="rows")


def check_order(texts: LabelledTexts, vectors: WordVectors | None) -> Iterator[Row]:
    """Training documents in the order of the file in place of a random one."""
    data = count_texts(texts, None)
    sorted_splits = [replace(split, train=np.sort(split.train)) for split in splits_of(data)]
    for name, splits in (("random", splits_of(data)), ("file", sorted_splits)):
        for method in (BagOfWords("bow"), BagOfWords("tfidf")):
            yield from measure(data, method, splits, check="order", order=name)


def check_neighbours(texts: LabelledTexts, vectors: WordVectors | None) -> Iterator[Row]:
    """Every k on the test part of the first split: not for choosing, but to see how much k decides."""
    data = count_texts(texts, None)
    split = splits_of(data)[0]
    for method in (BagOfWords("bow"), BagOfWords("tfidf")):
        ((_, comparison),) = method.compare(data.round(split.train, split.test), method.grid())
        found = nearest(comparison, 19)
        for votes in ("distance", "uniform"):
            values = found.correct(
                data.codes[split.train], data.codes[split.test], len(data.labels), range(1, 20), votes
            )
            yield {
                "check": "neighbours",
                "dataset": data.name,
                "method": method.name,
                "votes": votes,
                "micro_f1_by_k": [round(value, 4) for value in values],
                "paper_micro_f1": TABLE_2.get(data.name, {}).get(method.name),
            }


def check_bm25(texts: LabelledTexts, vectors: WordVectors | None) -> Iterator[Row]:
    """BM25 as it is, and as gensim had it when the paper was written."""
    data = count_texts(texts, None)
    for method in (Bm25(), GensimBm25()):
        yield from measure(data, method, splits_of(data), check="bm25")


def check_vectors(texts: LabelledTexts, vectors: WordVectors | None, others: Sequence[Path] = ()) -> Iterator[Row]:
    """Fewer words with vectors, and other vectors."""
    if vectors is None:
        raise SystemExit("The check 'vectors' needs --vectors.")
    random = np.random.default_rng(0)
    order = random.permutation(len(vectors))
    tables = {f"{share:.0%} of the words": vectors.subset([vectors.words[i] for i in order[: int(share * len(order))]])
              for share in SHARES}  # fmt: skip
    tables["all"] = vectors
    tables.update({path.name: load_vectors(path) for path in others})
    for name, table in tables.items():
        data = count_texts(texts, table)
        occurrences = np.asarray(data.counts.sum(axis=0)).ravel()
        covered = round(float(occurrences[data.vectors.any(axis=1)].sum() / occurrences.sum()), 4)
        for method in (MeanVector(), Propagated(VARIANTS, TAUS)):
            yield from measure(data, method, splits_of(data), check="vectors", vectors=name, words_covered=covered)


def check_transductive(texts: LabelledTexts, vectors: WordVectors | None) -> Iterator[Row]:
    """Words and document frequencies of all documents, as in the authors' code."""
    data = count_texts(texts, vectors)
    known = TransductiveTexts(**{field.name: getattr(data, field.name) for field in fields(data)})
    methods: list[Method] = [BagOfWords("tfidf")]
    if vectors is not None:
        methods.append(Propagated(VARIANTS, TAUS))
    for name, one in (("training part", data), ("all documents", known)):
        for method in methods:
            yield from measure(one, method, splits_of(one), check="transductive", words_of=name)


def check_released(texts: LabelledTexts, vectors: WordVectors | None) -> Iterator[Row]:
    """CPTW_IDF with one number of documents, and with the two of the authors' code."""
    data = count_texts(texts, vectors)
    for method in (Propagated(("l2 idf-released",), TAUS), ReleasedCode()):
        yield from measure(data, method, splits_of(data), check="released")


def main() -> None:
    """Run checks on data sets and add the results to a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("check", choices=CHECKS)
    parser.add_argument("datasets", nargs="+")
    parser.add_argument("--vectors", type=Path)
    parser.add_argument("--others", type=Path, nargs="*", default=[])
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    vectors = load_vectors(options.vectors) if options.vectors else None
    rows: list[Row] = json.loads(options.out.read_text()) if options.out.exists() else []
    run = globals()[f"check_{options.check}"]
    with threadpool_limits(1):
        for name in options.datasets:
            texts = load_dataset(name)
            made = run(texts, vectors, options.others) if options.check == "vectors" else run(texts, vectors)
            for row in made:
                print(row, flush=True)
                same = {key: value for key, value in row.items() if not key.startswith("micro_f1")}
                rows = [old for old in rows if {k: v for k, v in old.items() if not k.startswith("micro_f1")} != same]
                rows.append(row)
            options.out.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
