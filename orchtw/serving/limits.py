"""How much and how long the edge puts up with, and the refusals that only the edge gives."""

from __future__ import annotations

import attrs

from orchtw.errors import StatusError

# Sizes and times of the reference server where it has them: 1 MiB of headers, 3 MiB of body (supplement C3).
HEAD_BYTES = 1 << 20
BODY_BYTES = 3 << 20


@attrs.frozen(slots=True, kw_only=True)
class EdgeLimits:
    """The limits of one listener.

    `handshake_s` is for TLS, `idle_s` between requests (longer than clients keep theirs, so that they close
    first), `arrival_s` for one request's head and body, `write_stall_s` for a peer that takes none of the
    bytes that wait for it. They are kept by a sweep, so each may be overrun by two seconds.
    """

    handshake_s: float = 10.0
    idle_s: float = 180.0
    arrival_s: float = 60.0
    write_stall_s: float = 120.0
    head_bytes: int = HEAD_BYTES
    body_bytes: int = BODY_BYTES
    max_connections: int = 20_000
    compress: bool = True


class ExpectationFailed(StatusError):
    """417: an Expect header that is not 100-continue."""

    code = 417


class HeadersTooLarge(StatusError):
    """431: the request's head is over the limit."""

    code = 431


class NotImplementedByEdge(StatusError):
    """501: a transfer coding other than chunked."""

    code = 501


class VersionNotSupported(StatusError):
    """505: neither HTTP/1.0 nor HTTP/1.1."""

    code = 505
