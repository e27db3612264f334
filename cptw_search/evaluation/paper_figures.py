"""The figures of the paper, as printed: what a run is compared with.

Table 1 describes the data sets, Table 2 holds micro and macro F1 of all methods, section 4.2 the parameters that were
tried [Hansen2019]_. Nothing here is computed.

.. [Hansen2019] C. Hansen, C. Hansen, S. Alstrup, J. G. Simonsen, C. Lioma, "Contextually Propagated Term Weights for
   Document Representation", SIGIR 2019.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

__all__ = [
    "AVERAGES",
    "METHODS",
    "PARAMETER_RANGES",
    "TABLE_1",
    "TABLE_2",
    "TABLE_2_MACRO",
    "Average",
    "DatasetFigures",
]


class DatasetFigures(NamedTuple):
    """A row of Table 1.

    Attributes
    ----------
    n_docs : int
        Documents.
    n_terms : int
        Unique words.
    mean_unique_terms : float
        Unique words of a document, on average.
    std_unique_terms : float
        Their standard deviation.
    n_classes : int
        Classes.
    """

    n_docs: int
    n_terms: int
    mean_unique_terms: float
    std_unique_terms: float
    n_classes: int


class Average(NamedTuple):
    """A method's mean F1.

    Attributes
    ----------
    micro : float or None
        Of micro F1.
    macro : float or None
        Of macro F1.
    """

    micro: float | None
    macro: float | None


Figures: TypeAlias = Mapping[str, Mapping[str, float | None]]

TABLE_1: Mapping[str, DatasetFigures] = MappingProxyType(
    {
        "bbcsport": DatasetFigures(737, 13106, 116.4, 55.9, 5),
        "twitter": DatasetFigures(3424, 8405, 8.9, 3.3, 3),
        "classic": DatasetFigures(7095, 23624, 39.3, 28.1, 4),
        "amazon": DatasetFigures(8000, 39852, 44.47, 46.9, 4),
        "reuters": DatasetFigures(7674, 23109, 38.9, 36.9, 8),
        "20news": DatasetFigures(18846, 30465, 84.1, 96.9, 20),
        "wiki": DatasetFigures(19981, 46610, 474.9, 411.7, 25),
    }
)
"""Table 1, by data set."""

METHODS = ("bow", "tfidf", "bm25", "lsi", "lda", "we-avg", "sif", "wmd", "cptw", "cptw-idf")
"""The methods of Table 2."""

_PRINTED_ORDER = ("bm25", "bow", "tfidf", "lda", "lsi", "we-avg", "wmd", "sif", "cptw", "cptw-idf")

# Rows as printed, micro and macro in turn; None where WMD was stopped after five days.
# fmt: off
_ROWS: dict[str, tuple[float | None, ...]] = {
    "bbcsport": (.970, .968, .980, .979, .986, .987, .864, .864, .976, .979,
                 .915, .917, .976, .978, .927, .931, .980, .979, .985, .986),
    "twitter":  (.711, .470, .715, .522, .728, .540, .642, .353, .721, .508,
                 .721, .537, .704, .445, .714, .495, .724, .532, .732, .550),
    "classic":  (.849, .860, .935, .935, .947, .950, .840, .845, .921, .920,
                 .926, .933, .963, .964, .931, .937, .955, .958, .957, .960),
    "amazon":   (.866, .866, .892, .893, .899, .898, .762, .761, .834, .832,
                 .915, .915, .909, .910, .914, .914, .899, .900, .918, .918),
    "reuters":  (.925, .859, .894, .818, .873, .814, .916, .833, .955, .864,
                 .956, .885, .961, .910, .958, .888, .950, .877, .942, .894),
    "20news":   (.467, .470, .650, .649, .661, .662, .488, .482, .565, .572,
                 .641, .634, None, None, .644, .636, .661, .659, .703, .699),
    "wiki":     (.392, .148, .396, .139, .395, .135, .389, .156, .417, .207,
                 .407, .213, None, None, .409, .214, .407, .217, .403, .173),
}
_AVERAGE_ROWS: dict[str, tuple[float | None, ...]] = {
    "all":     (.740, .663, .780, .705, .784, .712, .700, .613, .770, .697,
                .783, .719, None, None, .785, .716, .797, .732, .806, .740),
    "wmd-ran": (.864, .805, .883, .829, .887, .838, .805, .731, .881, .821,
                .887, .837, .903, .841, .889, .833, .902, .849, .907, .862),
}
# fmt: on


def _by_method(row: tuple[float | None, ...], start: int) -> Mapping[str, float | None]:
    printed = dict(zip(_PRINTED_ORDER, row[start::2], strict=True))
    return MappingProxyType({method: printed[method] for method in METHODS})


TABLE_2: Figures = MappingProxyType({dataset: _by_method(row, 0) for dataset, row in _ROWS.items()})
"""Micro F1, by data set and method; None where it was not run."""

TABLE_2_MACRO: Figures = MappingProxyType({dataset: _by_method(row, 1) for dataset, row in _ROWS.items()})
"""Macro F1, by data set and method; None where it was not run."""

AVERAGES: Mapping[str, Mapping[str, Average]] = MappingProxyType(
    {
        name: MappingProxyType(
            {method: Average(_by_method(row, 0)[method], _by_method(row, 1)[method]) for method in METHODS}
        )
        for name, row in _AVERAGE_ROWS.items()
    }
)
"""The last two rows of Table 2: means over all data sets, and over the five on which WMD was run."""

PARAMETER_RANGES: Mapping[str, Mapping[str, tuple[float, float]]] = MappingProxyType(
    {
        "all": {"k": (1, 19)},
        "lsi": {"n_topics": (10, 1000)},
        "lda": {"n_topics": (10, 1000)},
        "bm25": {"k1": (1.0, 2.0), "b": (0.5, 1.0)},
        "sif": {"alpha": (1e-5, 1e-2)},
        "cptw": {"tau": (0.0, 1.0)},
        "cptw-idf": {"tau": (0.0, 1.0)},
    }
)
"""What was searched, by method: the least and the greatest value. The steps between them are not printed but for k, which
takes every whole number; nor are the parameters that were chosen, but in a picture of tau."""
