"""Addresses: URLs with a scheme, or absolute paths."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote, unquote, unquote_plus

from orchtw.schema.cel.faults import Failure
from orchtw.schema.cel.overloads import overload
from orchtw.schema.cel.values import Url

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)", re.DOTALL)
_BAD_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_HOST: Final = re.compile(r"(?:\[[0-9A-Fa-f:.]+(?:%25[^\]]*)?\]|[^\s\[\]<>\"\\^`{}|/?#%:]*)(?::(\d*))?")
_PATH_SAFE: Final = "$&+,/:;=@!'()*-._~"


def _parsed(text: str) -> Url:
    """Return the parsed URL. Raises Failure for one that no request could name."""
    rest = text.split("#", 1)[0]
    if not rest or _CONTROL.search(text):
        raise _fault(text, "empty url" if not rest else "invalid control character in URL")
    match = _SCHEME.fullmatch(rest)
    scheme, rest = (match[1].lower(), match[2]) if match else ("", rest)
    rest, _, query = rest.partition("?")
    if not rest.startswith("/"):
        if not scheme:
            raise _fault(text, "invalid URI for request")
        return Url(text, scheme, "", "", query)
    host, path = "", rest
    if rest.startswith("//") and (scheme or not rest.startswith("///")):
        authority, slash, tail = rest[2:].partition("/")
        path = slash + tail
        host = authority.rpartition("@")[2]
        if not _HOST.fullmatch(host):
            raise _fault(text, "invalid character in host name")
    if _BAD_ESCAPE.search(path):
        raise _fault(text, "invalid URL escape")
    return Url(text, scheme, host, path, query)


def _fault(text: str, why: str) -> Failure:
    return Failure(f'URL parse error during conversion from string: parse "{text[:128]}": {why}')


def _is_url(text: str) -> bool:
    try:
        _parsed(text)
    except Failure:
        return False
    return True


def _hostname(found: Url) -> str:
    if found.host.startswith("["):
        return unquote(found.host[1:].partition("]")[0])
    return found.host.partition(":")[0]


def _port(found: Url) -> str:
    return found.host.rpartition("]")[2].rpartition(":")[2] if ":" in found.host.rpartition("]")[2] else ""


def _escaped_path(found: Url) -> str:
    return quote(found.path, safe=_PATH_SAFE + "%")


def _query(found: Url) -> dict[str, list[str]]:
    """Return the parameters; unreadable ones are left out."""
    result: dict[str, list[str]] = {}
    for part in found.query.split("&"):
        key, _, value = part.partition("=")
        if part and ";" not in part and not _BAD_ESCAPE.search(part):
            result.setdefault(unquote_plus(key), []).append(unquote_plus(value))
    return result


def _cost(found: str | Url) -> int:
    return 20 + len(found if isinstance(found, str) else found.text) // 2


FUNCTIONS: Final = (
    overload("url(string) -> url", _parsed, _cost),
    overload("isURL(string) -> bool", _is_url, _cost),
    overload("url.getScheme() -> string", lambda found: found.scheme),
    overload("url.getHost() -> string", lambda found: found.host),
    overload("url.getHostname() -> string", _hostname, _cost),
    overload("url.getPort() -> string", _port, _cost),
    overload("url.getEscapedPath() -> string", _escaped_path, _cost),
    overload("url.getQuery() -> map(string, list(string))", _query, _cost),
)
