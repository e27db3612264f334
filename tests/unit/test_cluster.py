"""Settings, names and errors of the connection; the server here is a tiny one that answers garbage."""

import base64
import logging
import pickle
import socket
import threading
import traceback
import warnings

import pytest
from garbage_server import garbage_server

from cptw_search.cluster import check_field_name, check_index_name, connect, make_path
from cptw_search.cluster_settings import resolve_settings
from cptw_search.errors import (
    AccessDeniedError,
    ClusterConnectionError,
    ClusterError,
    InvalidInputError,
    LoadError,
    MissingIndexError,
    RejectedError,
)

CERTIFICATE = """\
-----BEGIN CERTIFICATE-----
MIIBXjCCAQSgAwIBAgIUYsrWLFV8/mjWqbItlXHJ0LZJHbkwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJY3B0dy10ZXN0MCAXDTI2MTExNjA4MTYwMFoYDzIxMjYxMDIz
MDgxNjAwWjAUMRIwEAYDVQQDDAljcHR3LXRlc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAATyniVZiitN6ZlHTw9bz2cF+EMNSRF+Rnhq46BBA/xgajs9XHYgKrRd
j5GBYGfTW2FTZu71EbJ/bCGpUam2Dl5LozIwMDAPBgNVHRMBAf8EBTADAQH/MB0G
A1UdDgQWBBRVgoZO3Cx7NTVgYWUvFAt5+dYdEjAKBggqhkjOPQQDAgNIADBFAiEA
mrPEOsM8hGuObD4rbxmJtLfC6oL5Vw57yBQPoucCcbgCIFqh+cPCJb/IzFY9oUlB
URrjsNJ7OA9UQ06p3s1gEVc7
-----END CERTIFICATE-----
"""  # made for this test; its key was thrown away
OPENSEARCH = {"X-OpenSearch-Version": "OpenSearch/3.6.0 (opensearch)"}


@pytest.fixture
def server():
    with garbage_server() as answers:
        yield answers


@pytest.fixture(params=["elasticsearch", "opensearch"])
def either(request, server):
    if request.param == "opensearch":
        server.answer("/", 200, {"version": {"number": "3.6.0", "distribution": "opensearch"}}, OPENSEARCH)
    return server


@pytest.fixture(autouse=True)
def no_settings(monkeypatch):
    for name in ("URL", "API_KEY", "USERNAME", "PASSWORD", "BEARER_TOKEN", "CA_FILE", "CLOUD_ID", "CONFIG_FILE"):
        monkeypatch.delenv(f"CPTW_{name}", raising=False)


def settings(config_file=None, **arguments):
    return resolve_settings(arguments, config_file)


class TestNames:
    @pytest.mark.parametrize("name", ["news", "news-2026.11", "nachrichten-ü", "a" * 255, ".hidden"])
    def test_good_indices(self, name):
        assert check_index_name(name) == name

    @pytest.mark.parametrize(
        "name",
        [
            *("", ".", "..", "News", "-a", "_a", "+a", "a" * 256, "ü" * 128, "\ud800", None, 7, "a/../_all", "a\n"),
            *(f"a{character}b" for character in ' /\\*?"<>|,#:\t\0'),
        ],
    )
    def test_bad_indices(self, name):
        with pytest.raises(InvalidInputError, match="The name of an index must be in small letters"):
            check_index_name(name)

    @pytest.mark.parametrize("name", ["text", "author.name", "ein feld"])
    def test_good_fields(self, name):
        assert check_field_name(name) == name

    @pytest.mark.parametrize("name", ["", "_id", "a..b", ".a", "a.", "a*", "a\n", " ", "\ud800", None, 3])
    def test_bad_fields(self, name):
        with pytest.raises(InvalidInputError, match="The name of a field must be a string"):
            check_field_name(name)

    def test_paths_are_encoded(self):
        assert make_path("a", "_doc", "ü/ 1?&#%") == "/a/_doc/%C3%BC%2F%201%3F%26%23%25"
        for segment in ("", "..", "\ud800"):
            with pytest.raises(InvalidInputError, match="must not be empty"):
                make_path("a", segment)

    def test_a_path_that_was_not_made_by_make_path_is_refused(self, server):
        with connect(server.url) as client:
            for path in ["a", "/a b", "/a?x=1", "/a#b", "/a/../b", "//a", "/a\n"]:
                with pytest.raises(InvalidInputError, match="must be made by make_path"):
                    client.request("GET", path)


