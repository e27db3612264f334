"""Why a document matches when its score is a mixture.

The scores of ``"bm25"``, ``"hybrid"`` and ``"hybrid+feedback"`` are sums of at most three parts,

    score(q, d) = c CPTW(q, d)  +  b sum over t of BM25_t(q, d)  +  sum over t of l(t) s_d(t)

with the factors c and b of one query, the weights l(t) of the words that it learned (`cptw_search.feedback`) and s_d(t)
BM25's saturated frequency in the document. Each is a sum over pairs of terms, so their sum is, too. BM25 and learned words
pair a term with itself alone. A negative score of CPTW counts as 0 in a mixture.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from cptw_search.bm25 import bm25_document_weights, bm25_idf
from cptw_search.counting import Document, TermNames
from cptw_search.errors import InvalidInputError
from cptw_search.explain import (
    DIRECT,
    Explanation,
    Meeting,
    QueryTermShare,
    TermMatch,
    explain,
    surface_words,
)
from cptw_search.model import Cptw

__all__ = ["EXPLAINED_METHODS", "Mixture", "check_explainable", "explain_mixture", "mix"]

EXPLAINED_METHODS = ("cptw", "bm25", "hybrid", "hybrid+feedback")
"""The methods whose scores are sums over pairs of terms; ranks, for one, are not."""


@dataclass(frozen=True)
class Mixture:
    """What the scores of one query are made of.

    Parameters
    ----------
    cptw : float, default 0.0
        What CPTW's score is multiplied by.
    bm25 : float, default 0.0
        What BM25's score is multiplied by.
    learned : mapping of str to float, optional
        Terms that the query learned to what their saturated frequency in a document is multiplied by.
    """

    cptw: float = 0.0
    bm25: float = 0.0
    learned: Mapping[str, float] = field(default_factory=dict)


def check_explainable(method: str) -> None:
    """Raise unless the scores of a method can be taken apart.

    Parameters
    ----------
    method : str
        One of `cptw_search.backend.METHODS`.

    Raises
    ------
    InvalidInputError
        If they cannot.

    Examples
    --------
    >>> check_explainable("rrf")
    Traceback (most recent call last):
    ...
    cptw_search.errors.InvalidInputError: explain needs one of the methods 'cptw', 'bm25', 'hybrid', 'hybrid+feedback', \
