"""What was loaded, beside the paper's Table 1.

``python -m cptw_search.evaluation.statistics`` prints the table for all data sets that are in ``CPTW_DATA``.

The stop list holds contractions (*don't*), and the analyzer ``paper`` splits at the apostrophe: so *don* stays, unless
the list is widened by `with_contractions`. Which of the two the authors did is not said. Reuters has their 23,109
unique words without it, and their 36.9 for the deviation with it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from cptw_search.analysis import Analyzer, TextAnalyzer, get_analyzer
from cptw_search.evaluation.datasets import PAPER_DATASETS, LabelledTexts, load_dataset
from cptw_search.evaluation.paper_figures import TABLE_1, DatasetFigures
from cptw_search.evaluation.source_files import MissingDataError

__all__ = [
    "LETTERS_ONLY",
    "MIN_DF",
    "DatasetStatistics",
    "dataset_statistics",
    "kept_terms",
    "statistics_table",
    "with_contractions",
]

MIN_DF = {"20news": 5}
"""In how many documents a word has to be, by data set: only so does 20news come near the paper's 30,465 words."""
LETTERS_ONLY = frozenset({"20news"})
"""Data sets of which only words without digits are taken, for the same reason."""

_PART = re.compile(r"[a-z0-9]+")


@dataclass(frozen=True)
class DatasetStatistics:
    """A row of the table.

    Parameters
    ----------
    name : str
        The data set.
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
    n_test : int or None
        Documents for testing in the official split; None if there is none.
    n_duplicates : int
        Documents whose text came before, letter by letter.
    n_empty : int
        Documents that no word is left of.
    paper : DatasetFigures or None
        What the paper says; None for a set that it does not have.
    """

    name: str
    n_docs: int
    n_terms: int
    mean_unique_terms: float
    std_unique_terms: float
    n_classes: int
    n_test: int | None
    n_duplicates: int
    n_empty: int
    paper: DatasetFigures | None


def with_contractions(stop_words: Iterable[str]) -> frozenset[str]:
    """Widen a stop list by what tokenizers make of its contractions.

    Parameters
    ----------
    stop_words : iterable of str
        The words, some with apostrophes.

    Returns
    -------
    frozenset of str
        The words, their parts, and themselves without apostrophes.

    Examples
    --------
    >>> sorted(with_contractions(["don't", "the"]))
    ['don', "don't", 'dont', 't', 'the']
    """
    words = list(stop_words)
    parts = (part for word in words for part in _PART.findall(word))
    return frozenset([*words, *parts, *(word.replace("'", "") for word in words)])


def kept_terms(
    texts: Iterable[str], *, analyzer: str | TextAnalyzer = "paper", letters_only: bool = False, min_df: int = 1
) -> list[frozenset[str]]:
    """Give the unique words of each text.

    Parameters
    ----------
    texts : iterable of str
        The texts.
    analyzer : str or Analyzer, default "paper"
        How they become words.
    letters_only : bool, default False
        Leave out words with digits in them.
    min_df : int, default 1
        Leave out words that are in fewer texts.

    Returns
    -------
    list of frozenset of str
        One set a text.

    Examples
    --------
    >>> [sorted(terms) for terms in kept_terms(["a boat", "2 boats"], analyzer="english", letters_only=True)]
    [['boat'], ['boat']]
    """
    found = get_analyzer(analyzer)
    terms: dict[str, str | None] = {}

    def unique(text: str) -> frozenset[str]:
        words = set(found.words(text))
        terms.update((word, found.term(word)) for word in words if word not in terms)
        return frozenset(term for word in words if (term := terms[word]) and not (letters_only and not term.isalpha()))

    sets = [unique(text) for text in texts]
    if min_df <= 1:
        return sets
    document_frequency = Counter(term for unique_terms in sets for term in unique_terms)
    kept = {term for term, count in document_frequency.items() if count >= min_df}
    return [unique_terms & kept for unique_terms in sets]


