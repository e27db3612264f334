"""A server as a process of this machine, unpacked from the vendor's archive into a folder of its own."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

from servers import archives, guard, java
from servers.kinds import Kind
from servers.server import Server, wait_until_ready

SECONDS_TO_STOP = 60


class LocalServer(Server):
    """A server that the test may stop, kill and start again; its data stays until ``close``.

    ``settings`` are those of elasticsearch.yml or opensearch.yml. Other files (certificates, users, roles) go into
    ``home / "config"`` before ``start``; tools of the server run with ``environment``.
    """

    def __init__(self, kind: Kind, settings: dict[str, object] | None = None, heap: str = "512m") -> None:
        java_home = java.find(kind.java)
        self.port, self.transport_port = _free_port(), _free_port()
        self.settings = {
            "cluster.name": f"cptw-test-{uuid.uuid4().hex}",
            "discovery.type": "single-node",
            "network.host": "127.0.0.1",
            "http.port": self.port,
            "transport.port": self.transport_port,
            "cluster.routing.allocation.disk.threshold_enabled": False,  # a full disk is not what is tested
            **({"xpack.security.enabled": False} if kind.product == "elasticsearch" else {}),
            **(settings or {}),
        }
        scheme = "https" if self.settings.get("xpack.security.http.ssl.enabled") else "http"
        super().__init__(kind, f"{scheme}://127.0.0.1:{self.port}", f"local process, {kind}, {java_home.name}")
        self._folder = Path(tempfile.mkdtemp(prefix="cptw-test-"))
        self._folder.chmod(0o755)
        self._log = self._folder / "console.log"
        self.home = self._folder / "home"
        try:
            archives.unpack(kind, self.home)
        except BaseException:
            shutil.rmtree(self._folder)
            raise
        temporary = self.home / "tmp"  # else each start leaves a folder in the system's
        temporary.mkdir()
        prefix = "ES" if kind.product == "elasticsearch" else "OPENSEARCH"
        self.environment = {
            **os.environ,
            f"{prefix}_JAVA_HOME": str(java_home),
            f"{prefix}_JAVA_OPTS": f"-Xms{heap} -Xmx{heap}",
            f"{prefix}_TMPDIR": str(temporary),
        }
        self._process: subprocess.Popen[bytes] | None = None

    def launch(self) -> None:
        """Start and do not wait: the nodes of a cluster need each other to come up."""
        lines = [f"{name}: {json.dumps(value)}\n" for name, value in self.settings.items()]
        (self.home / "config" / f"{self.kind.product}.yml").write_text("".join(lines))
        if os.geteuid() == 0:
            for path in (self.home, *self.home.rglob("*")):
                shutil.chown(path, guard.NOBODY, guard.NOBODY)
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, guard.__file__, self._folder, self.home / "bin" / self.kind.product],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=self.environment,
                start_new_session=True,  # Ctrl-C is the tests' to handle
            )

    def start(self) -> float:
        """Start, wait until it answers and return the seconds that took."""
        self.launch()
        return self.wait()

    def wait(self, n_nodes: int = 1) -> float:
        """Wait until it answers and its cluster has so many nodes."""
        try:
            return wait_until_ready(self.url, self.is_running, lambda: self._log.read_text(errors="replace"), n_nodes)
        except BaseException:
            self.kill()
            raise

    @property
    def process_group(self) -> int | None:
        """The group that holds the server and its guard."""
        return self._process and self._process.pid

    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def stop(self) -> None:
        """Shut down in order."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it as a power cut would (SIGKILL)."""
        self._end(signal.SIGKILL)

    def restart(self) -> float:
        """Start again on the same port and data."""
        self.stop()
        return self.start()

    def close(self) -> None:
        self.stop()
        shutil.rmtree(self._folder)

    def _end(self, number: signal.Signals) -> None:
        if self._process is None:
            return
        if self.is_running():  # else the number may be another's by now
            os.killpg(self._process.pid, number)
        try:
            self._process.wait(SECONDS_TO_STOP)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._process.stdin.close()  # not before: the guard would remove the data
        self._process = None


@contextlib.contextmanager
def cluster(kind: Kind, size: int = 3, settings: dict[str, object] | None = None) -> Iterator[list[LocalServer]]:
    """Give the nodes of a cluster that has formed; all are closed in the end."""
    with contextlib.ExitStack() as stack:
        nodes = []
        for _ in range(size):
            nodes.append(LocalServer(kind, settings, heap="384m"))
            stack.callback(nodes[-1].close)
        names = [f"node-{number}" for number in range(size)]
        for name, node in zip(names, nodes, strict=True):
            del node.settings["discovery.type"]
            node.settings |= {
                "cluster.name": nodes[0].settings["cluster.name"],
                "node.name": name,
                "discovery.seed_hosts": [f"127.0.0.1:{node.transport_port}" for node in nodes],
                "cluster.initial_master_nodes": names,
            }
            node.launch()
        for node in nodes:
            node.wait(size)
        yield nodes


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