class TestSettings:
    def test_arguments_come_first_then_environment_then_file(self, monkeypatch, tmp_path):
        file = tmp_path / "cptw.ini"
        file.write_text("[cluster]\nurl = https://file:1\napi_key = from%file\n")
        file.chmod(0o600)
        assert settings(str(file)).urls == ("https://file:1",)
        assert settings(str(file)).authorization == "ApiKey from%file"
        monkeypatch.setenv("CPTW_CONFIG_FILE", str(file))
        assert settings().urls == ("https://file:1",)
        monkeypatch.setenv("CPTW_URL", "https://environment:2/es/")
        monkeypatch.setenv("CPTW_BEARER_TOKEN", "token")
        assert settings().urls == ("https://environment:2/es",)
        assert settings().authorization == "Bearer token"  # not the key of the file as well
        given = settings(url="https://a:3,https://b:4", username="u", password="p:ä")  # noqa: S106
        assert given.urls == ("https://a:3", "https://b:4")
        assert given.authorization == "Basic " + base64.b64encode("u:p:ä".encode()).decode()

    def test_keys_may_be_encoded_or_not(self):
        encoded = base64.b64encode(b"id:secret").decode()
        assert settings(url="https://a", api_key="id:secret").authorization == f"ApiKey {encoded}"
        assert settings(url="https://a", api_key=encoded).authorization == f"ApiKey {encoded}"

    def test_ports(self):
        assert settings(url="http://localhost").urls == ("http://localhost:9200",)
        assert settings(url="https://a").urls == ("https://a:443",)
        assert settings(url="http://[::1]:1").urls == ("http://[::1]:1",)

    def test_a_login_may_stand_in_the_url(self):
        found = settings(url="https://user:p%40ss@host:9200")
        assert found.urls == ("https://host:9200",)
        assert found.authorization == "Basic " + base64.b64encode(b"user:p@ss").decode()
        with pytest.raises(InvalidInputError, match="The login must be given once") as caught:
            settings(url="https://user:hunter2@host", api_key="k3y")
        assert "hunter2" not in str(caught.value)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({}, "needs either a url or a cloud_id: .* Got neither"),
            ({"url": "https://a", "cloud_id": "b"}, "Got both"),
            ({"url": "ftp://user:hunter2@a"}, "scheme 'ftp'"),
            ({"url": "localhost:9200"}, "must be like https://host:9200"),
            ({"url": "http://"}, "must be like https://host:9200"),
            ({"url": "http://user:hunter2@host:port"}, "something that is no URL"),
            ({"url": "http://a?b=hunter2"}, "must be like https://host:9200"),
            ({"url": ""}, "url must be a string of printable characters"),
            ({"url": "https://a", "api_key": "hunter2\n"}, "api_key must be a string of printable characters"),
            ({"url": "https://a", "username": "u"}, "a username with its password. Got username"),
            ({"url": "https://a", "api_key": "hunter2", "bearer_token": "hunter2"}, "Got api_key, bearer_token"),
            ({"url": "https://a", "ca_file": "nosuch.pem"}, "ca_file must be a file of certificates"),
            ({"url": "https://user:12/hunter2@a"}, "has to be written %2F"),
        ],
    )
    def test_what_cannot_be_used(self, arguments, message):
        with pytest.raises(InvalidInputError, match=message) as caught:
            settings(**arguments)
        assert "hunter2" not in "".join(traceback.format_exception(caught.value))

    def test_certificates_are_for_encrypted_connections(self, tmp_path):
        file = tmp_path / "ca.pem"
        file.write_text(CERTIFICATE)
        assert settings(url="https://a", ca_file=str(file)).ca_file == str(file)
        with pytest.raises(InvalidInputError, match="ca_file is for encrypted connections. Got it with http://a:9200"):
            settings(url="http://a", ca_file=str(file))

    def test_every_form_of_a_secret_is_taken_out(self):
        encoded = base64.b64encode(b"the-id:hunter2").decode()
        for key in ("the-id:hunter2", encoded):
            found = settings(url="https://a", api_key=key)
            assert found.redact(f"hunter2 {encoded} the-id:hunter2 the-id") == "*** *** *** the-id"
        assert settings(url="https://a", api_key="no/base64").redact("no/base64") == "***"
        assert settings(url="https://user@a").redact("a user without a password") == "a user without a password"

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("url = https://a\npassword hunter2", "must be an INI file"),
            ("[cluster]\npassword hunter2", "must be an INI file"),
            ("[other]\npassword = hunter2", r"must have a section \[cluster\]"),
            ("[cluster]\npasswort = hunter2", "may hold url, .* Got passwort"),
            ("\x80", "must be an INI file"),
        ],
    )
    def test_bad_files(self, tmp_path, content, message):
        file = tmp_path / "cptw.ini"
        file.write_text(content, encoding="latin-1")
        with pytest.raises(InvalidInputError, match=message) as caught:
            settings(str(file))
        assert "hunter2" not in "".join(traceback.format_exception(caught.value))
        with pytest.raises(InvalidInputError, match="cannot be read: No such file"):
            settings(str(tmp_path / "nosuch"))

    def test_a_file_that_others_may_read_is_warned_of(self, tmp_path):
        file = tmp_path / "cptw.ini"
        file.write_text("[cluster]\nurl = https://a\nusername = u\npassword = hunter2\n")
        file.chmod(0o644)
        with pytest.warns(UserWarning, match="other users of this machine may read") as caught:
            settings(str(file))
        assert "hunter2" not in str(caught[0].message)

    def test_a_login_without_encryption_is_warned_of(self):
        with pytest.warns(UserWarning, match="The login for http://example.org:9200 is sent unencrypted") as caught:
            settings(url="http://u:hunter2@example.org")
        assert "hunter2" not in str(caught[0].message)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for url in ["http://localhost", "http://127.0.0.1", "http://[::1]:2", "http://a.localhost", "https://a"]:
                settings(url=url, api_key="hunter2")

    @pytest.mark.parametrize("timeout", [0, -1, "30", None, True, float("inf")])
    def test_timeouts(self, timeout):
        with pytest.raises(InvalidInputError, match="timeout must be a number of seconds > 0"):
            connect("http://localhost:9", timeout=timeout)

    def test_a_bad_cloud_id_or_certificate(self, tmp_path):
        with pytest.raises(InvalidInputError, match="The client cannot be made"):
            connect(cloud_id="nonsense")
        file = tmp_path / "ca.pem"
        file.write_text("no certificate")
        with pytest.raises(InvalidInputError, match="ca_file must be a file of certificates"):
            connect("https://localhost:9", ca_file=str(file))