def dataset_statistics(
    dataset: LabelledTexts,
    *,
    analyzer: str | TextAnalyzer = "paper",
    letters_only: bool | None = None,
    min_df: int | None = None,
) -> DatasetStatistics:
    """Count what a data set holds.

    Parameters
    ----------
    dataset : LabelledTexts
        The data set.
    analyzer : str or Analyzer, default "paper"
        How texts become words.
    letters_only : bool, optional
        Leave out words with digits; by default for 20news, by its name.
    min_df : int, optional
        In how many documents a word has to be; by default 5 for 20news, 1 for all others.

    Returns
    -------
    DatasetStatistics
        The row of the table.

    Examples
    --------
    >>> boats = LabelledTexts("boats", ("a boat", "a boat", "the sea"), ("x", "x", "y"), None)
    >>> row = dataset_statistics(boats, analyzer="english")
    >>> row.n_terms, row.mean_unique_terms, row.n_duplicates
    (2, 1.0, 1)
    """
    sets = kept_terms(
        dataset.texts,
        analyzer=analyzer,
        letters_only=dataset.name in LETTERS_ONLY if letters_only is None else letters_only,
        min_df=MIN_DF.get(dataset.name, 1) if min_df is None else min_df,
    )
    sizes = np.array([len(terms) for terms in sets])
    return DatasetStatistics(
        name=dataset.name,
        n_docs=len(dataset.texts),
        n_terms=len(frozenset().union(*sets)),
        mean_unique_terms=float(sizes.mean()),
        std_unique_terms=float(sizes.std()),
        n_classes=len(dataset.classes),
        n_test=None if dataset.is_test is None else int(dataset.is_test.sum()),
        n_duplicates=len(dataset.texts) - len(set(dataset.texts)),
        n_empty=int((sizes == 0).sum()),
        paper=TABLE_1.get(dataset.name),
    )


def statistics_table(rows: Sequence[DatasetStatistics]) -> str:
    """Write rows as a table in Markdown, with the paper's figures in brackets.

    Parameters
    ----------
    rows : sequence of DatasetStatistics
        The rows.

    Returns
    -------
    str
        The table.

    Examples
    --------
    >>> boats = LabelledTexts("boats", ("a boat", "the sea"), ("x", "y"), None)
    >>> print(statistics_table([dataset_statistics(boats, analyzer="english")]))
    | data set | documents | unique words | unique words a document | classes | test | duplicates | empty |
    |---|---|---|---|---|---|---|---|
    | boats | 2 | 2 | 1.0 ± 0.0 | 2 | - | 0 | 0 |
    """
    lines = [
        "| data set | documents | unique words | unique words a document | classes | test | duplicates | empty |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        paper = row.paper
        cells = [
            row.name,
            f"{row.n_docs:,}" + (f" ({paper.n_docs:,})" if paper else ""),
            f"{row.n_terms:,}" + (f" ({paper.n_terms:,})" if paper else ""),
            f"{row.mean_unique_terms:.1f} ± {row.std_unique_terms:.1f}"
            + (f" ({paper.mean_unique_terms:.1f} ± {paper.std_unique_terms:.1f})" if paper else ""),
            f"{row.n_classes}" + (f" ({paper.n_classes})" if paper else ""),
            "-" if row.n_test is None else f"{row.n_test:,}",
            f"{row.n_duplicates:,}",
            f"{row.n_empty:,}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Print the tables of all data sets that are there, without and with the parts of contractions as stop words."""
    datasets, missing = [], []
    for name in PAPER_DATASETS:
        try:
            datasets.append(load_dataset(name))
        except MissingDataError as error:
            missing.append(str(error))
    paper = get_analyzer("paper")
    stop_words = paper.stop_words if isinstance(paper, Analyzer) else frozenset()
    widened = get_analyzer("paper", stop_words=with_contractions(stop_words))
    for title, analyzer in (("The analyzer `paper`", paper), ("With parts of contractions as stop words", widened)):
        print(f"{title}; the paper's figures in brackets:\n")
        print(statistics_table([dataset_statistics(dataset, analyzer=analyzer) for dataset in datasets]) + "\n")
    print("\n".join(missing))


if __name__ == "__main__":
    main()
