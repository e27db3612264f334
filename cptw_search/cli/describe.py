"""Models and indices as plain data, for `info` and for the summaries of `fit` and `index`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from cptw_search.cli.output import bytes_of_size, counted, print_facts

if TYPE_CHECKING:
    from cptw_search.index_directory import IndexState
    from cptw_search.model import Cptw

__all__ = ["describe_index", "describe_model", "print_index", "print_model"]


def describe_model(model: Cptw, path: Path) -> dict[str, Any]:
    """Describe a saved model.

    Parameters
    ----------
    model : Cptw
        The model, as it was loaded: then all of its parameters are plain data.
    path : Path
        Where it is.

    Returns
    -------
    dict
        Plain data.
    """
    from cptw_search.model_directory import FORMAT_VERSION

    n_terms = len(model.vocabulary_)
    parameters = {name: value for name, value in model.get_params().items() if name not in ("vectors", "analyzer")}
    similarity = model.similarity_
    return {
        "kind": "model",
        "path": str(path),
        "format_version": FORMAT_VERSION,
        "model_id": model.model_id,
        "n_docs": model.n_docs_,
        "average_length": model.average_length_,
        "n_terms": n_terms,
        "n_terms_with_neighbours": int(((similarity.indptr[1:] - similarity.indptr[:-1]) > 1).sum()),
        "neighbours_per_term": (similarity.nnz - n_terms) / n_terms,
        "vector_sources": model.vector_sources_,
        "analyzer": model.analyzer.name,  # type: ignore[union-attr]
        "parameters": parameters,
        "size_bytes": _size(path),
    }


def describe_index(state: IndexState, path: Path) -> dict[str, Any]:
    """Describe a saved index.

    Parameters
    ----------
    state : IndexState
        What its directory holds.
    path : Path
        Where it is.

    Returns
    -------
    dict
        Plain data.
    """
    from cptw_search.index_directory import FORMAT_VERSION, MODEL

    segments = [
        {
            "n_docs": int(alive.sum()),
            "n_deleted": int((~alive).sum()),
            "size_bytes": _size(path / saved["folder"]),
        }
        for _, alive, saved in state.segments
    ]
    return {
        "kind": "index",
        "path": str(path),
        "format_version": FORMAT_VERSION,
        "n_docs": sum(segment["n_docs"] for segment in segments),
        "n_deleted": sum(segment["n_deleted"] for segment in segments),
        "text_fields": sorted(state.model.text_fields),
        "filter_fields": sorted({name for segment, _, _ in state.segments for name in segment.fields.fields()}),
        "placement": state.placement,
        "document_pruning": vars(state.document_pruning),
        "query_pruning": vars(state.query_pruning),
        "segments": segments,
        "size_bytes": _size(path),
        "model": describe_model(state.model, path / MODEL),
    }


def print_model(facts: dict[str, Any]) -> None:
    """Print what `describe_model` gave, for people.

    Parameters
    ----------
    facts : dict
        The description.
    """
    parameters = facts["parameters"]
    others = {
        name: value for name, value in parameters.items() if name not in ("tau", "field_weights") and value is not None
    }
    n_terms, n_with = facts["n_terms"], facts["n_terms_with_neighbours"]
    print_facts(
        {
            "model": facts["path"],
            "documents": f"{facts['n_docs']:,}, {facts['average_length']:.1f} counted words each",
            "terms": f"{n_terms:,}",
            "vectors": "; ".join(_source(source, n_terms) for source in facts["vector_sources"]) or "none",
            "neighbours": f"{facts['neighbours_per_term']:.1f} a term at tau {parameters['tau']}; "
            f"{n_with:,} of {counted(n_terms, 'term')} have some",
            "fields": _pairs(parameters["field_weights"]),
            "parameters": f"analyzer={facts['analyzer']}, " + _pairs(others),
            "size": bytes_of_size(facts["size_bytes"]),
            "format": f"cptw-model {facts['format_version']}",
            "id": facts["model_id"],
        }
    )


def print_index(facts: dict[str, Any]) -> None:
    """Print what `describe_index` gave about the index itself, for people.

    Parameters
    ----------
    facts : dict
        The description.
    """
    deleted = f", {facts['n_deleted']:,} deleted and not merged yet" if facts["n_deleted"] else ""
    print_facts(
        {
            "index": facts["path"],
            "documents": f"{facts['n_docs']:,} in {counted(len(facts['segments']), 'segment')}{deleted}",
            "searched": ", ".join(facts["text_fields"]),
            "filters": ", ".join(facts["filter_fields"]) or "no field to filter on",
            "placement": facts["placement"],
            "pruning": _pruning(facts),
            "size": f"{bytes_of_size(facts['size_bytes'])}, {bytes_of_size(facts['model']['size_bytes'])} of them the model",
            "format": f"cptw-index {facts['format_version']}",
        }
    )


def _source(source: dict[str, Any], n_terms: int) -> str:
    dimensions = f", {source['n_dimensions']} dimensions" if "n_dimensions" in source else ""
    return f"{source['source']}{dimensions}, for {source['n_terms_with_vector']:,} of {counted(n_terms, 'term')}"


def _pruning(facts: dict[str, Any]) -> str:
    sides = []
    for side in ("document", "query"):
        pruning = facts[f"{side}_pruning"]
        if pruning["min_share"] or pruning["max_terms"] is not None:
            sides.append(f"{side}: {_pairs({name: v for name, v in pruning.items() if v})}")
    return "; ".join(sides)


def _pairs(values: dict[str, Any]) -> str:
    return ", ".join(
        f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}" for name, value in values.items()
    )


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
