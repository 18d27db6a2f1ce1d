"""Which headers travel with a request that is passed on, and which come back with its answer (reference PROXY-15)."""

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
"""Headers that are about one connection (RFC 9110 §7.6.1)."""

_SECRETS: Final = ("authorization", "impersonate-", "x-remote-")
"""What begins so told this server who asks, and is nobody else's business."""

_OURS: Final = frozenset({"content-length", "expect", "host", "x-forwarded-for", "x-forwarded-uri"})
_ABOUT_CLIENT: Final = frozenset({"audit-id", "via", "x-forwarded-host", "x-forwarded-proto"})
_PROTOCOLS: Final = "x-stream-protocol-version"
"""Node agents of the release read each line of it as one protocol, so that it is not sent joined."""

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
"""What this server says of its answers itself, and what the other side may not say for all that is served here."""

_OF_PAGES: Final = "access-control-"
"""Which pages may read answers of this server is not for the other side to say."""

_FLOW: Final = re.compile(r"x-[a-z]+-pf-(?:flowschema|prioritylevel)-uid")
"""Which of this server's flows a request has belonged to."""

_SWITCH: Final = frozenset({"connection", "upgrade"})
_COOKIE: Final = "set-cookie"


def wants_upgrade(headers: Mapping[str, str]) -> bool:
    """Report whether a request asks for a protocol upgrade."""
    return "upgrade" in headers and "upgrade" in _tokens(headers.get("connection", ""))


def request_headers(headers: Mapping[str, str], *, client: str, host: str, size: int, upgrade: bool) -> Lines:
    """The headers to send, for a body of `size` bytes; `client` is the address that the request came from.

    `host` stands in for a missing Host. An upgrade keeps the headers that ask for it.
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
    """The headers for another API server that stands behind this one, which calls itself `name` (reference AGG-5).

    Who asks is yet to be added. The connection may be used again.
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
    """The client's headers that travel on."""
    dropped = _HOP | ours | (frozenset() if upgrade else _tokens(headers.get("connection", "")))
    lines: Lines = []
    for name, value in headers.items():
        # Some servers take an underline for a hyphen.
        if name in dropped or name.replace("_", "-").startswith(_SECRETS):
            continue
        if name == _PROTOCOLS:
            lines += [(name, each.strip()) for each in value.split(",")]
        else:
            lines.append((name, value))
    return lines


def response_headers(headers: Iterable[tuple[str, str]], *, cookies: bool = True) -> Lines:
    """The headers of an answer that its client gets; length and framing are this server's own.

    Without `cookies` none are set: a cookie is sent to all that is served here.
    """
    return [
        ("Cache-Control" if name.lower() == "cache-control" else name, value)
        for name, value in _theirs(headers)
        if name.lower() not in _HOP and (cookies or name.lower() != _COOKIE)
    ]


def switching_headers(headers: Iterable[tuple[str, str]]) -> Lines:
    """The headers of a 101, which are about the protocol that follows: it has no framing, and sets no cookies."""
    return [
        (name, "Upgrade" if name.lower() == "connection" else value)
        for name, value in _theirs(headers)
        if name.lower() in _SWITCH or (name.lower() not in _HOP and name.lower() != _COOKIE)
    ]


def _theirs(headers: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Those that the other side may set, but for what its connection names to be for itself."""
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
