"""The figures of an evaluation: F1 beside the paper's, validation by tau, and IICR by tau as in the paper's Fig. 2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cptw_search.errors import require_extra
from cptw_search.evaluation.measures import Line
from cptw_search.evaluation.paper_figures import TABLE_2
from cptw_search.evaluation.report import paper_method

__all__ = ["draw_f1", "draw_iicr", "draw_validation"]

Curves = Mapping[str, Sequence[tuple[float, float]]]

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")  # told apart by everyone
_MARKS = "osD^vP*"


def _figure(n_panels: int, *, n_columns: int = 3, width: float = 3.3, height: float = 2.6) -> tuple[Any, list[Any]]:
    require_extra("matplotlib", "evaluation", "Drawing figures")
    from matplotlib.figure import Figure

    n_columns = min(n_columns, n_panels)
    n_rows = -(-n_panels // n_columns)
    figure = Figure(figsize=(width * n_columns, height * n_rows), layout="constrained")
    axes = np.atleast_1d(figure.subplots(n_rows, n_columns)).ravel().tolist()
    for axis in axes[n_panels:]:
        axis.remove()
    return figure, axes[:n_panels]


def _save(figure: Any, folder: Path, name: str) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.png", folder / f"{name}.svg"]
    figure.savefig(paths[0], dpi=150)
    figure.savefig(paths[1], metadata={"Date": None})  # the same figure is the same file
    return paths


def draw_iicr(
    curves: Mapping[str, Curves], chosen: Mapping[str, Mapping[str, float]], variants: Sequence[str], folder: Path
) -> list[Path]:
    """Draw IICR by tau, one panel a data set, with the tau that validation chose.

    Parameters
    ----------
    curves : mapping of str to mapping
        Data sets to variants to pairs of tau and IICR.
    chosen : mapping of str to mapping
        Data sets to variants to the mean of the chosen tau.
    variants : sequence of str
        Which variants to draw.
    folder : Path
        Where the files go.

    Returns
    -------
    list of Path
        ``iicr.png`` and ``iicr.svg``.
    """
    figure, axes = _figure(len(curves))
    for axis, (dataset, own) in zip(axes, curves.items(), strict=True):
        for variant, colour, mark in zip(variants, _COLOURS, _MARKS, strict=False):
            if variant not in own:
                continue
            taus, ratios = zip(*own[variant], strict=True)
            axis.plot(taus, ratios, marker=mark, markersize=3.5, linewidth=1.2, color=colour, label=variant)
            best = chosen.get(dataset, {}).get(variant)
            if best is not None:
                height = float(np.interp(best, taus, ratios))
                axis.scatter([best], [height], s=90, facecolors="none", edgecolors=colour, linewidths=1.4, zorder=4)
        axis.set_title(dataset, fontsize=10)
        axis.set_xlabel("tau", fontsize=9)
        axis.set_ylabel("IICR", fontsize=9)
        axis.tick_params(labelsize=8)
    _legend(figure, axes[0], "IICR by tau; a ring: the tau that validation chose (mean over folds)")
    return _save(figure, folder, "iicr")


def draw_validation(lines: Sequence[Line], variants: Sequence[str], folder: Path) -> list[Path]:
    """Draw micro F1 in validation by tau, one panel a data set.

    Parameters
    ----------
    lines : sequence of Line
        The results; those of CPTW are drawn.
    variants : sequence of str
        Which variants to draw.
    folder : Path
        Where the files go.

    Returns
    -------
    list of Path
        ``tau.png`` and ``tau.svg``; none where there is nothing to draw.
    """
    own = [line for line in lines if line.reported and line.method == "cptw" and line.variant in variants]
    datasets = list(dict.fromkeys(line.dataset for line in own))
    if not datasets:
        return []
    figure, axes = _figure(len(datasets))
    for axis, dataset in zip(axes, datasets, strict=True):
        for variant, colour, mark in zip(variants, _COLOURS, _MARKS, strict=False):
            for line in own:
                if (line.dataset, line.variant) == (dataset, variant):
                    taus = [float(name.removeprefix("tau ")) for name in line.validation]
                    values = list(line.validation.values())
                    axis.plot(taus, values, marker=mark, markersize=3.5, linewidth=1.2, color=colour, label=variant)
        axis.set_title(dataset, fontsize=10)
        axis.set_xlabel("tau", fontsize=9)
        axis.set_ylabel("micro F1, validation", fontsize=9)
        axis.tick_params(labelsize=8)
    _legend(figure, axes[0], "Micro F1 in validation by tau, best k, mean over rounds and folds")
    return _save(figure, folder, "tau")


def draw_f1(lines: Sequence[Line], folder: Path) -> list[Path]:
    """Draw micro F1 of every method beside the paper's, one panel a data set.

    Parameters
    ----------
    lines : sequence of Line
        The results.
    folder : Path
        Where the files go.

    Returns
    -------
    list of Path
        ``f1.png`` and ``f1.svg``.
    """
    shown = [line for line in lines if line.reported]
    datasets = list(dict.fromkeys(line.dataset for line in shown))
    most = max(sum(line.dataset == dataset for line in shown) for dataset in datasets)
    figure, axes = _figure(len(datasets), width=4.2, height=0.9 + 0.19 * most)
    for axis, dataset in zip(axes, datasets, strict=True):
        own = [line for line in shown if line.dataset == dataset]
        places = np.arange(len(own))[::-1]
        paper = [TABLE_2.get(dataset, {}).get(paper_method(line.method, line.variant)) for line in own]
        values = [line.micro_f1 for line in own]
        for place, ours, theirs in zip(places, values, paper, strict=True):
            if theirs is not None:
                axis.plot([ours, theirs], [place, place], color="0.75", linewidth=1.5, zorder=1)
        axis.scatter(values, places, s=22, color=_COLOURS[0], zorder=3, label="ours")
        known = [(value, place) for value, place in zip(paper, places, strict=True) if value is not None]
        if known:
            axis.scatter(
                *zip(*known, strict=True), s=22, facecolors="none", edgecolors=_COLOURS[1], zorder=2, label="paper"
            )
        axis.set_yticks(places, [line.name for line in own], fontsize=7)
        axis.set_title(dataset, fontsize=10)
        axis.tick_params(axis="x", labelsize=8)
        axis.grid(axis="x", color="0.9")
        axis.set_axisbelow(True)
    _legend(figure, axes[0], "Micro F1 of ours and of the paper (every idf- variant beside CPTW_IDF)")
    return _save(figure, folder, "f1")


def _legend(figure: Any, axis: Any, title: str) -> None:
    handles, labels = axis.get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=max(1, min(len(labels), 5)), fontsize=8, frameon=False
    )
    figure.suptitle(title, fontsize=10)
