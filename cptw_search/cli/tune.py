"""``cptw tune``: tau, k, lambda and method for data of one's own."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cptw_search.cli.commands import Command

if TYPE_CHECKING:
    from cptw_search.tuning import Tuned

__all__ = ["COMMAND", "tune"]

TAUS = "0.2,0.3,0.4,0.5,0.6,0.7,0.8"
KS = "1,3,5,7,9,11,15,19"
LAMBDAS = "0,0.1,0.2,0.3,0.4,0.5,0.7,1"


def tune(
    documents: Annotated[list[str], typer.Argument(help="Files of documents, folders, or - for standard input.")],
    by: Annotated[
        str,
        typer.Option(
            help="'classification': tau and k by cross-validation on the documents' labels. 'search': tau, lambda and method "
            "by judged queries; without --queries, a suggestion by the size of the collection alone. 'iicr': tau alone by the paper's ratio of distances between and within classes, which "
            "needs no classification."
        ),
    ] = "classification",
    queries: Annotated[
        Path | None, typer.Option(help="With --by search: JSON lines with _id (or id) and text.")
    ] = None,
    judgements: Annotated[
        Path | None,
        typer.Option(
            help="With --by search: lines of query id, document id and grade, separated by tabs; a header may stand first."
        ),
    ] = None,
    vectors: Annotated[
        list[str] | None, typer.Option(help="As for cptw fit; may be given several times.", show_default="lsi")
    ] = None,
    weighting: Annotated[
        str | None,
        typer.Option(
            help="As for cptw fit --for classification, or --for search with --by search.", show_default=False
        ),
    ] = None,
    analyzer: Annotated[str, typer.Option(help="As for cptw fit.")] = "english",
    votes: Annotated[str, typer.Option(help="With --by classification: distance, similarity or uniform.")] = "distance",
    label_field: Annotated[str, typer.Option(help="The field that holds the label.")] = "label",
    taus: Annotated[str, typer.Option(help="Values of tau to try.")] = TAUS,
    ks: Annotated[str, typer.Option(help="Values of k to try.")] = KS,
    lambdas: Annotated[str, typer.Option(help="Values of lambda to try.")] = LAMBDAS,
    n_folds: Annotated[int, typer.Option(help="In how many parts the data is divided.")] = 5,
    seed: Annotated[int, typer.Option(help="Of the division into parts.")] = 0,
    format: Annotated[str, typer.Option(help="As for cptw fit.")] = "auto",
    strict: Annotated[bool, typer.Option("--strict", help="Stop at the first bad line.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Choose tau, k and lambda on your own labelled or judged texts.

    The figure "held out" is measured on parts of the data that the parameters were not chosen on: it is the one to
    expect on new texts.
    """
    from cptw_search import tuning
    from cptw_search.cli.options import read_all, resolve_vectors
    from cptw_search.errors import InvalidInputError, check_choice
    from cptw_search.purposes import model_for

    check_choice("--by", by, ("classification", "search", "iicr"))
    texts = read_all(documents, format=format, strict=strict)
    purpose = "search" if by == "search" else "classification"
    given = {} if weighting is None else {"weighting": weighting}
    model = model_for(purpose, vectors=resolve_vectors(vectors), analyzer=analyzer, **given)
    if by == "search":
        if queries is None and judgements is None:
            size = _size(texts, analyzer)
            _print_suggestion(tuning.suggest_search(*size), size, as_json)
            return
        if queries is None or judgements is None:
            raise InvalidInputError("--by search needs both --queries and --judgements, or neither. Got one of them.")
        found = tuning.tune_search(
            model,
            texts,
            {str(q["id"]): str(q["text"]) for q in read_all([str(queries)], format="jsonl", strict=True)},
            _read_judgements(judgements),
            taus=_numbers("--taus", taus),
            lambdas=_numbers("--lambdas", lambdas),
            n_folds=n_folds,
            seed=seed,
        )
        _print(found, as_json)
        return
    labelled = [document for document in texts if document.get(label_field) is not None]
    labels = [str(document[label_field]) for document in labelled]
    if not labelled:
        raise InvalidInputError(f"--by {by} needs documents with a {label_field!r}. Got {len(texts)} without one.")
    if by == "iicr":
        found = tuning.tune_by_iicr(model, labelled, labels, taus=_numbers("--taus", taus))
    else:
        found = tuning.tune_classification(
            model,
            labelled,
            labels,
            taus=_numbers("--taus", taus),
            ks=[round(k) for k in _numbers("--ks", ks)],
            votes=votes,
            n_folds=n_folds,
            seed=seed,
        )
    _print(found, as_json)


def _size(texts: Sequence[Mapping[str, object]], analyzer: str) -> tuple[int, float]:
    """Count documents, and their terms on average."""
    from cptw_search.model import Cptw

    model = Cptw(vectors=None, analyzer=analyzer).fit(texts)
    return model.n_docs_, model.average_length_


def _print_suggestion(setting: Mapping[str, object], size: tuple[int, float], as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({"suggested": setting, "n_docs": size[0], "average_length": size[1]}, indent=1))
        return
    typer.echo(
        f"{size[0]:,} documents of {size[1]:.0f} terms on average: tau {setting['tau']}, lambda {setting['lambda']}."
    )
    typer.echo(f"cptw search has that method by default: {setting['method']}. Judged queries would know better.")


def _numbers(flag: str, text: str) -> list[float]:
    from cptw_search.errors import InvalidInputError

    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InvalidInputError(f"{flag} must be numbers separated by commas. Got {text!r} instead.") from None


def _read_judgements(path: Path) -> dict[str, dict[str, int]]:
    from cptw_search.errors import InvalidInputError

    judgements: dict[str, dict[str, int]] = {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"--judgements must be a readable text file. Got {str(path)!r}: {error}.") from error
    for number, line in enumerate(lines, start=1):
        try:
            query_id, document_id, text = line.split("\t")
            grade = int(text)
        except ValueError:
            if number > 1 and line.strip():  # the first line may be a header
                raise InvalidInputError(
                    f"{path}:{number}: a judgement must be query id, document id and a whole number, separated by tabs. "
                    f"Got {line[:80]!r} instead."
                ) from None
            continue
        judgements.setdefault(query_id, {})[document_id] = grade
    return judgements


def _print(found: Tuned, as_json: bool) -> None:
    if as_json:
        facts = {"best": found.best, "measure": found.measure, "held_out": found.held_out, "table": found.table}
        typer.echo(json.dumps(facts, indent=1))
        return
    from rich.table import Table

    from cptw_search.cli.output import console as new_console

    table = Table()
    for name in found.table[0]:
        table.add_column(found.measure if name == "mean" else name, justify="right")
    best = max(row["mean"] for row in found.table)
    for row in found.table:
        cells = [f"{value:.4f}" if name == "mean" else _shown(value) for name, value in row.items()]
        table.add_row(*cells, style="bold" if row["mean"] == best else "")
    console = new_console()
    console.print(f"Mean {found.measure} of each setting:", highlight=False)
    console.print(table)
    chosen = ", ".join(f"{name} {_shown(value)}" for name, value in found.best.items())
    held_out = "" if found.held_out is None else f"; held out, {found.measure} is {found.held_out:.4f}"
    console.print(f"Best: {chosen}{held_out}.", highlight=False)


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float | int) else str(value)


COMMAND = Command(
    tune,
    [
        "cptw tune labelled.tsv --vectors googlenews --taus 0.2,0.3,0.4,0.5",
        "cptw tune corpus.jsonl --by search",
        "cptw tune corpus.jsonl --by search --queries queries.jsonl --judgements qrels.tsv",
    ],
)