class TestWhoAnswers:
    def test_products_and_versions(self, server):
        with connect(server.url) as client:
            assert (client.product, client.version) == ("elasticsearch", (8, 19, 0))
        server.answer("/", 200, {"version": {"number": "2.11.1", "distribution": "opensearch"}}, {})
        with connect(server.url) as client:
            assert (client.product, client.version) == ("opensearch", (2, 11, 1))
            assert repr(client) == f"<ClusterClient: opensearch 2.11.1 at {server.url}>"

    def test_a_server_without_root(self, server):
        server.answer("/", 405, {"error": "Incorrect HTTP method"})
        server.answer("/_nodes/_local", 200, {"nodes": {"a": {"version": "9.5.3"}}})
        with connect(server.url) as client:
            assert client.version == (9, 5, 3)

    @pytest.mark.parametrize(
        ("status", "body", "headers", "message"),
        [
            (
                200,
                b"<html>Welcome to nginx</html>",
                {"content-type": "text/html"},
                "neither Elasticsearch nor OpenSearch",
            ),
            (200, {"couchdb": "Welcome"}, {}, "neither Elasticsearch nor OpenSearch"),
            (200, [], {}, "neither Elasticsearch nor OpenSearch"),
            (404, b"", {}, "neither Elasticsearch nor OpenSearch"),
            (
                200,
                {"version": {"number": "6.8.0"}},
                {"X-Elastic-Product": "Elasticsearch"},
                "7.17 or later. It is '6.8.0'",
            ),
            (200, {"version": {"number": 8}}, {"X-Elastic-Product": "Elasticsearch"}, "7.17 or later. It is 8"),
            (200, {"version": {"number": "1.3.0", "distribution": "opensearch"}}, {}, "opensearch 2.0 or later"),
            (200, b"{", {}, "not the JSON that it claims to be"),
        ],
    )
    def test_something_else(self, server, status, body, headers, message):
        server.answer("/", status, body, headers)
        with pytest.raises(ClusterConnectionError, match=message):
            connect(server.url)

    def test_a_login_that_is_refused(self, server):
        server.answer("/", 401, {"error": {"type": "security_exception", "reason": "unable to authenticate hunter2"}})
        with pytest.raises(AccessDeniedError, match=r"refused the login \(401\).*unable to authenticate \*\*\*"):
            connect(server.url, api_key="hunter2")
        with pytest.raises(AccessDeniedError, match=r"refused a request without login \(401\)"):
            connect(server.url)
        server.answer("/", 503, b"Service Unavailable", {"content-type": "text/plain"})
        with pytest.raises(RejectedError, match="Service Unavailable") as caught:
            connect(server.url)
        assert caught.value.is_temporary

    def test_nobody(self):
        with socket.socket() as bound:  # a port that is not listened at
            bound.bind(("127.0.0.1", 0))
            with pytest.raises(
                ClusterConnectionError, match="cannot be reached: is the server running there"
            ) as caught:
                connect(f"http://127.0.0.1:{bound.getsockname()[1]}")
        assert caught.value.is_temporary

    def test_somebody_who_hangs_up(self):
        with socket.create_server(("127.0.0.1", 0)) as listening:

            def hang_up():
                connection = listening.accept()[0]
                connection.recv(10_000)
                connection.close()

            thread = threading.Thread(target=hang_up)
            thread.start()
            message = "closed the connection without an answer. If it speaks TLS, the url must begin with https:"
            with pytest.raises(ClusterConnectionError, match=message) as caught:
                connect(f"http://127.0.0.1:{listening.getsockname()[1]}")
            thread.join()
        assert caught.value.is_temporary

    def test_tls_to_a_server_without(self, server):
        with pytest.raises(ClusterConnectionError, match=r"does it speak TLS\? The reason: .*SSL") as caught:
            connect(server.url.replace("http:", "https:"))
        assert not caught.value.is_temporary

    def test_the_next_node_is_asked_where_one_is_dead(self, server):
        with socket.socket() as bound:
            bound.bind(("127.0.0.1", 0))
            dead = f"http://127.0.0.1:{bound.getsockname()[1]}"
            with connect(f"{dead},{server.url}") as client:
                assert client.version == (8, 19, 0)


