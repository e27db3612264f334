"""``cptw search``: find documents."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cptw_search.cli.cluster_options import (
    CaFile,
    Cluster,
    ClusterName,
    ConfigFile,
    ModelOfCluster,
    On,
    QueryMaxTerms,
    User,
    opened_index,
)
from cptw_search.cli.commands import Command
from cptw_search.cli.options import AsJson, Format, FormatName, IndexDir, Method, parse_filters

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cptw_search.backend import Hit, SearchBackend
    from cptw_search.model import Cptw

__all__ = ["COMMAND", "search"]

BATCH_SIZE = 100


def search(
    query: Annotated[str | None, typer.Argument(metavar="QUERY", help="What to look for.", show_default=False)] = None,
    index_dir: IndexDir = None,
    queries: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Many queries in place of one: a file with one a line, or JSON lines with id and text; - for standard "
            "input.",
            show_default=False,
        ),
    ] = None,
    k: Annotated[int, typer.Option("-k", metavar="N", help="How many documents to show at most.")] = 10,
    method: Annotated[
        Method | None,
        typer.Option(
            help="How documents are scored: by CPTW, by BM25 or TF-IDF (the words themselves), by BM25 with words "
            "learned from its best documents (bm25+rm3), by CPTW and BM25 together (hybrid), the same with words "
            "learned from its best documents (hybrid+feedback), or by their ranks in both (rrf). By default hybrid+feedback; "
            "hybrid on an index that was there before.",
            show_default=False,
        ),
    ] = None,
    lambda_: Annotated[
        float,
        typer.Option("--lambda", metavar="NUMBER", help="The share of CPTW in hybrid and hybrid+feedback, 0 to 1."),
    ] = 0.3,
    filters: Annotated[
        list[str] | None,
        typer.Option(
            "--filter",
            metavar="CONDITION",
            help="Only documents with such a field: label=sport, 'year>=1990'. Repeated, all have to hold; several values "
            "of one field are alternatives. What looks like a number is compared as one, unless it is in double quotes.",
            show_default=False,
        ),
    ] = None,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain",
            help="Say why each document matches, word by word (with the methods cptw, bm25, hybrid and hybrid+feedback).",
        ),
    ] = False,
    file_format: Format = FormatName.auto,
    as_json: AsJson = False,
    on: On = None,
    name: ClusterName = None,
    model_dir: ModelOfCluster = None,
    field: Annotated[
        str | None,
        typer.Option(
            metavar="FIELD",
            help="With --name: search this text field of an index that was made without cptw, by an expanded query.",
            show_default=False,
        ),
    ] = None,
    query_max_terms: QueryMaxTerms = None,
    user: User = None,
    ca_file: CaFile = None,
    config_file: ConfigFile = None,
) -> None:
    """Find documents, also those that say it in other words.

    The index is a directory (--index) or a name on a cluster (--name). Words of the query are marked **so**, words that
    are close to one of them _so_; on a terminal by bold and by underlined letters.
    """
    from cptw_search.cli.output import print_json

    if (query is None) == (queries is None):
        raise typer.BadParameter("give either a query or --queries.", param_hint="QUERY")
    settings: dict[str, Any] = {"lambda_": lambda_, "filter": parse_filters(filters)}
    if method is not None:
        settings["method"] = method.value
    single: list[dict[str, object]] = [{"text": query}]
    wanted = iter(single) if queries is None else _read_queries(queries, file_format)
    cluster = Cluster(on, name, user, ca_file, config_file)
    with opened_index(index_dir, cluster, model_dir, field=field, query_max_terms=query_max_terms) as index:
        while batch := list(itertools.islice(wanted, BATCH_SIZE)):
            texts = [str(one["text"]) for one in batch]
            if explain:
                results = [index.search(text, k, explain=True, **settings) for text in texts]
            else:
                results = index.search_many(texts, k, **settings)
            for one, text, hits in zip(batch, texts, results, strict=True):
                if as_json:
                    named = {} if "id" not in one else {"id": one["id"]}
                    print_json({**named, "query": text, "hits": [_to_dict(hit) for hit in hits]})
                else:
                    _print_hits(index, text, hits, method, field, has_heading=queries is not None)


def _read_queries(source: str, file_format: FormatName) -> Iterator[dict[str, object]]:
    from cptw_search.cli.reading import DocumentReader

    with DocumentReader([source], file_format).reading() as documents:
        yield from documents


def _to_dict(hit: Hit) -> dict[str, object]:
    explained = {} if hit.explanation is None else {"explanation": hit.explanation.to_dict()}
    return {"id": hit.id, "score": hit.score, "fields": hit.fields, **explained}


def _print_hits(
    index: SearchBackend, query: str, hits: list[Hit], method: Method | None, field: str | None, *, has_heading: bool
) -> None:
    from cptw_search.cli.output import message, print_indented, print_line, safe
    from cptw_search.cli.passages import find_passage
    from cptw_search.engine import EmbeddedIndex
    from cptw_search.explain import explain
    from cptw_search.explain_views import render

    if has_heading:
        print_line((safe(query), "bold reverse"))
        print_line()
    if not hits:
        message(f"nothing found for {query!r}")
    nonnegative = not isinstance(index, EmbeddedIndex)  # a cluster stores no negative weights
    only_direct = method in (
        Method.bm25,
        Method.bm25_rm3,
        Method.tfidf,
    )  # they know nothing of words that are only close
    digits = len(str(len(hits)))
    for rank, hit in enumerate(hits, 1):
        document = _searched(index.model, hit.fields, field)
        # CPTW's own whatever the method, so that the same words are marked with --explain and without.
        close = explain(index.model, query, document, nonnegative=nonnegative, max_via=0)
        passage = find_passage(index.model, close, document, only_direct=only_direct)
        label = hit.fields.get("label")
        print_line(
            f"{rank:>{digits}}  ",
            (f"{hit.score:.4f}", "bold"),
            "  ",
            (safe(hit.id), "yellow"),
            "" if label is None else (f"  [{safe(str(label))}]", "magenta"),
            "  " if passage.heading else "",
            passage.heading,
        )
        if passage.part is not None:
            print_indented(passage.part)
        if hit.explanation is not None:
            print_line()
            print_indented(render(hit.explanation))
        print_line()
    sys.stdout.flush()


def _searched(model: Cptw, fields: dict[str, object], field: str | None) -> Mapping[str, object]:
    """Give a document in the model's fields, which those of an index that was there before may not be."""
    from cptw_search.cli.stored_texts import main_field, text_of

    if field is None:
        return fields
    own = field if field in model.text_fields else main_field(model)
    return {own: text_of(fields, field), **({} if own == "title" else {"title": str(fields.get("title") or "")})}


COMMAND = Command(
    search,
    examples=(
        'cptw search "cruise ship" --index index',
        'cptw search "cruise ship" --index index --method hybrid --filter label=travel',
        "cptw search --queries queries.txt --index index --json | jq .hits[0].id",
        'cptw search "cruise ship" --on https://host:9200 --name news --model model --user me',
        'cptw search "cruise ship" --on https://host:9200 --name articles --field body --model model',
    ),
)
