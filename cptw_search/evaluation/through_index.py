"""The same classification through a search backend: the index has to classify as the mathematics does."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cptw_search.classify import KnnClassifier
from cptw_search.embeddings import WordVectors
from cptw_search.errors import InvalidInputError
from cptw_search.evaluation.collections import Collection
from cptw_search.evaluation.datasets import LabelledTexts
from cptw_search.evaluation.knn import nearest
from cptw_search.evaluation.measures import Line, f1_scores
from cptw_search.evaluation.methods import Setting
from cptw_search.evaluation.propagated import Propagated
from cptw_search.evaluation.protocol import CountedTexts, count_texts, make_splits
from cptw_search.evaluation.study import Plan
from cptw_search.evaluation.systems import opened_backend
from cptw_search.model import Cptw

__all__ = ["Agreement", "classify_through_index", "write_agreement"]


@dataclass(frozen=True)
class Agreement:
    """How an index classified the test part of a data set's first split.

    Parameters
    ----------
    dataset : str
        The data set.
    variant : str
        The variant of CPTW.
    parameters : dict
        What validation chose.
    k : int
        The number of neighbours that validation chose.
    micro_f1 : float
        Through the index.
    macro_f1 : float
        Through the index.
    expected_micro_f1 : float
        By matrix products.
    agreement : float
        The share of documents that both gave the same class.
    """

    dataset: str
    variant: str
    parameters: dict[str, float]
    k: int
    micro_f1: float
    macro_f1: float
    expected_micro_f1: float
    agreement: float


def classify_through_index(
    data: LabelledTexts,
    vectors: WordVectors,
    lines: Sequence[Line],
    name: str,
    plan: Plan,
    *,
    engine: str | None = None,
) -> Agreement:
    """Classify the test part of the first split through an index of its training part.

    Parameters
    ----------
    data : LabelledTexts
        The data set.
    vectors : WordVectors
        Word vectors.
    lines : sequence of Line
        Results, for the parameters that validation chose.
    name : str
        Which variant, such as ``"cptw l2 tf"``.
    plan : Plan
        How the splits were made.
    engine : str, optional
        The address of a cluster; by default the embedded engine.

    Returns
    -------
    Agreement
        Both results.

    Raises
    ------
    InvalidInputError
        If there is no such result.
    """
    line = next((one for one in lines if one.reported and (one.name, one.dataset) == (name, data.name)), None)
    if line is None:
        raise InvalidInputError(f"lines must hold {name!r} on {data.name!r}. Got none: evaluate it first.")
    counted = count_texts(data, vectors)
    (split, *_) = make_splits(counted.codes, data.is_test, n_folds=plan.n_folds, n_rounds=plan.n_rounds, seed=plan.seed)
    chosen, k = dict(line.parameters[0]), line.ks[0]
    ((_, comparison),) = Propagated((line.variant,)).compare(
        counted.round(split.train, split.test), [Setting(line.variant, tuple(chosen.items()))]
    )
    codes = counted.codes[split.train]
    expected = nearest(comparison, k).predict(codes, len(counted.labels), k, line.votes)

    normalization, weighting = line.variant.split()
    model = Cptw(
        vectors=vectors,
        tau=chosen["tau"],
        normalization=normalization,
        weighting=weighting,
        analyzer="whitespace",
        unknown="drop",
        min_df=counted.min_df,
    )
    texts, tests = _bags(counted, split.train), _bags(counted, split.test)
    # Ids in the order of the training documents: an index puts equals into the order of their ids.
    documents = tuple(
        {"id": f"{number:08d}", "text": text, "label": str(code)}
        for number, (text, code) in enumerate(zip(texts, codes.tolist(), strict=True))
    )
    with opened_backend(Collection(data.name, documents, {}, {}), model, engine=engine) as backend:
        found = KnnClassifier(backend, k=k, votes=line.votes).predict(tests)
    predicted = found.astype(np.intp)
    truth = counted.codes[split.test]
    micro, macro = f1_scores(truth, predicted)
    return Agreement(
        data.name,
        line.variant,
        chosen,
        k,
        micro,
        macro,
        f1_scores(truth, expected)[0],
        float(np.mean(predicted == expected)),
    )


def _bags(counted: CountedTexts, documents: npt.NDArray[np.intp]) -> list[str]:
    """Write documents as their counted words, in the order of the alphabet: all that a bag of words knows."""
    terms = np.array(counted.terms, dtype=object)
    rows = counted.counts[documents]
    return [" ".join(np.repeat(terms[row.indices], row.data.astype(np.int64))) for row in rows]


def write_agreement(path: Path, found: Sequence[Agreement]) -> None:
    """Write the comparison of the index with the mathematics.

    Parameters
    ----------
    path : Path
        A JSON file.
    found : sequence of Agreement
        One a data set.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([asdict(one) for one in found], indent=1) + "\n", encoding="utf-8")
