"""The reference server's texts for failed connections and error responses."""

from __future__ import annotations

import os
from typing import Final

from OpenSSL import SSL
from twisted.internet import error

from orchtw.config import host_and_port
from orchtw.outbound.trust import Distrusted
from orchtw.values.causes import go_quote
from orchtw.wire.json_values import loads

_ALERTS: Final = {
    "unknown ca": "unknown certificate authority",
    "bad certificate": "bad certificate",
    "certificate required": "certificate required",
    "certificate expired": "expired certificate",
    "certificate unknown": "unknown certificate",
    "unsupported certificate": "unsupported certificate",
    "handshake failure": "handshake failure",
    "protocol version": "protocol version not supported",
    "internal error": "internal error",
    "unrecognized name": "unrecognized name",
    "access denied": "access denied",
}
"""TLS alerts of the other side: OpenSSL's words, and the reference's."""

_SAID: Final = 2048
"""Limit of a response's text that a message repeats."""

_STATUS: Final = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    409: "the server reported a conflict",
    422: "the server rejected our request due to an error in our request",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
    504: "the server was unable to return a response in the time allotted, but may still be processing the request",
}


def dialling_words(problem: Exception, address: str, port: int) -> str:
    """Return why there is no connection to an address."""
    if isinstance(problem, SSL.Error):
        return tls_words(problem)
    where = f"dial tcp {host_and_port(address, port)}"
    if isinstance(problem, error.TimeoutError):
        return f"{where}: i/o timeout"
    if isinstance(problem, error.ConnectionRefusedError):
        return f"{where}: connect: connection refused"
    if isinstance(problem, error.ConnectError) and problem.osError:
        return f"{where}: connect: {os.strerror(problem.osError).lower()}"
    if isinstance(problem, error.ConnectionClosed):
        return "EOF"
    return f"{where}: {problem}"


def tls_words(problem: SSL.Error) -> str:
    """Return the text of a TLS error."""
    if isinstance(problem, Distrusted):
        return str(problem)
    reasons = [str(entry[-1]) for entry in (problem.args[0] if problem.args and problem.args[0] else ())]
    if "certificate verify failed" in reasons:
        return "x509: certificate signed by unknown authority"
    if "wrong version number" in reasons:
        return "tls: first record does not look like a TLS handshake"
    for reason in reasons:
        _, alert, said = reason.partition("alert ")
        if alert:
            return f"remote error: tls: {_ALERTS.get(said, said)}"
    return f"tls: {', '.join(dict.fromkeys(reasons)) or 'handshake failed'}"


def loss_words(cause: BaseException) -> str:
    """Return the text of a connection that ended before the response to a request."""
    return tls_words(cause) if isinstance(cause, SSL.Error) else "EOF"


def status_words(code: int, said: str) -> str:
    """Return the text of an error response; `said` is its readable text, or empty."""
    if code in _STATUS:
        return _STATUS[code]
    if code in (403, 415):
        return said or "unknown"
    if code == 406:
        return said or "the server was unable to respond with a content type that the client supports"
    if code >= 500:
        return f"an error on the server ({go_quote(said or 'unknown')}) has prevented the request from succeeding"
    return f"the server responded with the status code {code} but did not return more information"


def said_by(content_type: str, body: bytes) -> str:
    """Return the readable text of a response: the message of a Status, or plain text; empty for anything else."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind == "application/json":
        return _message(body)
    return body[:_SAID].decode("utf-8", "replace").strip() if not kind or kind.startswith("text/") else ""


def _message(body: bytes) -> str:
    try:
        found = loads(body)
    except ValueError:
        return ""
    said = found.get("message") if isinstance(found, dict) and found.get("kind") == "Status" else None
    return said[:_SAID] if isinstance(said, str) else ""
