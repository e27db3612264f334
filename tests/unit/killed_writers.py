"""Run by test_engine_crashes: forks a writer, kills it at a random moment, looks at what it left; many times.

Prints one JSON line: how often the writer was killed, in which operation, and every state that was seen. A process of
its own, so that forking meets no threads.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from cptw_search import Cptw, EmbeddedIndex


def write_for_ever(path: Path, log: int, moment: str, seed: int) -> None:
    """Add and save without end; before each save say what it will hold."""
    rng = random.Random(seed)
    index = EmbeddedIndex.open(path)
    number = 0
    while True:
        number += 1
        n_docs = rng.randint(1, 3) if moment == "save" else rng.randint(50, 200)
        documents = [{"id": f"{seed}-{number}-{i}", "text": f"boat w{i % 60} " * 5} for i in range(n_docs)]
        os.write(log, b"add\n")
        index.add(documents)
        if number % 3 == 0:
            index.delete([documents[0]["id"]])
        state = sorted(str(document["id"]) for document in index.documents())
        os.write(log, (json.dumps(["may hold", state]) + "\n").encode())
        index.save()


def main(path: Path, n_kills: int) -> None:
    model = Cptw(vectors=None).fit(["boat " + " ".join(f"w{i}" for i in range(60))])
    EmbeddedIndex.build(model, [{"id": "first", "text": "boat"}], path=path).close()
    rng = random.Random(0)
    allowed = {json.dumps(["first"])}
    changed = 0
    during = {"add": 0, "save": 0}
    for seed in range(n_kills):
        read_end, write_end = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read_end)
            write_for_ever(path, write_end, ("add", "save")[seed % 2], seed)
        os.close(write_end)
        with os.fdopen(read_end) as log:
            lines = [log.readline().strip()]  # it is at work
            time.sleep(rng.uniform(0, 0.4))
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            lines += [line for line in log.read().split("\n") if line]
        for line in lines:
            if line.startswith('["may hold"') and line.endswith("]]"):
                allowed.add(json.dumps(json.loads(line)[1]))
        during["save" if lines[-1].startswith("[") else "add"] += 1
        index = EmbeddedIndex.open(path, verify=True)
        state = json.dumps(sorted(str(document["id"]) for document in index.documents()))
        if state not in allowed:
            print(json.dumps({"error": f"after kill {seed} the index holds {state[:300]}"}))
            sys.exit(1)
        found = {hit.id for hit in index.search("boat", k=100_000, method="cptw")}
        if found != set(json.loads(state)):
            print(json.dumps({"error": f"after kill {seed} search finds {len(found)} of {len(json.loads(state))}"}))
            sys.exit(1)
        changed += state != json.dumps(["first"])
        allowed = {state}
        if len(json.loads(state)) > 2_000:  # keep it quick
            with EmbeddedIndex.open(path) as index:
                index.delete(json.loads(state)[1:])
                index.save()
                allowed = {json.dumps(json.loads(state)[:1])}
    index = EmbeddedIndex.open(path)
    index.add([{"id": "last", "text": "boat"}])
    index.save()
    index.close()
    folders = [entry.name for entry in path.iterdir() if len(entry.name) == 16]
    print(json.dumps({"killed": n_kills, "changed": changed, "during": during, "folders": len(folders)}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
