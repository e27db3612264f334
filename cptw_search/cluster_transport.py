"""The seam to the two vendors' clients: a request out, status and raw answer back, failures as our errors."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol
from urllib.parse import urlsplit

from cptw_search.cluster_settings import ClusterSettings
from cptw_search.errors import ClusterConnectionError, InvalidInputError, require_extra

__all__ = ["Answer", "ElasticsearchTransport", "OpenSearchTransport", "Transport"]

_N_CONNECTIONS = 10


@dataclass(frozen=True)
class Answer:
    """What a server answered.

    Parameters
    ----------
    status : int
        The HTTP status.
    headers : mapping of str to str
        The headers, names in small letters.
    body : object
        What the JSON said; a string where the answer is no JSON; None where it is empty.
    """

    status: int
    headers: Mapping[str, str]
    body: Any


class Transport(Protocol):
    """Something that sends requests."""

    def send(self, method: str, target: str, headers: Mapping[str, str], body: bytes | None, timeout: float) -> Answer:
        """Send one request, once."""
        ...

    def close(self) -> None:
        """Close the connections."""
        ...


class ElasticsearchTransport:
    """Requests through the transport of the ``elasticsearch`` client.

    Its client proper is passed by: it refuses any server but Elasticsearch, and which one this is has to be asked first.

    Parameters
    ----------
    settings : ClusterSettings
        Where to connect to; the login comes with every request.
    """

    def __init__(self, settings: ClusterSettings) -> None:
        import elasticsearch  # takes a third of a second

        self._settings = settings
        self._vendor = elasticsearch
        where: dict[str, Any] = {"cloud_id": settings.cloud_id} if settings.cloud_id else {"hosts": list(settings.urls)}
        if settings.ca_file is not None:
            where["ca_certs"] = settings.ca_file
        try:
            client = elasticsearch.Elasticsearch(**where, connections_per_node=_N_CONNECTIONS)
        except (ValueError, OSError) as error:  # a cloud id or a file of certificates that is none
            raise InvalidInputError(f"The client cannot be made: {settings.redact(str(error))}.") from None
        self._transport = client.transport

    def send(self, method: str, target: str, headers: Mapping[str, str], body: bytes | None, timeout: float) -> Answer:
        """Send one request, once; where there are several nodes, to the next one that is not known to be dead.

        Parameters
        ----------
        method : str
            The HTTP method.
        target : str
            Path and query.
        headers : mapping of str to str
            Content type and login among them.
        body : bytes or None
            What to send.
        timeout : float
            Seconds until the answer has to be there.

        Returns
        -------
        Answer
            Whatever the status.

        Raises
        ------
        ClusterConnectionError
            If there was no answer, or one that cannot be read.
        """
        try:
            meta, answer = self._transport.perform_request(
                method,
                target,
                headers=headers,
                body=body,
                request_timeout=timeout,
                max_retries=0,  # the client's own setting does not reach its transport, which would try three times more
                retry_on_status=(),
            )
        except self._vendor.SSLError as error:
            _raise_untrusted(self._settings, str(error.__cause__ or error))
        except self._vendor.ConnectionTimeout:
            _raise_timeout(self._settings, timeout)
        except (self._vendor.SerializationError, RecursionError):  # a million brackets are no answer
            _raise_unreadable(self._settings)
        except self._vendor.TransportError as error:
            _raise_unreachable(self._settings, str(error.__cause__ or error))  # its own words are two
        headers_ = {name.lower(): value for name, value in meta.headers.items()}
        return Answer(meta.status, headers_, None if method == "HEAD" else answer)

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()


class OpenSearchTransport:
    """Requests through the connections of the ``opensearch-py`` client.

    Parameters
    ----------
    settings : ClusterSettings
        Where to connect to; the login comes with every request.
    """

    def __init__(self, settings: ClusterSettings) -> None:
        self._settings = settings
        self._vendor = require_extra("opensearchpy", "opensearch", "Talking to OpenSearch")
        # It logs every refused request as a warning; without a handler Python would print those.
        logging.getLogger("opensearch").addHandler(logging.NullHandler())
        hosts = [
            {"host": parts.hostname, "port": parts.port, "use_ssl": parts.scheme == "https", "url_prefix": parts.path}
            for parts in map(urlsplit, settings.urls)
        ]
        options = {} if settings.ca_file is None else {"ca_certs": settings.ca_file}
        self._transport = self._vendor.OpenSearch(
            hosts, max_retries=0, pool_maxsize=_N_CONNECTIONS, **options
        ).transport

    def send(self, method: str, target: str, headers: Mapping[str, str], body: bytes | None, timeout: float) -> Answer:
        """Send one request, once; where there are several nodes, to the next one that is not known to be dead.

        Parameters
        ----------
        method : str
            The HTTP method.
        target : str
            Path and query.
        headers : mapping of str to str
            Content type and login among them.
        body : bytes or None
            What to send.
        timeout : float
            Seconds until the answer has to be there.

        Returns
        -------
        Answer
            Whatever the status.

        Raises
        ------
        ClusterConnectionError
            If there was no answer, or one that cannot be read.
        """
        vendor = self._vendor
        # Its transport would hide the status of an answer; its connections do not.
        connection = self._transport.get_connection()
        try:
            status, answered, text = connection.perform_request(
                method, target, body=body, timeout=timeout, ignore=range(300, 600), headers=headers
            )
        except vendor.SSLError as error:
            _raise_untrusted(self._settings, str(error))
        except vendor.ConnectionTimeout:
            _raise_timeout(self._settings, timeout)
        except vendor.TransportError as error:
            self._transport.mark_dead(connection)
            _raise_unreachable(self._settings, str(error.error))
        self._transport.connection_pool.mark_live(connection)
        lowered = {name.lower(): value for name, value in answered.items()}
        if method == "HEAD" or not text:
            return Answer(status, lowered, None)
        if "json" not in lowered.get("content-type", "json"):
            return Answer(status, lowered, text)
        try:
            return Answer(status, lowered, json.loads(text))
        except (ValueError, RecursionError):
            _raise_unreadable(self._settings)

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()


def _raise_untrusted(settings: ClusterSettings, message: str) -> NoReturn:
    if re.search(r"mismatch|doesn't match", message):
        raise ClusterConnectionError(
            f"The certificate of {settings.shown} was made for another name. Use the name or address in the url that the "
            f"certificate has. The reason: {settings.redact(message)}"
        ) from None
    if "CERTIFICATE_VERIFY_FAILED" in message:
        raise ClusterConnectionError(
            f"The certificate of {settings.shown} is not trusted. Give the file of the certificate that signed it as ca_file "
            f"(CPTW_CA_FILE). The reason: {settings.redact(message)}"
        ) from None
    raise ClusterConnectionError(
        f"No secure connection to {settings.shown} could be made: does it speak TLS? The reason: {settings.redact(message)}"
    ) from None


def _raise_timeout(settings: ClusterSettings, timeout: float) -> NoReturn:
    raise ClusterConnectionError(
        f"{settings.shown} did not answer within {timeout:g} seconds.", is_temporary=True
    ) from None


def _raise_unreachable(settings: ClusterSettings, message: str) -> NoReturn:
    if "without response" in message and any(url.startswith("http:") for url in settings.urls):
        raise ClusterConnectionError(
            f"{settings.shown} closed the connection without an answer. If it speaks TLS, the url must begin with https:.",
            is_temporary=True,
        ) from None
    raise ClusterConnectionError(
        f"{settings.shown} cannot be reached: is the server running there? The reason: {settings.redact(message)}",
        is_temporary=True,
    ) from None


def _raise_unreadable(settings: ClusterSettings) -> NoReturn:
    raise ClusterConnectionError(
        f"The answer of {settings.shown} is not the JSON that it claims to be, or was cut off.", is_temporary=True
    ) from None
