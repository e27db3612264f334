"""Each server starts once a run, when the first test asks for it; every test has index names of its own."""

import logging
import os
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from servers import java, secrets
from servers.errors import UnavailableError
from servers.kinds import ELASTICSEARCH_7, ELASTICSEARCH_9, OPENSEARCH_3, Kind
from servers.process import LocalServer, cluster
from servers.provide import WAYS, allowed_ways, provide
from servers.roles import LESSER, ROLES
from servers.secured import SecuredServer
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


def _own_servers() -> Iterator[Callable[..., LocalServer]]:
    with ExitStack() as stack:

        def make(*arguments: object, **options: object) -> LocalServer:
            server = _by_process(lambda: LocalServer(*arguments, **options))
            stack.callback(server.close)
            return server

        yield make


@pytest.fixture
def own_server() -> Iterator[Callable[..., LocalServer]]:
    """Make a server that the test may stop and kill; takes the arguments of LocalServer and does not start it."""
    yield from _own_servers()


@pytest.fixture(scope="module")
def own_server_of_module() -> Iterator[Callable[..., LocalServer]]:
    """The same for one that the tests of a file share."""
    yield from _own_servers()


@pytest.fixture(scope="module", params=[ELASTICSEARCH_7, ELASTICSEARCH_9, OPENSEARCH_3], ids=lambda kind: kind.name)
def killable_server(request: pytest.FixtureRequest) -> Iterator[LocalServer]:
    """Each kind in turn, started; the tests of a file share it, may kill it, and leave it running."""
    kind, began = request.param, time.monotonic()
    _skip_without_java(kind)
    server = _by_process(lambda: LocalServer(kind))
    try:
        server.start()
        _report[f"killable {kind.name}"] = f"{server.how}, ready after {time.monotonic() - began:.1f} s"
        yield server
    finally:
        server.close()


def _skip_without_java(kind: Kind) -> None:
    """Skip what a machine that is set up by install-for-ci.sh need not have: a Java for the newer servers."""
    if kind is not ELASTICSEARCH_7:
        try:
            java.find(kind.java)
        except UnavailableError as error:
            pytest.skip(f"{kind} as a process: {error}")


@pytest.fixture
def own_cluster() -> Iterator[Callable[..., list[LocalServer]]]:
    """Start a cluster whose nodes the test may stop and kill; takes the arguments of ``cluster``."""
    with ExitStack() as stack:
        yield lambda *arguments, **options: _by_process(lambda: stack.enter_context(cluster(*arguments, **options)))


@pytest.fixture(scope="session", params=[ELASTICSEARCH_7, ELASTICSEARCH_9], ids=lambda kind: f"secured-{kind.name}")
def _secured(request: pytest.FixtureRequest) -> Iterator[SecuredServer]:
    kind, began = request.param, time.monotonic()
    _skip_without_java(kind)
    server = _by_process(lambda: SecuredServer(kind, {**ROLES, **LESSER}))
    try:
        server.start()
        _report[f"secured {kind.name}"] = f"{server.how}, ready after {time.monotonic() - began:.1f} s"
        yield server
    finally:
        server.close()


@pytest.fixture
def secured(_secured: SecuredServer) -> Iterator[SecuredServer]:
    """Elasticsearch with TLS and a user for each role of the page on security; all that is logged is looked at."""
    level = logging.root.level
    logging.root.setLevel(logging.DEBUG)
    yield _secured
    logging.root.setLevel(level)


@pytest.fixture
def make_key(secured: SecuredServer) -> Callable[..., dict[str, str]]:
    """Make API keys of the secured server; takes a name and a role."""
    if secured.without_keys:
        _missing(secured.without_keys)
    return secured.make_key


def _by_process(make):
    if "processes" not in allowed_ways():
        _missing("processes: not in CPTW_TEST_SERVERS_BY")
    try:
        return make()
    except UnavailableError as error:
        _missing(f"processes: {error}")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how each server was had, or why not, and where a secret showed."""
    if _report:
        terminalreporter.section("servers")
        for name, line in _report.items():
            terminalreporter.line(f"{name}: {line}")
    if secrets.leaks:
        terminalreporter.section("secrets")
        for line in secrets.leaks:
            terminalreporter.line(line, red=True)


# Secrets show nowhere: not in what anybody logs, not in what pytest reports ---------------------------------------------


@pytest.fixture(scope="session", autouse=True)
def _watched() -> Iterator[None]:
    watcher = secrets.Watcher()
    logging.root.addHandler(watcher)
    yield
    logging.root.removeHandler(watcher)


@pytest.fixture(autouse=True)
def _no_secret_in_a_log(_watched: None) -> Iterator[None]:
    n_before = len(secrets.leaks)
    yield
    assert secrets.leaks[n_before:] == []


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    text = "\n".join([report.longreprtext, *(content for _, content in report.sections)])
    secrets.leaks.extend(f"the report of {report.nodeid} shows {name}" for name in sorted(secrets.found_in(text)))


def pytest_sessionfinish(session: pytest.Session) -> None:
    if secrets.leaks and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
