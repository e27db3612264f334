"""An Elasticsearch with TLS and users of its own, where nothing goes without a login."""

import base64
import hashlib
import json
import os
import subprocess
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import urllib3

from servers import secrets
from servers.certificates import Authority
from servers.errors import UnavailableError
from servers.kinds import Kind
from servers.process import LocalServer

SERVICE = "elastic/fleet-server"  # an account that every server has: tokens for it can be made by a file

DESCRIPTOR = """\
name=email-analysis
description=What the index of the security module asks for
classname=EmailAnalysis
version={version}
elasticsearch.version={version}
java.version={java}
extended.plugins=
has.native.controller=false
{isolated}"""


class SecuredServer(LocalServer):
    """A server with the given roles, a user of the same name in each, and ``admin``, who may do anything."""

    def __init__(self, kind: Kind, roles: Mapping[str, Mapping[str, Any]]) -> None:
        tls = {"enabled": True, "key": "certs/server.key", "certificate": "certs/server.crt"}
        settings = {f"xpack.security.{where}.ssl.{name}": value for where in _LAYERS for name, value in tls.items()}
        settings["xpack.security.transport.ssl.certificate_authorities"] = ["certs/ca.crt"]
        super().__init__(
            kind, {"xpack.security.enabled": True, "xpack.security.authc.api_key.enabled": True, **settings}
        )
        try:
            self._prepare(roles)
        except BaseException:
            self.close()
            raise

    def _prepare(self, roles: Mapping[str, Mapping[str, Any]]) -> None:
        config = self.home / "config"
        authority = Authority(config / "certs")
        authority.sign(config / "certs", "IP:127.0.0.1")
        self.ca_file = str(authority.certificate)
        self._passwords = {name: secrets.new(f"the password of {name}", name) for name in ("admin", *roles)}
        _write(config / "users", [f"{name}:{_hashed(password)}" for name, password in self._passwords.items()])
        _write(config / "users_roles", ["superuser:admin", *(f"{name}:{name}" for name in roles)])
        _write(config / "roles.yml", [f"{name}: {json.dumps(role)}" for name, role in roles.items()])
        secret = secrets.new("the secret of the token")
        _write(config / "service_tokens", [f"{SERVICE}/test:{_hashed(secret)}"])
        token = base64.b64encode(b"\x00\x01\x00\x01" + f"{SERVICE}/test:{secret}".encode()).decode()
        self.bearer_token = secrets.known("the token", token)
        try:
            self._add_email_analysis()
            self.without_keys = ""
        except UnavailableError as error:
            self.without_keys = str(error)  # why there are no API keys; all else works

    def login(self, user: str) -> dict[str, str]:
        """Give the arguments of ``connect`` for a user."""
        return {"url": self.url, "ca_file": self.ca_file, "username": user, "password": self._passwords[user]}

    def make_key(self, name: str, role: Mapping[str, Any]) -> dict[str, str]:
        """Let the server make an API key with the rights of a role."""
        made = self.ask("POST", "/_security/api_key", {"name": name, "role_descriptors": {name: role}})
        secrets.known("the secret of the key", made["api_key"], made["id"])
        return {"id": made["id"], "api_key": made["api_key"]}

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """Ask as the admin, by no client of anybody's."""
        headers = urllib3.make_headers(basic_auth=f"admin:{self._passwords['admin']}")
        with urllib3.PoolManager(ca_certs=self.ca_file) as pool:
            sent = None if body is None else json.dumps(body)
            headers["content-type"] = "application/json"
            answer = pool.request(method, self.url + path, body=sent, headers=headers)
        assert answer.status < 300, (method, path, answer.status, answer.data[:500])
        return json.loads(answer.data)

    def _add_email_analysis(self) -> None:
        """Compile what the archive lacks with the server's own Java."""
        source = Path(__file__).with_name("EmailAnalysis.java")
        classes = self.home / "tmp" / "classes"
        java = Path(self.environment["ES_JAVA_HOME"], "bin", "java")
        jars = os.pathsep.join(map(str, sorted((self.home / "lib").glob("*.jar"))))
        command = [java, "-m", "jdk.compiler/com.sun.tools.javac.Main", "-cp", jars, "-d", classes, source]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise UnavailableError(f"API keys need a Java with its compiler: {(done.stderr or done.stdout)[:300]}")
        module = self.home / "modules" / "email-analysis"
        module.mkdir()
        with zipfile.ZipFile(module / "email-analysis.jar", "w") as jar:
            for path in sorted(classes.iterdir()):
                jar.write(path, path.name)
        is_old = self.kind.version.startswith("7.")
        descriptor = DESCRIPTOR.format(
            version=self.kind.version, java="1.8" if is_old else "17", isolated="type=isolated\n" if is_old else ""
        )
        (module / "plugin-descriptor.properties").write_text(descriptor)


_LAYERS = ("http", "transport")


def _write(path: Path, lines: list[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines))


def _hashed(password: str) -> str:
    """Hash a password in one of the ways that the server reads; its own tool takes seconds for each."""
    salt = os.urandom(32)
    hashed = hashlib.pbkdf2_hmac("sha512", password.encode(), salt, 10_000, 32)
    return "{PBKDF2}10000$" + base64.b64encode(salt).decode() + "$" + base64.b64encode(hashed).decode()