class TestAnswers:
    def test_json_in_and_out(self, either):
        either.answer("/a/_x", 200, {"ü": 1})
        with connect(either.url, api_key="hunter2") as client:
            params = {"flag": True, "list": ["a", "b"], "n": 3, "p": "nodes.*.x&"}
            assert client.request("POST", "/a/_x", body={"q": "ü"}, params=params, headers={"x-y": "z"}) == {"ü": 1}
            method, path, headers, body = either.asked[-1]
            assert (method, body) == ("POST", '{"q":"ü"}'.encode())
            assert path == "/a/_x?flag=true&list=a,b&n=3&p=nodes.*.x%26"
            lowered = {name.lower(): value for name, value in headers.items()}
            assert lowered["authorization"] == "ApiKey hunter2"
            assert (lowered["content-type"], lowered["x-y"]) == ("application/json", "z")
            assert client.send_lines("/a/_x", b"{}\n{}\n", params={"a": 1}) == {"ü": 1}
            _, _, headers, body = either.asked[-1]
            assert body == b"{}\n{}\n"
            assert {name.lower(): value for name, value in headers.items()}["content-type"] == "application/x-ndjson"
            assert client.request("HEAD", "/a/_x") is True
            assert client.request("HEAD", "/b") is False
            for body in [{1, 2}, float("nan"), "\ud800"]:
                with pytest.raises(InvalidInputError, match="The body of a request must be JSON"):
                    client.request("POST", "/a/_x", body=body)

    @pytest.mark.parametrize(
        ("status", "body", "error", "message"),
        [
            (401, {"error": "no"}, AccessDeniedError, "refused"),
            (403, {"error": {"type": "security_exception", "reason": "no"}}, AccessDeniedError, "may not do GET /a"),
            (403, {"error": {"type": "cluster_block_exception", "reason": "read-only"}}, RejectedError, "read-only"),
            (
                404,
                {"error": {"type": "index_not_found_exception", "reason": "no a"}},
                MissingIndexError,
                "no such index",
            ),
            (404, {"error": "alias [a] missing", "status": 404}, MissingIndexError, "alias .a. missing"),
            (404, {"error": "other"}, RejectedError, r"refused GET /a \(404\)"),
            (
                400,
                {"error": {"type": "x", "reason": "y", "caused_by": {"type": "z", "reason": "why"}}},
                RejectedError,
                "why",
            ),
            (400, {"error": None}, RejectedError, "It says: nothing"),
            (413, b"", RejectedError, "413"),
        ],
    )
    def test_refusals(self, either, status, body, error, message):
        with connect(either.url) as client:
            either.answer("/a", status, body)
            with pytest.raises(error, match=message) as caught:
                client.request("GET", "/a")
        assert not caught.value.is_temporary
        if error is RejectedError:
            assert caught.value.status == status

    @pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
    def test_refusals_for_now(self, either, status):
        with connect(either.url) as client:
            either.answer("/a", status, b"<html><b>Bad</b> gateway", {"content-type": "text/html"})
            with pytest.raises(RejectedError, match="Bad gateway") as caught:
                client.request("GET", "/a")
        assert caught.value.is_temporary
        assert caught.value.status == status

    def test_a_document_that_is_not_there_is_an_answer(self, either):
        with connect(either.url) as client:
            either.answer("/a/_doc/1", 404, {"_id": "1", "found": False})
            assert client.request("GET", "/a/_doc/1")["found"] is False

    @pytest.mark.parametrize(
        ("body", "headers", "cut"),
        [
            (b'{"took": 3, "hits', {}, False),
            (b'{"took": 3}', {}, True),
            (b"\xff\xfe", {}, False),
            (b"<html>", {"content-type": "text/html"}, False),
            (b"", {}, False),
            (b"3", {}, False),
        ],
    )
    def test_answers_that_are_not_what_they_should_be(self, either, body, headers, cut):
        with connect(either.url) as client:
            either.answer("/a", 200, body, headers, cut=cut)
            with pytest.raises(ClusterConnectionError, match="JSON|cannot be reached"):
                client.request("GET", "/a")

    def test_an_answer_that_does_not_come(self, either):
        with connect(either.url) as client:
            with socket.socket() as listening:
                listening.bind(("127.0.0.1", 0))
                listening.listen()
                with pytest.raises(ClusterConnectionError, match="did not answer within 0.2 seconds") as caught:
                    connect(f"http://127.0.0.1:{listening.getsockname()[1]}", timeout=0.2)
            assert caught.value.is_temporary
            client.close()


