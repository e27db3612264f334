"""What an index on a cluster holds: read from its mapping, and checked against the model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cptw_queries.builders import FIELD_TYPES
from cptw_search.cluster import ID_FIELD, RESERVED_PREFIX, TEXT_FIELD, WEIGHTS_FIELD, ClusterClient, make_path
from cptw_search.cluster_answers import read_optional, read_part, shown
from cptw_search.cluster_names import INDEX_FORMAT
from cptw_search.errors import (
    ClusterConnectionError,
    FormatVersionError,
    InvalidInputError,
    MissingIndexError,
    ModelMismatchError,
    check_choice,
)
from cptw_search.placement import PLACEMENTS

__all__ = ["NO_WEIGHTS", "IndexLayout", "check_layout", "read_fields", "read_layout", "read_mapping"]

NO_WEIGHTS = "none"
"""The type of the field of weights where there is none: an index for BM25 alone."""

_MAX_DEPTH = 100  # servers allow 20 by default
_NOT_COMPARED = frozenset(("text", "match_only_text", "annotated_text", "search_as_you_type", "binary", *FIELD_TYPES))


@dataclass(frozen=True)
class IndexLayout:
    """What an index holds.

    Parameters
    ----------
    index : str
        The index itself; behind an alias it may change.
    model_id : str
        The id of the model that it was built with.
    placement : {"query", "both", "document"}
        Where the propagation is done.
    field_type : str
        The type of the field of weights; ``"none"`` in an index for BM25 alone.
    stores_own_fields : bool
        Whether its stored documents have our own fields in them, as in an index that was there before.
    fields : mapping of str to str
        The fields that can be filtered on, and their types.
    """

    index: str
    model_id: str
    placement: str
    field_type: str
    stores_own_fields: bool
    fields: Mapping[str, str]


def read_mapping(client: ClusterClient, name: str) -> tuple[str, dict[str, Any]]:
    """Read the mapping of an index, or of the one index behind an alias.

    Parameters
    ----------
    client : ClusterClient
        Where it is.
    name : str
        The index or alias.

    Returns
    -------
    index : str
        The index itself.
    mapping : dict
        Its mapping.

    Raises
    ------
    MissingIndexError
        If there is none.
    InvalidInputError
        If an alias stands for several.
    """
    try:
        found = read_part(client.request("GET", make_path(name, "_mapping")), dict)
    except MissingIndexError as error:
        raise MissingIndexError(
            f"There is no index or alias {name!r} on the cluster: check the name, or index documents into it first."
        ) from error
    if len(found) > 1:
        raise InvalidInputError(
            f"An alias must stand for one index to be searched here. {name!r} stands for {len(found)}: {sorted(found)}."
        )
    for index in found:
        return str(index), read_part(found, dict, index, "mappings")
    raise MissingIndexError(f"There is no index behind {name!r}.")


def read_fields(mapping: Mapping[str, Any]) -> dict[str, str]:
    """List the fields that can be filtered on.

    Parameters
    ----------
    mapping : mapping
        Of an index.

    Returns
    -------
    dict
        Names, with dots between the levels, to types on the server.

    Examples
    --------
    >>> read_fields({"properties": {"label": {"type": "keyword"}, "text": {"type": "text", "index": False}}})
    {'label': 'keyword'}
    """
    return {
        name: kind
        for name, kind, content in _leaves(mapping, "", 0)
        if kind not in _NOT_COMPARED and content.get("index", True) and not name.startswith(RESERVED_PREFIX)
    }


def _leaves(mapping: object, prefix: str, depth: int) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    properties = read_optional(mapping, dict, "properties") or {}
    if depth > _MAX_DEPTH:
        raise ClusterConnectionError(f"A mapping must have at most {_MAX_DEPTH} levels. The server's has more.")
    for name in properties:
        content = read_part(properties, dict, name)
        kind = read_optional(content, str, "type")
        if "properties" in content:
            yield from _leaves(content, f"{prefix}{name}.", depth + 1)
        elif content.get("enabled", True) and kind is not None and kind not in ("object", "nested"):
            yield prefix + name, kind, content
            inner = read_optional(content, dict, "fields") or {}
            for extra in inner:
                yield f"{prefix}{name}.{extra}", read_part(inner, str, extra, "type"), inner[extra]


def read_layout(client: ClusterClient, name: str) -> IndexLayout:
    """Read what an index holds.

    Parameters
    ----------
    client : ClusterClient
        Where it is.
    name : str
        The index or alias.

    Returns
    -------
    IndexLayout
        What its mapping says.

    Raises
    ------
    MissingIndexError
        If there is no such index.
    InvalidInputError
        If it was not made by this package's indexer, or a field is missing.
    FormatVersionError
        If it has another format.
    """
    index, mapping = read_mapping(client, name)
    meta = (read_optional(mapping, dict, "_meta") or {}).get("cptw")
    if not isinstance(meta, Mapping):
        raise InvalidInputError(
            f"The index {index!r} must have been made by cptw_indexer, whose _meta it lacks. To search a plain text index "
            "as it is, use cptw_queries.ExistingIndex (--field)."
        )
    if meta.get("format") != INDEX_FORMAT:
        raise FormatVersionError(
            f"The index {index!r} must have the format {INDEX_FORMAT}. It has {shown(meta.get('format'))}: use the version of cptw-search "
            "that wrote it, or index anew."
        )
    check_choice(f"The placement of the index {index!r}", meta.get("placement"), PLACEMENTS)
    check_choice(f"The field_type of the index {index!r}", meta.get("field_type"), (*FIELD_TYPES, NO_WEIGHTS))
    wanted = {WEIGHTS_FIELD: str(meta["field_type"]), TEXT_FIELD: "text", ID_FIELD: "keyword"}
    if meta["field_type"] == NO_WEIGHTS:
        del wanted[WEIGHTS_FIELD]
    for field, kind in wanted.items():
        has = read_optional(mapping, str, "properties", field, "type")
        if has != kind:
            state = "It has none" if has is None else f"It is {shown(has)}"
            raise InvalidInputError(
                f"The index {index!r} must have a field {field!r} of the type {kind!r}. {state}: index anew."
            )
    left_out = read_optional(mapping, list, "_source", "excludes") or []
    return IndexLayout(
        index,
        str(meta.get("model_id")),
        str(meta["placement"]),
        str(meta["field_type"]),
        stores_own_fields=any(field not in left_out for field in wanted),
        fields=read_fields(mapping),
    )


def check_layout(layout: IndexLayout, model_id: str) -> None:
    """Raise unless an index was built with a model.

    Parameters
    ----------
    layout : IndexLayout
        What the index holds.
    model_id : str
        The model's id.

    Raises
    ------
    ModelMismatchError
        If it was another; the message has both ids.
    """
    if layout.model_id != model_id:
        raise ModelMismatchError(
            f"The index {layout.index!r} must be searched with the model that it was built with, {layout.model_id}. Got "
            f"{model_id}: load that model, or index the documents anew with this one."
        )
