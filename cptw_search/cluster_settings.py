"""Where a cluster is and how to log in: from arguments, the environment, or a file; secrets stay secret."""

from __future__ import annotations

import base64
import configparser
import contextlib
import ipaddress
import os
import ssl
import stat
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

from cptw_search.errors import InvalidInputError

__all__ = ["ENVIRONMENT_PREFIX", "ClusterSettings", "resolve_settings"]

ENVIRONMENT_PREFIX = "CPTW_"
"""Variables are called after the arguments: CPTW_URL, CPTW_API_KEY and so on."""

_SECTION = "cluster"
_PLACES = ("url", "cloud_id")
_LOGINS = ("api_key", "username", "password", "bearer_token")
_SECRETS = ("api_key", "password", "bearer_token")
_NAMES = (*_PLACES, *_LOGINS, "ca_file")
_DEFAULT_PORTS = {"http": 9200, "https": 443}


@dataclass(frozen=True)
class ClusterSettings:
    """Where a cluster is and how to log in.

    Parameters
    ----------
    urls : tuple of str
        Addresses of the nodes, without login; empty where there is a cloud id.
    cloud_id : str, optional
        Elastic Cloud's name of a deployment.
    ca_file : str, optional
        The certificates to trust.
    authorization : str, optional
        The header that logs in.
    secrets : tuple of str
        What must not be shown.
    """

    urls: tuple[str, ...]
    cloud_id: str | None = None
    ca_file: str | None = None
    authorization: str | None = field(default=None, repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @property
    def shown(self) -> str:
        """The address as it may stand in messages."""
        return ", ".join(self.urls) or f"cloud id {(self.cloud_id or '').partition(':')[0]!r}"

    def redact(self, text: str) -> str:
        """Take the secrets out of a text.

        Parameters
        ----------
        text : str
            What a server or client said.

        Returns
        -------
        str
            The text with ``***`` in their place.
        """
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return text


def resolve_settings(
    arguments: Mapping[str, str | None], config_file: str | os.PathLike[str] | None
) -> ClusterSettings:
    """Put the settings together: arguments first, then the environment, then the file.

    The address and the login are each taken whole from the first place that has one, so that half of an old login never
    mixes with half of a new one.

    Parameters
    ----------
    arguments : mapping of str to str or None
        What the caller gave.
    config_file : str or path, optional
        A file with a section ``[cluster]``; by default what ``CPTW_CONFIG_FILE`` names.

    Returns
    -------
    ClusterSettings
        The settings, checked.

    Raises
    ------
    InvalidInputError
        If there is no address, or one of the settings cannot be used.
    """
    environment = {name: os.environ.get(ENVIRONMENT_PREFIX + name.upper()) or None for name in _NAMES}
    config_file = config_file or os.environ.get(ENVIRONMENT_PREFIX + "CONFIG_FILE") or None
    sources = [arguments, environment, _read_file(Path(config_file)) if config_file else {}]

    place = _first(sources, _PLACES)
    login = _first(sources, _LOGINS)
    ca_file = _first(sources, ("ca_file",)).get("ca_file")
    if len(place) != 1:
        raise InvalidInputError(
            "A cluster needs either a url or a cloud_id: as an argument, as CPTW_URL or CPTW_CLOUD_ID, or in a config "
            f"file. Got {'both' if place else 'neither'}."
        )
    if ca_file is not None:
        try:
            ssl.create_default_context(cafile=ca_file)
        except OSError as error:  # ssl.SSLError is one
            raise InvalidInputError(f"ca_file must be a file of certificates. Got {ca_file!r}: {error}.") from error
    urls = []
    for url in place.get("url", "").split(",") if "url" in place else ():
        parts, url_login = _check_url(url.strip())
        if url_login and login and url_login != login:
            raise InvalidInputError("The login must be given once. Got one in the url and another beside it.")
        login = login or url_login
        urls.append(
            f"{parts.scheme}://{_host(parts)}:{parts.port or _DEFAULT_PORTS[parts.scheme]}{parts.path.rstrip('/')}"
        )
    if ca_file is not None and any(url.startswith("http:") for url in urls):
        raise InvalidInputError(
            f"ca_file is for encrypted connections. Got it with {', '.join(urls)}: let the url begin with https:, or leave "
            "ca_file out."
        )
    authorization = _authorization(login)
    if authorization and any(url.startswith("http:") and not _is_loopback(url) for url in urls):
        warnings.warn(
            f"The login for {', '.join(urls)} is sent unencrypted, for the url begins with http:. Use https.",
            UserWarning,
            stacklevel=4,
        )
    secrets = _secrets(login, authorization)
    return ClusterSettings(tuple(urls), place.get("cloud_id"), ca_file, authorization, secrets)


def _first(sources: list[Mapping[str, str | None]], names: tuple[str, ...]) -> dict[str, str]:
    for source in sources:
        found = {name: value for name in names if (value := source.get(name)) is not None}
        if found:
            for name, value in found.items():
                if not isinstance(value, str) or not value or not value.isprintable():
                    shown = (
                        "" if name in (*_SECRETS, "url") else f" Got {value!r} instead."
                    )  # a url may hold a password
                    raise InvalidInputError(f"{name} must be a string of printable characters.{shown}")
            return found
    return {}


def _read_file(path: Path) -> Mapping[str, str | None]:
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string(path.read_text("utf-8"))
        is_open = os.name == "posix" and path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO)
    except OSError as error:
        raise InvalidInputError(f"The config file {str(path)!r} cannot be read: {error.strerror}.") from error
    except (configparser.Error, UnicodeDecodeError):
        # from None: the parser's message quotes the line, and that may be the one with the password
        raise InvalidInputError(
            f"The config file {str(path)!r} must be an INI file with a section [{_SECTION}]."
        ) from None
    if not parser.has_section(_SECTION):
        raise InvalidInputError(f"The config file {str(path)!r} must have a section [{_SECTION}]. It has none.")
    values = dict(parser[_SECTION])
    if unknown := sorted(set(values) - set(_NAMES)):
        raise InvalidInputError(
            f"[{_SECTION}] of the config file {str(path)!r} may hold {', '.join(_NAMES)}. Got {', '.join(unknown)}."
        )
    if is_open and any(name in values for name in _SECRETS):
        warnings.warn(
            f"The config file {str(path)!r} holds a login that other users of this machine may read. Use chmod 600.",
            UserWarning,
            stacklevel=5,
        )
    return values