whose scores can be taken apart. Got 'rrf' instead.
    """
    if method not in EXPLAINED_METHODS:
        raise InvalidInputError(
            f"explain needs one of the methods {', '.join(map(repr, EXPLAINED_METHODS))}, whose scores can be taken apart. "
            f"Got {method!r} instead."
        )


def explain_mixture(model: Cptw, query: Document, document: Document, mixture: Mixture) -> Explanation:
    """Take a score of the embedded engine apart.

    Parameters
    ----------
    model : Cptw
        A fitted model.
    query : str or mapping
        The query.
    document : str or mapping
        The document, as it was given to the index.
    mixture : Mixture
        What the scores of this query are made of.

    Returns
    -------
    Explanation
        The score and the shares that add up to it.

    Raises
    ------
    InvalidInputError
        If the query or the document is no text and no mapping with one of the model's fields.

    Examples
    --------
    >>> from cptw_search import Cptw
    >>> model = Cptw(vectors=None).fit(["a boat at sea", "a boat", "a ship"])
    >>> explanation = explain_mixture(model, "boats", "A boat at sea.", Mixture(bm25=0.5, learned={"sea": 0.2}))
    >>> [(term.term, term.matches[0].kind, round(term.share, 3)) for term in explanation.query_terms]
    [('boat', 'direct', 0.195), ('sea', 'learned', 0.166)]
    >>> {name: round(share, 3) for name, share in explanation.parts.items()}
    {'bm25': 0.195, 'learned': 0.166}
    """
    explanation = explain(model, query, document)
    counts = model.count([query, document])
    names = TermNames(model.vocabulary_, counts.unknown)
    typed, found = counts.matrix[[0]], counts.matrix[[1]]
    frequencies = bm25_document_weights(found, model.average_length_, *model.bm25_parameters)
    saturated = {names[n]: tf for n, tf in zip(frequencies.indices.tolist(), frequencies.data.tolist(), strict=True)}
    weights = mixture.bm25 * typed.data * bm25_idf(model.document_frequencies(typed.indices), model.n_docs_)
    bm25 = {names[n]: weight for n, weight in zip(typed.indices.tolist(), weights.tolist(), strict=True)}
    return mix(
        explanation,
        mixture.cptw,
        bm25=_times(bm25, saturated) if mixture.bm25 > 0 else None,
        learned=_times(mixture.learned, saturated) if mixture.learned else None,
        words=surface_words(model, document),
    )


def _times(weights: Mapping[str, float], frequencies: Mapping[str, float]) -> dict[str, float]:
    return {term: weight * frequencies[term] for term, weight in weights.items() if term in frequencies}


def mix(
    explanation: Explanation,
    factor: float,
    *,
    bm25: Mapping[str, float] | None = None,
    learned: Mapping[str, float] | None = None,
    words: Mapping[str, tuple[str, ...]],
) -> Explanation:
    """Put the explanations of several scores together.

    Parameters
    ----------
    explanation : Explanation
        Of CPTW's own score.
    factor : float
        What that is multiplied by.
    bm25 : mapping of str to float, optional
        Terms of the query to what each adds to the score by BM25; those that the document has.
    learned : mapping of str to float, optional
        Learned terms to what each adds to the score; those that the document has.
    words : mapping of str to tuple of str
        The document's terms to the words that are counted as them.

    Returns
    -------
    Explanation
        A learned term that the query has anyway is one match with it; the others are terms of count 0, their matches of
        the kind ``"learned"``.

    Examples
    --------
    >>> from cptw_search import Cptw
    >>> model = Cptw(vectors=None, row_norm="none").fit(["a boat", "a ship"])
    >>> mixed = mix(explain(model, "boat", "boat"), 0.25, bm25={"boat": 0.5}, learned={"ship": 0.1}, words={})
    >>> [(term.term, term.count, term.share) for term in mixed.query_terms], mixed.score
    ([('boat', 1.0, 0.75), ('ship', 0.0, 0.1)], 0.85)
    """
    scale = factor if explanation.score > 0 else 0.0
    sources = [source for source in (bm25, learned) if source is not None]
    terms = [_mixed_term(term, scale, sources, words) for term in explanation.query_terms]
    own = {term.term for term in terms}
    for name, share in (learned or {}).items():
        if name not in own:
            match = TermMatch(name, name, words.get(name, (name,)), 1.0, share, (), is_learned=True)
            terms.append(QueryTermShare(name, (), 0.0, share, (match,)))
    terms.sort(key=lambda term: (-abs(term.share), term.term))
    parts = {"cptw": scale * explanation.score} if factor > 0 else {}
    parts |= {
        name: math.fsum(source.values())
        for name, source in (("bm25", bm25), ("learned", learned))
        if source is not None
    }
    return Explanation(math.fsum(match.share for term in terms for match in term.matches), tuple(terms), parts)


def _mixed_term(
    term: QueryTermShare, scale: float, sources: list[Mapping[str, float]], words: Mapping[str, tuple[str, ...]]
) -> QueryTermShare:
    """Scale a term's matches and add what other scores give to the term itself."""
    name = term.term
    matches = {match.document_term: _scaled(match, scale) for match in term.matches if scale or match.kind == DIRECT}
    more = [source[name] for source in sources if name in source]
    if more:
        direct = matches.get(name) or TermMatch(name, name, words.get(name, (name,)), 1.0, 0.0, ())
        matches[name] = replace(direct, share=math.fsum([direct.share, *more]))
    ordered = sorted(matches.values(), key=lambda match: (-abs(match.share), match.document_term))
    return replace(term, share=math.fsum(match.share for match in ordered), matches=tuple(ordered))


def _scaled(match: TermMatch, scale: float) -> TermMatch:
    via = tuple(Meeting(meeting.term, scale * meeting.share) for meeting in match.via) if scale else ()
    return replace(match, share=scale * match.share, via=via)
