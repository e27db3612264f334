"""What bench.py measures in processes of their own: memory, opening, growth, starting.

Usage: python benchmarks/bench_scale.py STEP FOLDER NUMBER (called by bench.py)
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import million_documents
import numpy as np
from bench_harness import Record, interleave, line, record, seconds_of
from bench_size import Size

Say = Callable[[str], None]
Facts = dict[str, Any]

NOTE = "made up, and stored with every document, so that a million of them make a gigabyte: " + "0123456789" * 62


def _rss_mb() -> float:
    for text in Path("/proc/self/status").read_text().splitlines():
        if text.startswith("VmRSS:"):
            return int(text.split()[1]) / 1024
    raise OSError("/proc/self/status has no VmRSS")


def _folder_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def documents(n_docs: int) -> Iterator[dict[str, object]]:
    """Make the documents of million_documents.py, with a longer text that is stored and not searched."""
    return ({**document, "note": NOTE} for document in million_documents.documents(n_docs))


# Steps, each in a process of its own ----------------------------------------------------------------------------------


def similarity(folder: Path, n_terms: int) -> Facts:
    """Make S of made-up vectors in groups of five, and the bare products, in turn."""
    from bench_texts import bare_product

    from cptw_search.evaluation.memory import peak_memory
    from cptw_search.similarity import term_similarity

    random = np.random.default_rng(0)
    centres = np.repeat(random.standard_normal((n_terms // 5, 300), dtype=np.float32), 5, axis=0)
    vectors = centres + np.float32(0.5) * random.standard_normal(centres.shape, dtype=np.float32)
    del centres
    with peak_memory() as peak:
        found = term_similarity(vectors, 0.7, progress=False)
    facts: Facts = {"peak_mb": (peak.n_bytes or 0) / 1e6, "neighbours_per_term": found.nnz / n_terms - 1}
    del found
    works = {"ours": lambda: term_similarity(vectors, 0.7, progress=False), "bare": lambda: bare_product(vectors)}
    return facts | interleave(works, int(folder.name), warm=False)


def fit(folder: Path, n_docs: int) -> Facts:
    """Fit the one model of all sizes."""
    million_documents.N_FIT = n_docs
    return million_documents.fit(folder, n_docs)


def generate(folder: Path, n_docs: int) -> Facts:
    """Make the documents and throw them away: what of the loading is not ours."""
    return {"seconds": seconds_of(lambda: sum(1 for _ in documents(n_docs)))}


def load(folder: Path, n_docs: int) -> Facts:
    """Stream documents into a directory."""
    from cptw_search import Cptw, EmbeddedIndex
    from cptw_search.evaluation.memory import peak_memory

    model = Cptw.load(folder / "model")
    target = folder / f"index-{n_docs}"
    shutil.rmtree(target, ignore_errors=True)  # of the time before
    with peak_memory() as peak:  # not `getrusage`, in which a process begins with what its parent held
        seconds = seconds_of(lambda: EmbeddedIndex.build(model, documents(n_docs), path=target, progress=False).close())
    return {
        "seconds": seconds,
        "peak_mb": (peak.n_bytes or 0) / 1024**2,
        "bytes": _folder_bytes(target) - _folder_bytes(folder / "model"),
    }


def open_index(folder: Path, n_docs: int) -> Facts:
    """Open an index, search once, and time queries with the number of postings that they touch."""
    from bench_queries import count_postings, reached_words

    from cptw_search import EmbeddedIndex, acceleration

    target = folder / f"index-{n_docs}"
    EmbeddedIndex.open(target)  # imports, and the files' names in the system's cache
    before = _rss_mb()
    opened = [seconds_of(lambda: EmbeddedIndex.open(target)) for _ in range(5)]
    index = EmbeddedIndex.open(target)
    facts: Facts = {"open_ms": [1e3 * one for one in opened], "open_mb": _rss_mb() - before}
    facts["first_search_ms"] = 1e3 * seconds_of(lambda: index.search("w500 w2000", method="cptw"))
    facts["searched_mb"] = _rss_mb() - before
    facts["gigabytes"] = _folder_bytes(target) / 1e9
    acceleration.COMPILED_FROM = 0  # what comes after many searches, at every size
    facts["read_ms"] = [1e3 * seconds_of(lambda: _read_all(target)) for _ in range(3)]
    queries = million_documents.four_words(200)
    facts["postings"] = count_postings(index, [reached_words(index.model, query) for query in queries])
    for query in queries:
        index.search(query, method="cptw")
    facts["query_ms"] = [
        1e3 * float(np.median([seconds_of(lambda q=q: index.search(q, method="cptw")) for q in queries]))
        for _ in range(3)
    ]
    return facts


def _read_all(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                while block := file.read(2**22):
                    total += len(block)
    return total


def make_model(folder: Path, n_megabytes: int) -> Facts:
    """Save a model whose S has so many bytes: terms that stand near each other in the alphabet are similar."""
    import scipy.sparse as sp

    from cptw_search import Cptw

    n_terms = 100_000
    width = max(1, n_megabytes * 10**6 // 12 // n_terms // 2)
    model = Cptw(vectors=None, analyzer="whitespace").fit([" ".join(f"w{number:06}" for number in range(n_terms))])
    near = np.arange(-width, width + 1, dtype=np.int32)
    columns = np.arange(n_terms, dtype=np.int32)[:, None] + near
    data = np.broadcast_to(np.where(near == 0, 1.0, 0.5), columns.shape)
    there = (columns >= 0) & (columns < n_terms)
    indptr = np.concatenate(([0], np.cumsum(there.sum(axis=1)))).astype(np.int32)
    model.similarity_ = sp.csr_matrix((data[there], columns[there], indptr), shape=(n_terms, n_terms))
    model._settle(model._analyzer)
    model.save(folder / "large-model")
    return {"neighbours_per_term": 2 * width}


def open_model(folder: Path, _: int) -> Facts:
    """Open the large model and represent one text."""
    from cptw_search import Cptw

    target = folder / "large-model"
    Cptw.load(target)
    before = _rss_mb()
    opened = [seconds_of(lambda: Cptw.load(target)) for _ in range(5)]
    model = Cptw.load(target)
    facts: Facts = {"open_ms": [1e3 * one for one in opened], "open_mb": _rss_mb() - before}
    facts["first_text_ms"] = 1e3 * seconds_of(lambda: model.transform(["w000500 w070000"]))
    facts["used_mb"] = _rss_mb() - before
    facts["gigabytes"] = _folder_bytes(target) / 1e9
    facts["read_ms"] = [1e3 * seconds_of(lambda: _read_all(target)) for _ in range(3)]
    return facts


STEPS = {step.__name__: step for step in (similarity, fit, generate, load, open_index, make_model, open_model)}


def run_step(name: str, folder: Path, number: int) -> Facts:
    """Run a step in a process of its own."""
    command = [sys.executable, __file__, name, str(folder), str(number)]
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    facts: Facts = json.loads(result.stdout)
    return facts


# Records --------------------------------------------------------------------------------------------------------------


def large_similarity_records(size: Size, say: Say) -> list[Record]:
    """S of many made-up vectors, beside the bare products."""
    facts = run_step("similarity", Path(str(size.n_vector_repeats)), size.n_vectors)
    name = f"similarity matrix, {size.n_vectors:,} terms, 300 dimensions (made up), tau 0.7"
    bare = {
        "limit": facts["bare"],
        "limit_is": "the float32 products of the upper triangle in blocks, and nothing else",
    }
    neighbours = {"neighbours_per_term": facts["neighbours_per_term"]}
    records = [
        record(
            name,
            "the bare float32 products",
            facts["ours"],
            facts["bare"],
            "s",
            most=1.5,
            mark="at most 1.5 times",
            **bare,
            **neighbours,
        ),
        record(
            f"{name}: peak memory above the vectors",
            "1 GB",
            facts["peak_mb"],
            1000.0,
            "MB",
            most=1.0,
            mark="under 1 GB",
        ),
    ]
    for one in records:
        say(line(one))
    return records


def growth_records(folder: Path, size: Size, say: Say) -> list[Record]:
    """Load, open and search collections of growing size; the indices stay in the folder."""
    run_step("fit", folder, size.n_fit)
    loads: dict[int, list[float]] = {n_docs: [] for n_docs in size.growth}
    found = {}
    for n_docs in (*size.growth, *size.growth[:-1]):  # the small ones before and after the large one
        made = run_step("generate", folder, n_docs)["seconds"]
        loaded = run_step("load", folder, n_docs)
        loads[n_docs].append(1e6 * (loaded["seconds"] - made) / n_docs)
        opened = run_step("open_index", folder, n_docs)
        found[n_docs] = {
            "load_us": loads[n_docs],
            "peak_kb": 1024 * loaded["peak_mb"] / n_docs,
            "bytes": loaded["bytes"] / n_docs,
            "open_us": 1e3 * float(np.median(opened["open_ms"])) / n_docs,
            "query_ns": [1e6 * one / opened["postings"] for one in opened["query_ms"]],
            "opened": opened,
        }
        say(f"{n_docs:,} documents: {found[n_docs]}")
    records = []
    large = size.growth[-1]
    whats = {
        "load_us": ("loading", "us", "time a document"),
        "peak_kb": ("loading", "kB", "peak memory a document"),
        "bytes": ("loading", "bytes", "size on disk a document"),
        "open_us": ("search set-up", "us", "time a document"),
        "query_ns": ("one query of 4 words, CPTW", "ns", "time a posting"),
    }
    for what, (work, unit, measured) in whats.items():
        for small in size.growth[:-1]:
            records.append(
                record(
                    f"growth: {work}, {large:,} documents, {measured}",
                    f"ours at {small:,} documents",
                    found[large][what],
                    found[small][what],
                    unit,
                    most=1.2,
                    mark="at most 20 % more",
                )
            )
    opened = found[large]["opened"]
    records.append(_opening(f"opening an index of {opened['gigabytes']:.2g} GB, {large:,} documents", opened))
    for one in records:
        say(line(one))
    return records


def _opening(work: str, facts: Facts) -> Record:
    known = {
        name: facts[name]
        for name in ("open_mb", "searched_mb", "first_search_ms", "used_mb", "first_text_ms", "gigabytes")
        if name in facts
    }
    return record(
        work,
        "100 ms",
        facts["open_ms"],
        100.0,
        "ms",
        most=1.0,
        mark="under 100 ms",
        limit=facts["read_ms"],
        limit_is="reading the files once from the system's cache, which opening need not do",
        **known,
    )


def model_records(folder: Path, size: Size, say: Say) -> list[Record]:
    """Open a large model."""
    run_step("make_model", folder, int(1000 * size.gigabytes))
    facts = run_step("open_model", folder, 0)
    shutil.rmtree(folder / "large-model")
    made = _opening(f"opening a model of {facts['gigabytes']:.2g} GB", facts)
    memory = record(
        "opening it: memory that this takes",
        "100 MB",
        facts["open_mb"],
        100.0,
        "MB",
        most=1.0,
        mark="only what is touched",
    )
    for one in (made, memory):
        say(line(one))
    return [made, memory]


def start_records(size: Size, say: Say) -> list[Record]:
    """Start the interpreter with our package, the command line, and with what both stand on."""

    def start(*command: str) -> Callable[[], object]:
        return lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    python, command = sys.executable, str(Path(sys.executable).with_name("cptw"))
    seconds = interleave(
        {
            "package": start(python, "-c", "import cptw_search"),
            "classes": start(python, "-c", "from cptw_search import Cptw, EmbeddedIndex"),
            "numpy": start(python, "-c", "import numpy, scipy.sparse"),
            "help": start(command, "--help"),
        },
        size.n_repeats,
    )
    bound = [one + 0.3 for one in seconds["numpy"]]
    limit = {"limit": seconds["numpy"], "limit_is": "`import numpy, scipy.sparse`"}
    mark = "under 0.3 s more"
    records = [
        record(
            "`import cptw_search`",
            "`import numpy, scipy.sparse` + 0.3 s",
            seconds["package"],
            bound,
            "s",
            most=1.0,
            mark=mark,
            **limit,
        ),
        record(
            "`from cptw_search import Cptw, EmbeddedIndex`",
            "`import numpy, scipy.sparse` + 0.3 s",
            seconds["classes"],
            bound,
            "s",
            most=1.0,
            mark=mark,
            **limit,
        ),
        record("`cptw --help`", "0.5 s", seconds["help"], 0.5, "s", most=1.0, mark="under 0.5 s"),
    ]
    for one in records:
        say(line(one))
    return records


if __name__ == "__main__":
    started = time.perf_counter()
    print(json.dumps(STEPS[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3]))))
