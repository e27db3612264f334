"""A server in a container, through testcontainers and the machine's Docker."""

import socket
import subprocess
import sys
import uuid
from urllib.parse import urlsplit

import docker
from testcontainers.core.config import testcontainers_config
from testcontainers.core.container import DockerContainer
from testcontainers.core.docker_client import DockerClient, get_docker_host

from servers.errors import UnavailableError
from servers.kinds import Kind
from servers.server import Server, wait_until_ready

# Removes the container when the pipe to the tests closes, however they ended. Ryuk does this for testcontainers, but
# is one more image to pull and wants the daemon's socket.
REMOVER = """
import contextlib, docker, sys
sys.stdin.read()
with contextlib.suppress(docker.errors.NotFound):
    docker.from_env().containers.get(sys.argv[1]).remove(force=True, v=True)
"""
testcontainers_config.ryuk_disabled = True
testcontainers_config.tc_host_override = "127.0.0.1"


class ContainerServer(Server):
    """A container with one node, published to this machine only."""

    def __init__(self, kind: Kind) -> None:
        image = _image(kind)
        name = f"cptw-test-{uuid.uuid4().hex}"
        self._container = DockerContainer(image, env=_environment(kind), name=name)
        self._container.ports["9200"] = ("127.0.0.1", 0)  # with_bind_ports has no way to say the address
        self._remover = subprocess.Popen(
            [sys.executable, "-c", REMOVER, name], stdin=subprocess.PIPE, start_new_session=True
        )
        try:
            self._container.start()
            super().__init__(kind, f"http://127.0.0.1:{self._container.get_exposed_port(9200)}", f"container {image}")
            wait_until_ready(self.url, self._is_running, self._log)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._container.stop()
        self._remover.communicate()

    def _is_running(self) -> bool:
        self._container.reload()
        return self._container.status == "running"

    def _log(self) -> str:
        return b"".join(self._container.get_logs()).decode(errors="replace")


def _image(kind: Kind) -> str:
    """Return what the machine has, else the official image, pulled."""
    _require_daemon()
    try:
        images = DockerClient().client.images
        here = {tag for image in images.list() for tag in image.tags}
    except docker.errors.DockerException as error:
        raise UnavailableError(f"Docker does not answer: {error}") from error
    for image in (kind.image, kind.local_image):
        if image in here:
            return image
    try:
        images.pull(kind.image)
    except docker.errors.DockerException as error:
        raise UnavailableError(
            f"{kind.image} cannot be pulled ({error}) and docker/archives/build.sh has not made {kind.local_image}"
        ) from error
    return kind.image


def _require_daemon() -> None:
    """Knock first: the Docker client leaves a socket open where nobody answers."""
    host = urlsplit(get_docker_host() or "unix:///var/run/docker.sock")
    if host.scheme == "unix":
        with socket.socket(socket.AF_UNIX) as daemon:
            try:
                daemon.connect(host.path)
            except OSError as error:
                raise UnavailableError(f"no Docker daemon answers at {host.path} ({error.strerror})") from error


def _environment(kind: Kind) -> dict[str, str]:
    """Settings, in the way that the official images take them."""
    if kind.product == "opensearch":
        own = {"OPENSEARCH_JAVA_OPTS": "-Xms512m -Xmx512m", "DISABLE_SECURITY_PLUGIN": "true"}
        own["DISABLE_INSTALL_DEMO_CONFIG"] = "true"
    else:
        own = {"ES_JAVA_OPTS": "-Xms512m -Xmx512m", "xpack.security.enabled": "false"}
    return {"discovery.type": "single-node", "cluster.routing.allocation.disk.threshold_enabled": "false", **own}
