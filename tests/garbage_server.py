"""A tiny HTTP server that answers what a test wants: for errors that no real server makes on demand."""

import contextlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ELASTIC = {"X-Elastic-Product": "Elasticsearch"}
ROOT = {"version": {"number": "8.19.0"}}


class Answers:
    """Maps paths to (status, headers, body); keeps what was asked."""

    def __init__(self):
        self.by_path = {"/": (200, ELASTIC, ROOT)}
        self.asked = []
        self.url = ""
        self.every = None  # takes a request and gives (status, headers, body), in place of by_path

    def answer(self, path, status, body, headers=ELASTIC, cut=False):
        self.by_path[path] = (status, {**headers, **({"cut": "1"} if cut else {})}, body)


@contextlib.contextmanager
def garbage_server():
    answers = Answers()

    class Handler(BaseHTTPRequestHandler):
        def respond(self):
            length = int(self.headers.get("content-length") or 0)
            answers.asked.append((self.command, self.path, dict(self.headers), self.rfile.read(length)))
            if answers.every is not None:
                status, headers, body = answers.every(answers.asked[-1])
            else:
                path = self.path.partition("?")[0]
                status, headers, body = answers.by_path.get(path, (404, ELASTIC, {"error": "none"}))
            if callable(body):
                status, body = body(answers.asked[-1])
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            headers = {"content-type": "application/json", **headers}
            is_cut = headers.pop("cut", None)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(data) + (10 if is_cut else 0)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)
            if is_cut:
                self.close_connection = True

        do_GET = do_POST = do_PUT = do_HEAD = do_DELETE = respond  # noqa: N815

        def log_message(self, *_arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    answers.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield answers
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