class TestAbilities:
    def test_field_types(self, either):
        with connect(either.url) as client:
            newer = {"sparse_vector"} if client.product == "elasticsearch" else set()
            assert client.field_types() == {"rank_features"} | newer  # where modules are hidden
            modules = {"nodes": {"a": {"modules": [{"name": "mapper-extras"}]}, "b": {"modules": [{"name": "x"}]}}}
            either.answer("/_nodes/_all/plugins", 200, modules)
            assert client.field_types() == newer

    def test_clauses(self, server):
        with connect(server.url) as client:
            assert client.max_clause_count() == 1024  # where it is hidden
            server.answer("/_nodes/_all/jvm", 200, {"nodes": {"a": {"jvm": {"mem": {"heap_max_in_bytes": 2**29}}}}})
            server.answer("/_nodes/_all/thread_pool", 200, {"nodes": {"a": {"thread_pool": {"search": {"size": 4}}}}})
            assert client.max_clause_count() == 512 * 64 // 4
        server.answer("/", 200, {"version": {"number": "7.17.0"}})
        clauses = {"indices": {"query": {"bool": {"max_clause_count": "2048"}}}}
        with connect(server.url) as client:
            server.answer("/_cluster/settings", 200, {"defaults": clauses})
            assert client.max_clause_count() == 2048
            server.answer("/_cluster/settings", 200, {"defaults": {}})
            assert client.max_clause_count() == 1024

    def test_length_of_requests(self, server):
        with connect(server.url) as client:
            assert client.max_content_length() == 100 * 1024**2
            server.answer("/_nodes/_all/http", 200, {"nodes": {"a": {"http": {"max_content_length_in_bytes": 7}}}})
            assert client.max_content_length() == 7


