"""A server that a test can talk to, however it was had."""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import urllib3
from elasticsearch import Elasticsearch
from opensearchpy import OpenSearch

from servers.errors import StartError
from servers.kinds import Kind

SECONDS_TO_START = 180


@dataclass
class Server:
    """A running server; ``how`` says where it came from."""

    kind: Kind
    url: str
    how: str
    version: str = ""  # where it is not the kind's

    def __post_init__(self) -> None:
        self.version = self.version or self.kind.version

    def client(self, **options: Any) -> Any:
        """Return a raw client of the vendor's."""
        vendor = OpenSearch if self.kind.product == "opensearch" else Elasticsearch
        return vendor(self.url, **options)

    def close(self) -> None:
        """Stop what was started for this server: nothing, where it was there before."""


def is_ready(url: str, n_nodes: int = 1) -> bool:
    """Whether the server answers, in a cluster of so many nodes; one that asks for a login (401) does."""
    health = f"{url.rstrip('/')}/_cluster/health?wait_for_nodes=ge({n_nodes})&timeout=1s"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", urllib3.exceptions.InsecureRequestWarning)  # who it is, is not asked here
        try:
            with urllib3.PoolManager(cert_reqs="CERT_NONE") as pool:  # unlike urllib, past any proxy
                return pool.request("GET", health, retries=False, timeout=5).status in (200, 401)
        except urllib3.exceptions.HTTPError:
            return False


def wait_until_ready(url: str, is_running: Callable[[], bool], log: Callable[[], str], n_nodes: int = 1) -> float:
    """Return the seconds it took; when the server ends or takes too long, raise with the end of its log."""
    began = time.monotonic()
    while not is_ready(url, n_nodes):
        seconds = time.monotonic() - began
        if not is_running() or seconds > SECONDS_TO_START:
            problem = "ended" if not is_running() else "did not answer"
            tail = "\n".join(log().splitlines()[-30:])
            raise StartError(f"the server {problem} after {seconds:.0f} s; the end of its log:\n{tail}")
        time.sleep(0.25)
    return time.monotonic() - began
