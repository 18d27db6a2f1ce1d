"""Headers of forwarded requests and of their responses (reference PROXY-15)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

Lines = list[tuple[str, str]]

_HOP: Final = frozenset(
    {
        "connection",
        "proxy-connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
"""Hop-by-hop headers (RFC 9110 §7.6.1)."""

_SECRETS: Final = ("authorization", "impersonate-", "x-remote-")
"""Prefixes of headers that carried the client's credentials to this server; never forwarded."""

_OURS: Final = frozenset({"content-length", "expect", "host", "x-forwarded-for", "x-forwarded-uri"})
_ABOUT_CLIENT: Final = frozenset({"audit-id", "via", "x-forwarded-host", "x-forwarded-proto"})
_PROTOCOLS: Final = "x-stream-protocol-version"
"""Node agents of the release parse each line as one protocol, so each value is sent on a line of its own."""

_OF_THE_ORIGIN: Final = frozenset(
    {
        "alt-svc",
        "audit-id",
        "clear-site-data",
        "content-length",
        "date",
        "expect-ct",
        "nel",
        "public-key-pins",
        "public-key-pins-report-only",
        "report-to",
        "reporting-endpoints",
        "service-worker-allowed",
        "strict-transport-security",
        "timing-allow-origin",
    }
)
"""Headers that apply to a whole origin: this server sets them itself, and the backend may not."""

_OF_PAGES: Final = "access-control-"
"""Prefix of CORS headers: the backend may not decide which pages may read this server's responses."""

_FLOW: Final = re.compile(r"x-[a-z]+-pf-(?:flowschema|prioritylevel)-uid")
"""Headers with the UIDs of a request's priority level and FlowSchema, which this server sets."""

_SWITCH: Final = frozenset({"connection", "upgrade"})
_COOKIE: Final = "set-cookie"


def wants_upgrade(headers: Mapping[str, str]) -> bool:
    """Report whether a request asks for a protocol upgrade."""
    return "upgrade" in headers and "upgrade" in _tokens(headers.get("connection", ""))


def request_headers(headers: Mapping[str, str], *, client: str, host: str, size: int, upgrade: bool) -> Lines:
    """Return the headers to send to a proxied backend, for a body of `size` bytes from address `client`.

    `host` replaces a missing Host. With `upgrade`, the headers that request one are kept.
    """
    lines = [("Host", headers.get("host", "") or host), *_kept(headers, _OURS, upgrade=upgrade)]
    before = headers.get("x-forwarded-for", "")
    lines.append(("X-Forwarded-For", f"{before}, {client}" if before else client))
    if size or headers.get("content-length"):
        lines.append(("Content-Length", str(size)))
    if upgrade:
        return [*lines, ("Connection", "Upgrade"), ("Upgrade", headers["upgrade"])]
    return [*lines, ("Connection", "close")]


def has_passed(headers: Mapping[str, str], name: str) -> bool:
    """Report whether a request has been forwarded by the server of that name before (RFC 9110 §7.6.3)."""
    return "via" in headers and any(entry.split()[1:2] == [name] for entry in _entries(headers["via"]))


def aggregated_headers(
    headers: Mapping[str, str], *, client: str, host: str, name: str, audit_id: str, size: int, upgrade: bool
) -> Lines:
    """Return the headers to send to an aggregated API server (reference AGG-5); `name` is this server's in Via.

    Identity headers are not included. The connection may be reused.
    """
    lines = [("Host", host), *_kept(headers, _OURS | _ABOUT_CLIENT, upgrade=upgrade)]
    before = headers.get("x-forwarded-for", "")
    lines += [
        ("X-Forwarded-For", f"{before}, {client}" if before else client),
        ("X-Forwarded-Host", headers.get("host", "")),
        ("X-Forwarded-Proto", "https"),
        ("Audit-Id", audit_id),
        ("Via", f"{passed}, 1.1 {name}" if (passed := headers.get("via", "")) else f"1.1 {name}"),
    ]
    if size or headers.get("content-length"):
        lines.append(("Content-Length", str(size)))
    return [*lines, ("Connection", "Upgrade"), ("Upgrade", headers["upgrade"])] if upgrade else lines


def _kept(headers: Mapping[str, str], ours: frozenset[str], *, upgrade: bool) -> Lines:
    """Return the client's headers that are forwarded."""
    dropped = _HOP | ours | (frozenset() if upgrade else _tokens(headers.get("connection", "")))
    lines: Lines = []
    for name, value in headers.items():
        # Some servers treat underscores as hyphens.
        if name in dropped or name.replace("_", "-").startswith(_SECRETS):
            continue
        if name == _PROTOCOLS:
            lines += [(name, each.strip()) for each in value.split(",")]
        else:
            lines.append((name, value))
    return lines


def response_headers(headers: Iterable[tuple[str, str]], *, cookies: bool = True) -> Lines:
    """Return the headers of a backend's response for the client; length and framing are this server's own.

    Without `cookies`, Set-Cookie is dropped: browsers would send the cookie with every request to this server.
    """
    return [
        ("Cache-Control" if name.lower() == "cache-control" else name, value)
        for name, value in _theirs(headers)
        if name.lower() not in _HOP and (cookies or name.lower() != _COOKIE)
    ]


def switching_headers(headers: Iterable[tuple[str, str]]) -> Lines:
    """Return the headers of a backend's 101 response for the client, with those of the upgrade; no cookies."""
    return [
        (name, "Upgrade" if name.lower() == "connection" else value)
        for name, value in _theirs(headers)
        if name.lower() in _SWITCH or (name.lower() not in _HOP and name.lower() != _COOKIE)
    ]


def _theirs(headers: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield the headers that the backend may set, without those that its Connection header names."""
    found = list(headers)
    dropped = _OF_THE_ORIGIN
    for name, value in found:
        if name.lower() == "connection":
            dropped |= _tokens(value) - _SWITCH
    for name, value in found:
        key = name.lower()
        if key not in dropped and not key.startswith(_OF_PAGES) and _FLOW.fullmatch(key) is None:
            yield name, value


def _tokens(header: str) -> frozenset[str]:
    return frozenset(_entries(header))


def _entries(header: str) -> Iterator[str]:
    for part in header.lower().split(","):
        if entry := part.strip():
            yield entry
