"""Lee's corpus: short news texts that people judged for similarity, as they ship inside gensim.

300 texts, and 50 more whose 1,225 pairs were each rated by several people [Lee2005]_.

.. [Lee2005] M. D. Lee, B. Pincombe, M. Welsh, "An empirical evaluation of models of text document similarity",
   CogSci 2005.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cptw_search.errors import CptwError
from cptw_search.model import Cptw

__all__ = ["Agreement", "LeeCorpus", "agreement", "load_lee_corpus"]


@dataclass(frozen=True)
class LeeCorpus:
    """The texts and the judgements.

    Parameters
    ----------
    texts : list of str
        300 news texts.
    judged : list of str
        50 news texts that were compared with each other.
    similarity : ndarray of shape (50, 50)
        How similar people found them, 0 to 1.
    """

    texts: list[str]
    judged: list[str]
    similarity: npt.NDArray[np.float64]


@dataclass(frozen=True)
class Agreement:
    """How a model's scores go along with people's judgements, over all pairs.

    Parameters
    ----------
    spearman : float
        Correlation of the ranks.
    pearson : float
        Correlation of the values.
    """

    spearman: float
    pearson: float


def load_lee_corpus() -> LeeCorpus:
    """Read the corpus from the installed gensim.

    Returns
    -------
    LeeCorpus
        Texts and judgements.

    Raises
    ------
    CptwError
        If gensim was installed without its test data.
    """
    specification = importlib.util.find_spec("gensim")  # gensim itself need not be imported, which takes a second
    folder = Path((specification.origin if specification else None) or "gensim").parent / "test" / "test_data"
    try:
        texts = (folder / "lee_background.cor").read_text(encoding="utf-8").splitlines()
        judged = (folder / "lee.cor").read_text(encoding="latin-1").splitlines()
        similarity = np.loadtxt(folder / "similarities0-1.txt")
    except OSError as error:
        raise CptwError(
            f"The demo needs the news texts that ship inside gensim. {error.filename!r} is not there: reinstall gensim with "
            "pip install --force-reinstall gensim."
        ) from error
    return LeeCorpus(texts, judged, similarity)


def agreement(model: Cptw, corpus: LeeCorpus) -> Agreement:
    """Compare a model's scores of the judged pairs with people's.

    Parameters
    ----------
    model : Cptw
        A fitted model.
    corpus : LeeCorpus
        The judgements.

    Returns
    -------
    Agreement
        Over the 1,225 pairs; where a score is not symmetric (``bm25``), the mean of both directions counts.
    """
    from scipy.stats import pearsonr, spearmanr  # takes half a second to import

    queries = model.represent(corpus.judged, side="query").matrix
    scores = (queries @ model.represent(corpus.judged).matrix.T).toarray()
    pairs = np.triu_indices(len(scores), k=1)
    ours, theirs = ((scores + scores.T) / 2)[pairs], corpus.similarity[pairs]
    return Agreement(float(spearmanr(ours, theirs).statistic), float(pearsonr(ours, theirs).statistic))
