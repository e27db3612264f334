"""Logins and TLS on real servers with security switched on."""

import base64
import contextlib
import logging
import subprocess
import sys

import pytest
from servers import secrets
from servers.certificates import Authority
from servers.roles import ROLES

from cptw_search.cluster import connect
from cptw_search.errors import AccessDeniedError, ClusterConnectionError, ClusterError, InvalidInputError

pytestmark = pytest.mark.servers

SHOW_ARGUMENTS = """
import os, sys
from pathlib import Path
from cptw_search.cluster import connect
with connect() as client:
    print(client)
    title = Path(f"/proc/{os.getpid()}/cmdline")
    print(title.read_bytes() if title.exists() else sys.argv)
"""


@contextlib.contextmanager
def refused(error, match):
    """An error of ours in one line, without a secret in it or in any error behind it."""
    with pytest.raises(error, match=match) as caught:
        yield
    assert "\n" not in str(caught.value)
    assert not secrets.found_in_error(caught.value)


@pytest.fixture(autouse=True)
def no_settings(monkeypatch):
    for name in ("URL", "API_KEY", "USERNAME", "PASSWORD", "BEARER_TOKEN", "CA_FILE", "CLOUD_ID", "CONFIG_FILE"):
        monkeypatch.delenv(f"CPTW_{name}", raising=False)


def check(server, **login):
    """Log in, ask something, and see that nothing of the login shows."""
    with connect(server.url, ca_file=server.ca_file, **login) as client:
        assert ".".join(map(str, client.version)) == server.version
        assert client.request("GET", "/_cluster/health")["number_of_nodes"] == 1
        assert not secrets.found_in(repr(client) + repr(client._settings) + repr(client._transport))


