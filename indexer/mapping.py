"""What an index looks like: its settings and mapping, as plain dictionaries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from cptw_search.cluster import ID_FIELD, TEXT_FIELD, WEIGHTS_FIELD
from cptw_search.cluster_names import INDEX_FORMAT
from cptw_search.document_ids import MAX_ID_BYTES
from cptw_search.errors import InvalidInputError, check_choice
from cptw_search.model import Cptw
from cptw_search.placement import PLACEMENTS
from cptw_search.pruning import Pruning

__all__ = [
    "FIELD_TYPES",
    "LOAD_SETTINGS",
    "Layout",
    "added_mapping",
    "choose_field_type",
    "index_body",
    "make_meta",
    "served_settings",
]

FIELD_TYPES = ("rank_features", "sparse_vector", "none")
"""How the weighted terms are stored; ``"none"``: not at all, for an index with BM25 only."""

LOAD_SETTINGS: Mapping[str, object] = {"refresh_interval": "-1"}
"""While documents are loaded nobody searches the index."""

_SIMILARITY = "cptw_bm25"


@dataclass(frozen=True)
class Layout:
    """How documents are stored.

    Parameters
    ----------
    placement : {"query", "both", "document"}, default "query"
        Where the propagation is done.
    field_type : {"rank_features", "sparse_vector", "none"}, default "rank_features"
        How the weighted terms are stored.
    pruning : Pruning, optional
        What is kept of propagated documents.
    """

    placement: str = "query"
    field_type: str = "rank_features"
    pruning: Pruning = field(default_factory=Pruning)

    def __post_init__(self) -> None:
        check_choice("placement", self.placement, PLACEMENTS)
        check_choice("field_type", self.field_type, FIELD_TYPES)
        if self.placement == "query" and self.pruning != Pruning():
            raise InvalidInputError(
                "pruning must be left out with placement 'query', where documents are not propagated. "
                f"Got {self.pruning!r}: prune the query, or use another placement."
            )


def choose_field_type(wanted: str, possible: frozenset[str]) -> str:
    """Choose how weighted terms are stored.

    Parameters
    ----------
    wanted : {"auto", "rank_features", "sparse_vector", "none"}
        ``"auto"``: rank_features where the server has them, else sparse_vector.
    possible : frozenset of str
        What the server can do.

    Returns
    -------
    str
        One of `FIELD_TYPES`.

    Raises
    ------
    InvalidInputError
        If the server cannot do it.

    Examples
    --------
    >>> choose_field_type("auto", frozenset({"sparse_vector"}))
    'sparse_vector'
    """
    check_choice("field_type", wanted, ("auto", *FIELD_TYPES))
    if wanted == "none":
        return wanted
    if wanted == "auto" and possible:
        return "rank_features" if "rank_features" in possible else "sparse_vector"
    if wanted not in possible:
        able = " and ".join(sorted(possible)) or "neither rank_features nor sparse_vector"
        raise InvalidInputError(f"field_type must be one that the server has. Got {wanted!r}; the server has {able}.")
    return wanted


def make_meta(model_id: str, layout: Layout, alias: str, created: str, *, complete: bool) -> dict[str, Any]:
    """Describe an index for its mapping's ``_meta``.

    Parameters
    ----------
    model_id : str
        The model that its documents are represented with.
    layout : Layout
        How they are stored.
    alias : str
        The name that it is searched by.
    created : str
        When it was made, sortable.
    complete : bool
        Whether all documents are in and counted.

    Returns
    -------
    dict
        The description, under the key ``cptw``.
    """
    return {
        "cptw": {
            "format": INDEX_FORMAT,
            "model_id": model_id,
            "placement": layout.placement,
            "field_type": layout.field_type,
            "pruning": asdict(layout.pruning),
            "alias": alias,
            "created": created,
            "complete": complete,
        }
    }


def index_body(
    model: Cptw, layout: Layout, meta: Mapping[str, object], *, n_shards: int = 1, n_replicas: int = 0
) -> dict[str, Any]:
    """Make the body of the request that creates an index, set up for loading.

    Parameters
    ----------
    model : Cptw
        For its text fields and BM25's parameters.
    layout : Layout
        How documents are stored.
    meta : mapping
        What `make_meta` gave.
    n_shards : int, default 1
        Primary shards.
    n_replicas : int, default 0
        Replicas while documents are loaded.

    Returns
    -------
    dict
        Settings and mappings.
    """
    k1, b = model.bm25_parameters
    properties: dict[str, Any] = {
        # a number that is an id here and a word there is the same field
        "id": {"type": "keyword", "ignore_above": MAX_ID_BYTES},
        **{name: {"type": "text", "index": False} for name in sorted(model.text_fields)},
        **_own_fields(layout, _SIMILARITY),
    }
    return {
        "settings": {
            "number_of_shards": n_shards,
            "number_of_replicas": n_replicas,
            **LOAD_SETTINGS,
            "similarity": {_SIMILARITY: {"type": "BM25", "k1": k1, "b": b}},
        },
        "mappings": {
            "_meta": dict(meta),
            "_source": {"excludes": [WEIGHTS_FIELD, TEXT_FIELD, ID_FIELD]},
            "date_detection": False,
            "dynamic_templates": [
                {"strings": {"match_mapping_type": "string", "mapping": {"type": "keyword", "ignore_above": 256}}},
                {"whole_numbers": {"match_mapping_type": "long", "mapping": {"type": "double"}}},
                {"numbers": {"match_mapping_type": "double", "mapping": {"type": "double"}}},
            ],
            "properties": properties,
        },
    }


def added_mapping(layout: Layout, meta: Mapping[str, object]) -> dict[str, Any]:
    """Make the body of the request that adds our fields to an index that is there already.

    BM25's parameters cannot be set there, for an open index takes no new similarity: they are the server's, 1.2 and 0.75.

    Parameters
    ----------
    layout : Layout
        How documents are stored.
    meta : mapping
        The index's own ``_meta``, ours added.

    Returns
    -------
    dict
        The mapping.
    """
    return {"_meta": dict(meta), "properties": _own_fields(layout, None)}


def _own_fields(layout: Layout, similarity: str | None) -> dict[str, Any]:
    # freqs: the tokens stand in no order that phrases could be found by
    text: dict[str, Any] = {"type": "text", "analyzer": "whitespace", "index_options": "freqs"}
    if similarity is not None:
        text["similarity"] = similarity
    fields: dict[str, Any] = {ID_FIELD: {"type": "keyword"}, TEXT_FIELD: text}
    if layout.field_type != "none":
        fields[WEIGHTS_FIELD] = {"type": layout.field_type}
    return fields


def served_settings(n_replicas: int) -> dict[str, Any]:
    """Make the settings of an index whose load is over.

    Parameters
    ----------
    n_replicas : int
        Replicas while it serves.

    Returns
    -------
    dict
        The settings; None sets back to the server's default.
    """
    return {"index": {"refresh_interval": None, "number_of_replicas": n_replicas}}