@pytest.mark.parametrize(
    "login", [{"api_key": "hunter2"}, {"bearer_token": "hunter2"}, {"username": "u", "password": "hunter2"}]
)
def test_secrets_show_nowhere(either, login, caplog):
    caplog.set_level(logging.DEBUG)
    encoded = base64.b64encode(b"u:hunter2").decode() if "username" in login else ""
    with connect(either.url, **login) as client:
        shown = repr(client) + repr(client._settings)
        with pytest.raises(ClusterError, match="refused") as caught:
            client.request("POST", "/b", body={})
        shown += "".join(traceback.format_exception(caught.value))
        caplog.set_level(logging.INFO)  # what a server answers is in the vendors' log of all details, whatever it is
        either.answer("/a", 400, {"error": {"type": "echo", "reason": f"you said hunter2 {encoded}"}})
        with pytest.raises(ClusterError, match=r"you said \*\*\*") as caught:
            client.request("POST", "/a", body={})
        shown += "".join(traceback.format_exception(caught.value))
    either.answer("/", 200, b"<html>")
    with pytest.raises(ClusterError, match="JSON|neither") as caught:
        connect(either.url, **login)
    shown += "".join(traceback.format_exception(caught.value)) + caplog.text
    assert "hunter2" not in shown
    assert not encoded or encoded not in shown


def test_errors_survive_pickling():
    for error in (
        RejectedError("m", status=429, reason="r"),
        LoadError("m", index="i", n_indexed=3),
        ClusterConnectionError("m", is_temporary=True),
    ):
        copy = pickle.loads(pickle.dumps(error))  # noqa: S301
        assert (type(copy), copy.args, copy.__dict__) == (type(error), error.args, error.__dict__)
