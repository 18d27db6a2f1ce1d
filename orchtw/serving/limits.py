"""Limits of the edge in size and time, and the errors that only the edge raises."""

from __future__ import annotations

import msgspec

from orchtw.errors import StatusError

# Sizes and times of the reference server where it has them: 1 MiB of headers, 3 MiB of body (reference LIMIT-1).
HEAD_BYTES = 1 << 20
BODY_BYTES = 3 << 20
# Clients send about ten header lines with names of a dozen characters; each line costs a call and two objects.
HEADER_LINES = 1000
NAME_BYTES = 1024
# What a request target may ask to be taken apart: parameters, escaped characters and slashes. All are far beyond what
# selectors and paths need, and take some 30 ms together.
PARAMETERS = 1000
ESCAPES = 16384
SLASHES = 16384
# All that connections hold, and what a connection may hold uncounted: one TLS record, a third of its own cost.
INFLIGHT_BYTES = 256 << 20
# How long somebody may look at one page of a log; what waits meanwhile is bounded, and more of it stays where it is.
PATIENCE_S = 4 * 3600.0
FREE_BYTES = 16384
# Up to this, the last head of a connection is kept, so that the next one is known again.
SAME_BYTES = 4096


class EdgeLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of one listener.

    `handshake_s` is for TLS, `idle_s` between requests (longer than clients keep theirs, so that they close first),
    `arrival_s` for one request's head and body, `write_stall_s` for a peer that takes none of the bytes that wait for
    it. They are kept by a sweep, so each may be overrun by two seconds. `inflight_bytes` is for all connections
    together (see `budget`). `http2_streams` are the requests that a client may have under way over one HTTP/2
    connection; 0: HTTP/2 is not offered.
    """

    handshake_s: float = 10.0
    idle_s: float = 180.0
    arrival_s: float = 60.0
    write_stall_s: float = 30.0
    head_bytes: int = HEAD_BYTES
    body_bytes: int = BODY_BYTES
    header_lines: int = HEADER_LINES
    inflight_bytes: int = INFLIGHT_BYTES
    max_connections: int = 20_000
    compress: bool = True
    http2_streams: int = 0


class TargetTooLong(StatusError):
    """414: the request target is too costly to parse."""

    code = 414


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
