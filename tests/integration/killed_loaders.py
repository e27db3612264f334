"""Run by test_faults_client_killed: forks a loader, kills it at a random moment, looks at the alias; many times.

Prints one JSON line: how often a loader was killed, before which request, and whether the alias had moved. A process of
its own, so that forking meets no threads.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time

from cluster_faults import documents, ids, indexer, served, stored_ids

from cptw_search.cluster import ClusterClient, connect

N_DOCS = 1_200
MOMENTS = {  # a request that is about to be sent, and how many seconds later at most the loader is killed
    "PUT /cptw": 0.1,
    "/_bulk": 0.3,
    "/_refresh": 0.1,
    "/_settings": 0.1,
    "PUT mapping": 0.05,
    "POST /_aliases": 0.05,
}
SECONDS_A_LOAD = 300


def load(url: str, alias: str, log: int, first: int) -> None:
    """Load documents; say before each request what it will be."""
    with connect(url) as client:
        tell_requests(client, log)
        indexer(client, alias).load(documents(N_DOCS, first), progress=False)


def tell_requests(client: ClusterClient, log: int) -> None:
    send = client._send

    def told(method: str, path: str, *arguments: object, **options: object) -> object:
        name = "PUT mapping" if method == "PUT" and path.endswith("/_mapping") else f"{method} {path}"
        os.write(log, f"{name}\n".encode())
        return send(method, path, *arguments, **options)

    client._send = told


def wait_for(log: int, part: str) -> bool:
    """Whether a line with the part comes; else the loader has ended."""
    with os.fdopen(log) as lines:
        return any(part in line for line in lines)


def main(url: str, alias: str, n_kills: int) -> None:
    rng = random.Random(7)
    moments = list(MOMENTS)
    moved = dict.fromkeys(moments, 0)
    n_killed = 0
    with connect(url) as client:
        work = indexer(client, alias)
        old = work.load(documents(N_DOCS)).index
        made_by = {old: 0}
        for number in range(1, n_kills + 1):
            moment = moments[number % len(moments)]
            read_end, write_end = os.pipe()
            child = os.fork()
            if child == 0:
                signal.alarm(SECONDS_A_LOAD)
                try:
                    load(url, alias, write_end, number * N_DOCS)
                finally:
                    os._exit(0)
            os.close(write_end)
            is_at_it = wait_for(read_end, moment)
            time.sleep(rng.choice((0.0, rng.uniform(0, MOMENTS[moment]))))  # before it is sent, or behind that
            os.kill(child, signal.SIGKILL)
            n_killed += is_at_it and os.WIFSIGNALED(os.waitpid(child, 0)[1])
            for record in work.history():
                made_by.setdefault(record.index, number)
            now = served(client, alias)  # one index, complete
            assert made_by[now] >= made_by[old], f"after kill {number} {alias} went back from {old} to {now}"
            moved[moment] += now != old  # maybe by the loader before, whose request was on its way when it was killed
            old = now
            found = stored_ids(client, now)
            assert found == ids(N_DOCS, made_by[now] * N_DOCS), (
                f"after kill {number} {now} holds {len(found)} documents"
            )
            if number % len(moments) == 0:
                work.prune_old(0, unfinished=True)
        summary = work.load(documents(N_DOCS, n_kills * N_DOCS), resume=True)
        assert served(client, alias) == summary.index
        assert stored_ids(client, alias) == ids(N_DOCS, n_kills * N_DOCS)
    print(json.dumps({"killed": n_killed, "moved": moved}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
