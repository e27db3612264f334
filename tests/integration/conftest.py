"""Each server starts once a run, when the first test asks for it; every test has index names of its own."""

import os
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from servers.errors import UnavailableError
from servers.kinds import ELASTICSEARCH_7, ELASTICSEARCH_9, OPENSEARCH_3, Kind
from servers.process import LocalServer, cluster
from servers.provide import WAYS, allowed_ways, provide
from servers.server import Server

_running: dict[str, Server] = {}
_report: dict[str, str] = {}


def _session_server(name: str, kind: Kind, ways: tuple[str, ...] = tuple(WAYS)) -> Iterator[Server]:
    began = time.monotonic()
    try:
        server = provide(kind, ways)
    except UnavailableError as error:
        _report[name] = f"not had: {error}"
        _missing(str(error))
    _report[name] = f"{server.how}, ready after {time.monotonic() - began:.1f} s"
    _running[name] = server
    try:
        yield server
    finally:
        del _running[name]
        server.close()


def _missing(reason: str) -> None:
    if os.environ.get("CPTW_REQUIRE_SERVERS") == "1":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def elasticsearch7() -> Iterator[Server]:
    """rank_features."""
    yield from _session_server("elasticsearch7", ELASTICSEARCH_7)


@pytest.fixture(scope="session")
def elasticsearch9() -> Iterator[Server]:
    """sparse_vector."""
    yield from _session_server("elasticsearch9", ELASTICSEARCH_9)


@pytest.fixture(scope="session")
def opensearch3() -> Iterator[Server]:
    """rank_features."""
    yield from _session_server("opensearch3", OPENSEARCH_3)


@pytest.fixture(scope="session")
def elasticsearch_container() -> Iterator[Server]:
    """rank_features, in a container whatever else there is."""
    yield from _session_server("elasticsearch_container", ELASTICSEARCH_7, ("containers",))


@pytest.fixture(params=["elasticsearch7", "opensearch3", "elasticsearch_container"])
def rank_features_server(request: pytest.FixtureRequest) -> Server:
    """Each server with rank_features in turn."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def index_name() -> Iterator[str]:
    """A name of the test's own; what begins with it is deleted afterwards, and nothing else."""
    name = f"cptw-test-{uuid.uuid4().hex}"
    yield name
    for server in _running.values():
        with server.client() as client:
            for index in client.indices.get(index=f"{name}*"):  # by name: servers refuse to delete by pattern
                client.indices.delete(index=index)


@pytest.fixture
def own_server() -> Iterator[Callable[..., LocalServer]]:
    """Make a server that the test may stop and kill; takes the arguments of LocalServer and does not start it."""
    with ExitStack() as stack:

        def make(*arguments: object, **options: object) -> LocalServer:
            server = _by_process(lambda: LocalServer(*arguments, **options))
            stack.callback(server.close)
            return server

        yield make


@pytest.fixture
def own_cluster() -> Iterator[Callable[..., list[LocalServer]]]:
    """Start a cluster whose nodes the test may stop and kill; takes the arguments of ``cluster``."""
    with ExitStack() as stack:
        yield lambda *arguments, **options: _by_process(lambda: stack.enter_context(cluster(*arguments, **options)))


def _by_process(make):
    if "processes" not in allowed_ways():
        _missing("processes: not in CPTW_TEST_SERVERS_BY")
    try:
        return make()
    except UnavailableError as error:
        _missing(f"processes: {error}")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how each server was had, or why not."""
    if _report:
        terminalreporter.section("servers")
        for name, line in _report.items():
            terminalreporter.line(f"{name}: {line}")
