"""Certificates for servers with TLS, made by the machine's ``openssl``."""

import shutil
import subprocess
from pathlib import Path

from servers.errors import UnavailableError


class Authority:
    """Somebody who signs certificates, known to nobody else."""

    def __init__(self, folder: Path, name: str = "cptw test authority") -> None:
        if shutil.which("openssl") is None:
            raise UnavailableError("openssl, which makes certificates, is not on the PATH")
        folder.mkdir(parents=True, exist_ok=True)
        self.certificate, self._key = folder / "ca.crt", folder / "ca.key"
        _openssl(
            name, self.certificate, self._key, "basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign"
        )

    def sign(self, folder: Path, host: str) -> tuple[Path, Path]:
        """Make a certificate for an address such as ``IP:127.0.0.1``, and its key."""
        folder.mkdir(parents=True, exist_ok=True)
        certificate, key = folder / "server.crt", folder / "server.key"
        extensions = ("basicConstraints=critical,CA:FALSE", f"subjectAltName={host}")
        _openssl("cptw test server", certificate, key, *extensions, authority=self)
        return certificate, key


def _openssl(name: str, certificate: Path, key: Path, *extensions: str, authority: Authority | None = None) -> None:
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}"]
    command += ["-config", "/dev/null", "-out", certificate, "-keyout", key]
    for extension in extensions:
        command += ["-addext", extension]
    if authority is not None:
        command += ["-CA", authority.certificate, "-CAkey", authority._key]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UnavailableError(f"openssl, which has to be 3.0 or later, made no certificate: {done.stderr[-300:]}")