def _check_url(url: str) -> tuple[SplitResult, dict[str, str]]:
    """Take a URL apart; no message shows it, for it may hold a password."""
    rule = "A cluster's url must be like https://host:9200 (scheme http or https, a host, no query)"
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise InvalidInputError(f"{rule}. Got something that is no URL.") from None
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname or parts.query or parts.fragment or " " in url:
        raise InvalidInputError(f"{rule}. Got one with the scheme {parts.scheme!r} and the host {parts.hostname!r}.")
    if "@" in parts.path:
        raise InvalidInputError(f"{rule}. Got one with @ behind a slash: in a password, / has to be written %2F.")
    login = {}
    if parts.username:
        login = {"username": unquote(parts.username), "password": unquote(parts.password or "")}
    return parts, login


def _host(parts: SplitResult) -> str:
    host = parts.hostname or ""
    return f"[{host}]" if ":" in host else host


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _authorization(login: Mapping[str, str]) -> str | None:
    kinds = [kind for kind in ("api_key", "bearer_token", "username", "password") if kind in login]
    if not kinds:
        return None
    if kinds == ["api_key"]:
        return f"ApiKey {_encoded_key(login['api_key'])}"
    if kinds == ["bearer_token"]:
        return f"Bearer {login['bearer_token']}"
    if kinds == ["username", "password"]:
        return f"Basic {_base64(login['username'] + ':' + login['password'])}"
    raise InvalidInputError(
        f"A login must be an api_key, a bearer_token, or a username with its password. Got {', '.join(kinds)}."
    )


def _secrets(login: Mapping[str, str], authorization: str | None) -> tuple[str, ...]:
    """List all that must not show, the longest first, in every form that a server may give it back in."""
    secrets = {login[name] for name in _SECRETS if name in login}
    if authorization is not None:
        secrets |= {authorization, authorization.partition(" ")[2]}
    if "api_key" in login:
        with contextlib.suppress(ValueError):  # no base64, as it should be
            secrets.add(base64.b64decode(_encoded_key(login["api_key"]), validate=True).decode())
        secrets |= {secret.partition(":")[2] for secret in secrets}  # behind the key's id
    return tuple(sorted(secrets - {""}, key=len, reverse=True))


def _encoded_key(api_key: str) -> str:
    """Take an API key as the server shows it: encoded already, or as ``id:key``."""
    return _base64(api_key) if ":" in api_key else api_key


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
