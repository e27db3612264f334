"""The one place where Elasticsearch and OpenSearch differ: connect, ask what a server can do, send requests.

::

    with connect("http://localhost:9200") as client:
        client.request("GET", make_path("news", "_count"))

Nothing is tried twice here, for only the caller knows what may be; an error's ``is_temporary`` says where it is worth it.
With several addresses, a request goes to the next node where one cannot be reached.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from types import TracebackType
from typing import Any
from urllib.parse import urlencode

from cptw_search.cluster_answers import error_of, read_optional, read_part, shown
from cptw_search.cluster_names import (
    ID_FIELD,
    RESERVED_PREFIX,
    TEXT_FIELD,
    WEIGHTS_FIELD,
    check_field_name,
    check_index_name,
    decode_feature,
    encode_feature,
    encode_token,
    make_path,
)
from cptw_search.cluster_settings import ClusterSettings, resolve_settings
from cptw_search.cluster_transport import Answer, ElasticsearchTransport, OpenSearchTransport, Transport
from cptw_search.errors import ClusterConnectionError, ClusterError, InvalidInputError

__all__ = [
    "ID_FIELD",
    "RESERVED_PREFIX",
    "TEXT_FIELD",
    "WEIGHTS_FIELD",
    "ClusterClient",
    "check_field_name",
    "check_index_name",
    "connect",
    "decode_feature",
    "encode_feature",
    "encode_token",
    "make_path",
]

_JSON = {"accept": "application/json", "content-type": "application/json"}
_NDJSON = {"accept": "application/json", "content-type": "application/x-ndjson"}
_DEFAULT_CLAUSES = 1024
_DEFAULT_CONTENT_LENGTH = 100 * 1024 * 1024
_OLDEST = {"elasticsearch": (7, 17), "opensearch": (2, 0)}


def connect(
    url: str | None = None,
    *,
    api_key: str | None = None,
    username: str | None = None,
    password: str | None = None,
    bearer_token: str | None = None,
    ca_file: str | None = None,
    cloud_id: str | None = None,
    config_file: str | os.PathLike[str] | None = None,
    timeout: float = 30.0,
) -> ClusterClient:
    """Connect to an Elasticsearch or OpenSearch cluster.

    What is not given is taken from the environment (``CPTW_URL``, ``CPTW_API_KEY``, ``CPTW_USERNAME``,
    ``CPTW_PASSWORD``, ``CPTW_BEARER_TOKEN``, ``CPTW_CA_FILE``, ``CPTW_CLOUD_ID``), else from the config file.

    Parameters
    ----------
    url : str, optional
        Like ``https://host:9200``; several nodes separated by commas. Without a port: 9200 for http, 443 for https.
    api_key : str, optional
        An API key, encoded or as ``id:key``.
    username : str, optional
        A user's name.
    password : str, optional
        The user's password.
    bearer_token : str, optional
        A token.
    ca_file : str, optional
        A file of certificates to trust in place of the system's.
    cloud_id : str, optional
        Elastic Cloud's name of a deployment, in place of the url.
    config_file : str or path, optional
        An INI file with a section ``[cluster]`` of these names; by default what ``CPTW_CONFIG_FILE`` names.
    timeout : float, default 30.0
        Seconds until an answer has to be there.

    Returns
    -------
    ClusterClient
        A client that has talked to the server already.

    Raises
    ------
    InvalidInputError
        If a setting cannot be used.
    ClusterConnectionError
        If the server cannot be reached, is not trusted, or is something else.
    AccessDeniedError
        If it refuses the login.
    """
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not 0 < timeout < float("inf"):
        raise InvalidInputError(f"timeout must be a number of seconds > 0. Got {timeout!r} instead.")
    arguments = {
        "url": url,
        "api_key": api_key,
        "username": username,
        "password": password,
        "bearer_token": bearer_token,
        "ca_file": ca_file,
        "cloud_id": cloud_id,
    }
    return ClusterClient(resolve_settings(arguments, config_file), timeout=timeout)


class ClusterClient:
    """A connection to a cluster; made by `connect`. Several threads may share one.

    Parameters
    ----------
    settings : ClusterSettings
        Where the cluster is and how to log in.
    timeout : float, default 30.0
        Seconds until an answer has to be there.

    Attributes
    ----------
    product : str
        ``"elasticsearch"`` or ``"opensearch"``.
    version : tuple of int
        Like ``(7, 17, 25)``.
    """

    product: str
    version: tuple[int, int, int]

    def __init__(self, settings: ClusterSettings, *, timeout: float = 30.0) -> None:
        self._settings = settings
        self._timeout = timeout
        self._transport: Transport = ElasticsearchTransport(settings)
        try:
            self.product, self.version = self._detect()
            if self.product == "opensearch":
                self._transport.close()
                self._transport = OpenSearchTransport(settings)
        except BaseException:
            self.close()
            raise

    # Requests -----------------------------------------------------------------------------------------------------

    def request(
        self,
        method: str,
        path: str,
        *,
        body: object | None = None,
        params: Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> Any:
        """Send a request.

        Parameters
        ----------
        method : str
            GET, HEAD, POST, PUT or DELETE.
        path : str
            Made by `make_path`.
        body : object, optional
            What becomes the JSON of the request.
        params : mapping, optional
            The query's parameters; truth values, numbers and lists are written as the servers want them.
        headers : mapping of str to str, optional
            More headers.
        timeout : float, optional
            Seconds, in place of the client's own.

        Returns
        -------
        object
            The answer's JSON. For HEAD, whether it is there. A document that is not there is an answer, too:
            ``{"found": false}``.

        Raises
        ------
        ClusterConnectionError
            If there was no answer that can be read.
        AccessDeniedError
            If the login is refused or may not do this.
        MissingIndexError
            If there is no such index or alias.
        RejectedError
            If the server refuses for another reason.
        """
        return self._request(method, path, _to_json(body), params, {**_JSON, **(headers or {})}, timeout)

    def send_lines(
        self,
        path: str,
        lines: bytes,
        *,
        params: Mapping[str, object] | None = None,
        timeout: float | None = None,
        other_nodes: bool = True,
    ) -> Any:
        """Send lines of JSON: a bulk request or a multi-search.

        Parameters
        ----------
        path : str
            Made by `make_path`.
        lines : bytes
            JSON objects, a newline behind each.
        params : mapping, optional
            As for `request`.
        timeout : float, optional
            Seconds, in place of the client's own.
        other_nodes : bool, default True
            Try the next node at once where one cannot be reached. Not for a caller who has to know whether an earlier
            try may have come through.

        Returns
        -------
        object
            The answer's JSON; its items may have errors of their own.

        Raises
        ------
        ClusterError
            As for `request`.
        """
        return self._request("POST", path, lines, params, _NDJSON, timeout, other_nodes)

    def _request(
        self,
        method: str,
        path: str,
        body: bytes | None,
        params: Mapping[str, object] | None,
        headers: Mapping[str, str],
        timeout: float | None,
        other_nodes: bool = True,
    ) -> Any:
        answer = self._send(method, path, body, params, headers, timeout, other_nodes)
        if method == "HEAD" and answer.status in (200, 404):
            return answer.status == 200
        if answer.status == 404 and isinstance(answer.body, dict) and answer.body.get("found") is False:
            return answer.body
        if not 200 <= answer.status < 300:
            raise error_of(answer, method, path, self._settings)
        if not isinstance(answer.body, (dict, list)):
            raise ClusterConnectionError(
                f"{self._settings.shown} answered {method} {path} with something that is not JSON: is it a search server?",
                is_temporary=True,  # or a gateway that has no answer for now
            )
        return answer.body

    def _send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        params: Mapping[str, object] | None = None,
        headers: Mapping[str, str] = _JSON,
        timeout: float | None = None,
        other_nodes: bool = True,
    ) -> Answer:
        if not path.startswith("/") or re.search(r"[?#\s\x00-\x1f\x7f]|//|/\.{1,2}(/|$)", path):
            raise InvalidInputError(f"A path must be made by make_path. Got {path!r} instead.")
        query = urlencode({name: _to_parameter(value) for name, value in (params or {}).items()}, safe="*,.")
        target = f"{path}?{query}" if query else path
        sent = dict(headers)
        if self._settings.authorization is not None:
            sent["authorization"] = self._settings.authorization
        for _ in self._settings.urls[1:] if other_nodes else ():
            try:
                return self._transport.send(method, target, sent, body, timeout or self._timeout)
            except ClusterConnectionError as error:
                if not error.is_temporary:
                    raise
        return self._transport.send(method, target, sent, body, timeout or self._timeout)

    # What the server is and can do --------------------------------------------------------------------------------

    def _detect(self) -> tuple[str, tuple[int, int, int]]:
        answer = self._send("GET", "/")
        said = answer.body if isinstance(answer.body, dict) else {}
        described = said.get("version") if answer.status == 200 else None
        if not isinstance(described, dict):
            described = {}
        number = described.get("number")
        if answer.headers.get("x-elastic-product") == "Elasticsearch":
            product = "elasticsearch"
        elif described.get("distribution") == "opensearch" or "x-opensearch-version" in answer.headers:
            product = "opensearch"
        elif answer.status in (401, 403, 429) or answer.status >= 500:
            raise error_of(answer, "GET", "/", self._settings)
        else:
            raise ClusterConnectionError(
                f"{self._settings.shown} answers, but is neither Elasticsearch nor OpenSearch: check the address."
            )
        if number is None:  # there are servers without an answer at the root
            if answer.status not in (200, 404, 405):
                raise error_of(answer, "GET", "/", self._settings)
            number = self._node_values("_local", "version", "version")[0]
        version = _parse_version(number)
        if version is None or version[:2] < _OLDEST[product]:
            least = ".".join(map(str, _OLDEST[product]))
            raise ClusterConnectionError(
                f"{self._settings.shown} must be {product} {least} or later. It is {shown(number)}."
            )
        return product, version

    def _node_values(self, which: str, metric: str, wanted: str) -> list[Any]:
        """Ask the nodes for something that each has one of; an error if none says it."""
        path = make_path("_nodes", which) if metric == wanted else make_path("_nodes", which, metric)
        nodes = self._request("GET", path, None, {"filter_path": f"nodes.*.{wanted}"}, _JSON, None)
        found = []
        for node in (read_optional(nodes, dict, "nodes") or {}).values():
            value = node
            for name in wanted.split("."):
                value = value.get(name) if isinstance(value, dict) else None
            if value is not None:
                found.append(value)
        if not found:
            raise ClusterConnectionError(f"{self._settings.shown} does not say its {wanted}: is it a search server?")
        return found

    def field_types(self) -> frozenset[str]:
        """Tell which types of fields for weighted terms every node can do.

        Returns
        -------
        frozenset of str
            Of ``"rank_features"`` and ``"sparse_vector"``.
        """
        types = {"rank_features"}
        try:
            modules = [
                [read_optional(module, str, "name") for module in read_part(of_node, list)]
                for of_node in self._node_values("_all", "plugins", "modules")
            ]
        except ClusterError as error:
            if error.is_temporary:
                raise
            modules = []  # hosted services hide them; every official distribution has rank_features
        if not all(any(name == "mapper-extras" for name in names) for names in modules):
            types.discard("rank_features")
        if self.product == "elasticsearch" and self.version >= (8, 15, 0):
            types.add("sparse_vector")
        return frozenset(types)

    def max_clause_count(self) -> int:
        """Tell how many clauses a query may have.

        Returns
        -------
        int
            The least of all nodes; 1024, the default of all versions or less than it, where the server does not say.
        """
        try:
            if self.product == "elasticsearch" and self.version >= (8, 1, 0):
                # Since 8.1 the setting is without effect: 64 a megabyte of heap, shared by the search threads (seen on 9.5.3).
                heaps = self._node_values("_all", "jvm", "jvm.mem.heap_max_in_bytes")
                threads = self._node_values("_all", "thread_pool", "thread_pool.search.size")
                return max(_DEFAULT_CLAUSES, int(min(heaps)) // 1024**2 * 64 // max(int(max(threads)), 1))
            wanted = "indices.query.bool.max_clause_count"
            params = {"include_defaults": True, "flat_settings": False, "filter_path": f"*.{wanted}"}
            settings = self.request("GET", "/_cluster/settings", params=params)
            for kind in ("transient", "persistent", "defaults"):
                if kind in settings:
                    return max(int(settings[kind]["indices"]["query"]["bool"]["max_clause_count"]), 1)
        except (ClusterError, LookupError, TypeError, ValueError, OverflowError) as error:
            if isinstance(error, ClusterError) and error.is_temporary:
                raise
            # else it may not be asked
        return _DEFAULT_CLAUSES

    def max_content_length(self) -> int:
        """Tell how many bytes a request may have.

        Returns
        -------
        int
            The least of all nodes; 100 MB, the default, where the server does not say.
        """
        try:
            least = int(min(self._node_values("_all", "http", "http.max_content_length_in_bytes")))
        except (ClusterError, TypeError, ValueError, OverflowError):
            return _DEFAULT_CONTENT_LENGTH
        return least if least > 0 else _DEFAULT_CONTENT_LENGTH

    # Manners ------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def __enter__(self) -> ClusterClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<ClusterClient: {self.product} {'.'.join(map(str, self.version))} at {self._settings.shown}>"


def _to_json(body: object) -> bytes | None:
    if body is None:
        return None
    try:
        return json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"The body of a request must be JSON: {error}.") from error


def _to_parameter(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _parse_version(number: object) -> tuple[int, int, int] | None:
    match = re.match(r"([0-9]{1,4})\.([0-9]{1,4})\.([0-9]{1,4})", number) if isinstance(number, str) else None
    return None if match is None else (int(match[1]), int(match[2]), int(match[3]))
