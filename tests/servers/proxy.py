"""A proxy between client and server that makes what networks and gateways make: busy, slow, cut and changed answers.

::

    with proxy_to(server.url) as proxy, connect(proxy.url) as client:
        proxy.spoil(cut_answer, "/_bulk", times=2)
"""

import contextlib
import http.client
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

KEPT_HEADERS = ("content-type", "x-elastic-product", "x-opensearch-version")


@dataclass(frozen=True)
class Answer:
    """What the server answered, or what is told in its place."""

    status: int
    headers: dict[str, str]
    body: bytes


class Exchange:
    """One request on its way; a fault decides what becomes of it."""

    def __init__(self, handler: BaseHTTPRequestHandler, proxy: "Proxy") -> None:
        self._handler = handler
        self._proxy = proxy
        self.n_bytes = int(handler.headers.get("content-length") or 0)

    def forward(self) -> Answer:
        """Give the request to the server."""
        body = self._handler.rfile.read(self.n_bytes)
        upstream = http.client.HTTPConnection(self._proxy.host, timeout=120)
        with contextlib.closing(upstream):
            skipped = ("host", "connection", "accept-encoding")
            headers = {name: value for name, value in self._handler.headers.items() if name.lower() not in skipped}
            upstream.request(self._handler.command, self._handler.path, body or None, headers)
            answer = upstream.getresponse()
            kept = {name: value for name, value in answer.getheaders() if name.lower() in KEPT_HEADERS}
            return Answer(answer.status, kept, answer.read())

    def swallow(self, n_bytes: int) -> None:
        """Read so much of the request and give it to nobody."""
        self._handler.rfile.read(n_bytes)

    def answer(self, answer: Answer, n_bytes: int | None = None) -> None:
        """Answer the client, with so many bytes of the body where they are given and the length of all of them."""
        handler = self._handler
        handler.send_response(answer.status)
        for name, value in answer.headers.items():
            handler.send_header(name, value)
        handler.send_header("content-length", str(len(answer.body)))
        handler.end_headers()
        if handler.command != "HEAD":
            handler.wfile.write(answer.body[:n_bytes])
            handler.wfile.flush()

    def hang_up(self) -> None:
        """Close the connection to the client."""
        self._handler.close_connection = True

    def wait(self, seconds: float) -> None:
        """Let the client wait; ends with the proxy."""
        self._proxy.closing.wait(seconds)


Fault = Callable[[Exchange], None]


def refuse(status: int) -> Fault:
    """Answer with a status, as a gateway does that lets nothing through."""

    def fault(exchange: Exchange) -> None:
        exchange.swallow(exchange.n_bytes)
        exchange.answer(Answer(status, {"content-type": "application/json"}, b'{"error": {"reason": "not now"}}'))

    return fault


def lose(status: int) -> Fault:
    """Let the server do it and answer with a status all the same, as a gateway does that has lost the answer."""

    def fault(exchange: Exchange) -> None:
        exchange.forward()
        exchange.answer(Answer(status, {"content-type": "text/html"}, b"<h1>Gateway Time-out</h1>"))

    return fault


def delay(seconds: float) -> Fault:
    """Let the server do it and keep its answer back."""

    def fault(exchange: Exchange) -> None:
        answer = exchange.forward()
        exchange.wait(seconds)
        exchange.answer(answer)

    return fault


def cut_request(exchange: Exchange) -> None:
    """Close the connection in the middle of the request's body: the server does not see it."""
    exchange.swallow(exchange.n_bytes // 2)
    exchange.hang_up()


def cut_answer(exchange: Exchange) -> None:
    """Close the connection in the middle of the answer's body: the server has done it."""
    answer = exchange.forward()
    exchange.answer(answer, n_bytes=len(answer.body) // 2)
    exchange.hang_up()


def truncate(exchange: Exchange) -> None:
    """Give half of the answer as if that were all."""
    answer = exchange.forward()
    exchange.answer(Answer(answer.status, answer.headers, answer.body[: len(answer.body) // 2]))


def replace(body: bytes) -> Fault:
    """Let the server do it and give another body in place of its own, but for errors."""

    def fault(exchange: Exchange) -> None:
        answer = exchange.forward()
        exchange.answer(Answer(answer.status, answer.headers, body if answer.status < 300 else answer.body))

    return fault


@dataclass
class Proxy:
    """A running proxy."""

    host: str
    url: str = ""
    n_spoiled: Counter[str] = field(default_factory=Counter)
    closing: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _rules: dict[str, tuple[Fault, int]] = field(default_factory=dict)

    def spoil(self, fault: Fault, *parts: str, times: int = 1) -> None:
        """Do this to the next requests that have a part in their method and path, so often for each; to no others."""
        with self._lock:
            self._rules = dict.fromkeys(parts, (fault, times))
            self.n_spoiled.clear()

    def take_fault(self, line: str) -> Fault | None:
        """Tell what is done to a request."""
        with self._lock:
            for part, (fault, times) in self._rules.items():
                if part in line and self.n_spoiled[part] < times:
                    self.n_spoiled[part] += 1
                    return fault
        return None


@contextlib.contextmanager
def proxy_to(url: str) -> Iterator[Proxy]:
    """Start a proxy to the server at an address."""
    proxy = Proxy(urlsplit(url).netloc)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"  # connections are kept, as clients and servers do

        def respond(self) -> None:
            exchange = Exchange(self, proxy)
            fault = proxy.take_fault(f"{self.command} {self.path}")
            with contextlib.suppress(ConnectionError):  # the client may have gone
                try:
                    if fault is None:
                        exchange.answer(exchange.forward())
                    else:
                        fault(exchange)
                except OSError:  # the server cannot be reached
                    exchange.hang_up()

        do_GET = do_POST = do_PUT = do_HEAD = do_DELETE = respond  # noqa: N815 - the names are the library's

        def log_message(self, *_arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True  # a thread that reads a kept connection would be waited for
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    proxy.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield proxy
    finally:
        proxy.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()
