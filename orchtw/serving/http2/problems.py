"""Errors of the peer that end a connection or a stream, with their codes."""

from __future__ import annotations

from orchtw.wire.http2_frames import Code


class ConnectionProblem(Exception):
    """Error that ends the connection, with `code` and a reason for people."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


class Malformed(Exception):  # noqa: N818 - what it is, not that it is an error
    """Malformed request (RFC 9113 §8.1.1): its stream is reset."""


class FieldsTooLarge(Exception):  # noqa: N818
    """Error: a list of fields exceeds the limit; no further one can be read, for this one was not read to its end."""


def protocol_error(reason: str) -> ConnectionProblem:
    """Return the error for a violation of the protocol."""
    return ConnectionProblem(Code.PROTOCOL_ERROR, reason)


def calm(reason: str) -> ConnectionProblem:
    """Return the error for excessive use of the protocol."""
    return ConnectionProblem(Code.ENHANCE_YOUR_CALM, reason)