class TestLogins:
    def test_a_user_and_a_password(self, secured):
        login = secured.login("cptw_searcher")
        check(secured, username=login["username"], password=login["password"])
        wrong = secrets.new("a wrong password", "cptw_searcher")
        with refused(AccessDeniedError, r"refused the login \(401\)"):
            connect(**{**login, "password": wrong})
        with refused(AccessDeniedError, r"refused the login \(401\)"):
            connect(**{**login, "username": "nobody"})

    def test_no_login_at_all(self, secured):
        with refused(AccessDeniedError, r"refused a request without login \(401\)"):
            connect(secured.url, ca_file=secured.ca_file)

    def test_a_login_in_the_url(self, secured):
        login = secured.login("cptw_searcher")
        url = secured.url.replace("://", f"://{login['username']}:{login['password']}@")
        with connect(url, ca_file=secured.ca_file) as client:
            assert secured.url in repr(client)
            assert not secrets.found_in(repr(client))

    def test_an_api_key_encoded_or_not(self, secured, make_key):
        key = make_key("reader", ROLES["cptw_searcher"])
        plain = f"{key['id']}:{key['api_key']}"
        encoded = base64.b64encode(plain.encode()).decode()
        check(secured, api_key=plain)
        check(secured, api_key=encoded)
        wrong = f"{key['id']}:{secrets.new('a wrong key', key['id'])}"
        with refused(AccessDeniedError, r"refused the login \(401\)"):
            connect(secured.url, ca_file=secured.ca_file, api_key=wrong)

    def test_a_key_that_is_taken_back(self, secured, make_key):
        key = make_key("short-lived", ROLES["cptw_searcher"])
        with connect(secured.url, ca_file=secured.ca_file, api_key=f"{key['id']}:{key['api_key']}") as client:
            client.request("GET", "/_cluster/health")
            secured.ask("DELETE", "/_security/api_key", {"ids": [key["id"]]})
            with refused(AccessDeniedError, r"refused the login \(401\)"):
                client.request("GET", "/_cluster/health")

    def test_a_bearer_token(self, secured):
        check(secured, bearer_token=secured.bearer_token)
        wrong = base64.b64encode(base64.b64decode(secured.bearer_token)[:-6] + b"wrong!").decode()
        secrets.known("a wrong token", wrong)
        with refused(AccessDeniedError, r"refused the login \(401\)"):
            connect(secured.url, ca_file=secured.ca_file, bearer_token=wrong)

    def test_from_the_environment_and_a_file(self, secured, monkeypatch, tmp_path):
        login = secured.login("cptw_indexer")
        monkeypatch.setenv("CPTW_URL", secured.url)
        monkeypatch.setenv("CPTW_CA_FILE", secured.ca_file)
        with refused(AccessDeniedError, "a request without login"):
            connect()
        file = tmp_path / "cptw.ini"
        file.touch(0o600)
        file.write_text(f"[cluster]\nusername = {login['username']}\npassword = {login['password']}\n")
        connect(config_file=file).close()
        wrong = secrets.new("a wrong key in the environment")
        monkeypatch.setenv("CPTW_API_KEY", wrong)  # comes before the file
        with refused(AccessDeniedError, r"refused the login \(401\)"):
            connect(config_file=file)

    def test_the_title_of_a_process_has_no_secret(self, secured, monkeypatch):
        for name, value in secured.login("cptw_searcher").items():
            monkeypatch.setenv(f"CPTW_{name.upper()}", value)
        done = subprocess.run([sys.executable, "-c", SHOW_ARGUMENTS], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert "ClusterClient: elasticsearch" in done.stdout
        assert not secrets.found_in(done.stdout + done.stderr)


class TestTls:
    def test_an_authority_that_is_not_known(self, secured, tmp_path):
        login = secured.login("cptw_searcher")
        del login["ca_file"]
        with refused(ClusterConnectionError, "is not trusted. Give the file of the certificate .* as ca_file"):
            connect(**login)
        other = Authority(tmp_path)
        with refused(ClusterConnectionError, "is not trusted. Give the file of the certificate .* as ca_file"):
            connect(**login, ca_file=str(other.certificate))

    def test_a_certificate_for_another_name(self, secured):
        login = {**secured.login("cptw_searcher"), "url": secured.url.replace("127.0.0.1", "localhost")}
        with refused(ClusterConnectionError, "was made for another name"):
            connect(**login)

    def test_plain_http_to_a_port_with_tls(self, secured):
        login = {**secured.login("cptw_searcher"), "url": secured.url.replace("https:", "http:")}
        with refused(InvalidInputError, "ca_file is for encrypted connections. .* let the url begin with https:"):
            connect(**login)
        del login["ca_file"]
        with refused(ClusterConnectionError, "If it speaks TLS, the url must begin with https:"):
            connect(**login)

    def test_tls_to_a_port_without(self, elasticsearch7, secured):
        login = {**secured.login("cptw_searcher"), "url": elasticsearch7.url.replace("http:", "https:")}
        with refused(ClusterConnectionError, "could be made: does it speak TLS"):
            connect(**login)


def test_what_a_server_says_of_a_login_is_redacted(secured):
    """The name of the user is in the server's words, the password must not be."""
    with refused(ClusterError, "cptw_searcher"), connect(**secured.login("cptw_searcher")) as client:
        client.request("PUT", "/_cluster/settings", body={"persistent": {"indices.recovery.max_bytes_per_sec": "50mb"}})


class TestTheWatch:
    """The checks of ``conftest.py`` would see a secret."""

    def test_a_secret_in_a_log_is_seen(self, monkeypatch):
        monkeypatch.setattr(secrets, "leaks", [])
        secret = secrets.new("a secret of this test", "user")
        login = base64.b64encode(f"user:{secret}".encode()).decode()
        logger = logging.getLogger("somebody.else")
        watcher = secrets.Watcher()
        logger.addHandler(watcher)
        logger.propagate = False
        try:
            logger.error("nothing to see")
            assert secrets.leaks == []
            logger.error("logged in with %s", secret)
            logger.error("a header", extra={"x": 1}, exc_info=ValueError(login))
        finally:
            logger.removeHandler(watcher)
        assert secrets.leaks == [
            "the log of somebody.else (ERROR) shows a secret of this test",
            "the log of somebody.else (ERROR) shows a secret of this test, as a login",
        ]

    def test_a_secret_behind_an_error_is_seen(self):
        secret = secrets.new("another secret of this test")
        error = ClusterError("something harmless")
        error.__context__, error.__suppress_context__ = ValueError(secret), True
        assert secrets.found_in_error(error) == {"another secret of this test"}
