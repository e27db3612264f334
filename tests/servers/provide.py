"""The one place that gives a test a server: by the first way that works.

``CPTW_TEST_SERVERS_BY`` names the ways that are allowed, in the order in which they are tried; where it is not set,
``url,containers,processes``.
"""

import os
from urllib.parse import urlsplit

from servers.errors import StartError, UnavailableError
from servers.kinds import Kind
from servers.process import LocalServer
from servers.server import Server, is_ready


def by_url(kind: Kind) -> Server:
    """Take the server whose address is in the environment."""
    url = os.environ.get(kind.url_variable)
    if not url:
        raise UnavailableError(f"{kind.url_variable} is not set")
    parts = urlsplit(url)
    shown = f"{parts.scheme}://{parts.hostname}:{parts.port}"  # without the login
    if not is_ready(url):
        raise UnavailableError(f"{kind.url_variable}, {shown}, does not answer")
    server = Server(kind, url, f"{kind.url_variable}, {shown}")
    with server.client() as client:
        nodes = client.nodes.info(filter_path="nodes.*.version")["nodes"]
    server.version = next(iter(nodes.values()))["version"]
    server.how += f", version {server.version}"
    if tuple(map(int, server.version.split(".")[:2])) < kind.oldest:
        raise UnavailableError(f"{server.how}, is older than {kind.oldest[0]}.{kind.oldest[1]}")
    return server


def by_container(kind: Kind) -> Server:
    """Start a container."""
    try:
        from servers.containers import ContainerServer
    except ImportError as error:
        raise UnavailableError(f"the Python package is missing: {error}") from error
    return ContainerServer(kind)


def by_process(kind: Kind) -> Server:
    """Start a process of this machine."""
    server = LocalServer(kind)
    try:
        server.start()
    except BaseException:
        server.close()
        raise
    return server


WAYS = {"url": by_url, "containers": by_container, "processes": by_process}


def allowed_ways() -> list[str]:
    """Return the names of the ways to try, in order."""
    names = [name.strip() for name in os.environ.get("CPTW_TEST_SERVERS_BY", ",".join(WAYS)).split(",")]
    if unknown := set(names) - set(WAYS):
        raise ValueError(f"CPTW_TEST_SERVERS_BY must name some of {', '.join(WAYS)}, got {', '.join(sorted(unknown))}")
    return names


def provide(kind: Kind, ways: tuple[str, ...] = tuple(WAYS)) -> Server:
    """Return a server that answers, or raise with all that was tried."""
    tried = []
    for name in allowed_ways():
        if name in ways:
            try:
                return WAYS[name](kind)
            except (UnavailableError, StartError) as error:
                tried.append(f"{name}: {error}")
    left_out = [f"{name}: not in CPTW_TEST_SERVERS_BY" for name in ways if name not in allowed_ways()]
    raise UnavailableError(f"no {kind} here. " + "; ".join(tried + left_out))
