"""The place of a store, as the imitated etcd tells the API servers that are started with its URL.

A server asks `GET /orchtw/store` at each URL of `--etcd-servers`. A real etcd has no such path, and is used as one.
"""

from __future__ import annotations

import json
import socket
import time
from typing import Final, NamedTuple
from urllib.parse import urlsplit

PATH: Final = "/orchtw/store"
"""Path of the answer: a JSON object with the fields of `StorePlace`."""

WAIT_S: Final = 10.0
"""Seconds to wait for an etcd that is not listening yet: both may have been started at once."""

_TIMEOUT_S: Final = 5.0
_RETRY_S: Final = 0.1
_ANSWER_BYTES: Final = 64 * 1024


class StorePlace(NamedTuple):
    """Absolute path of the folder for the store; `unsafe_no_fsync` as the flag of that name."""

    folder: str
    unsafe_no_fsync: bool


class NoEtcd(Exception):
    """Error about an etcd that cannot be asked; the text is one line."""


def ask(url: str, wait_s: float = WAIT_S) -> StorePlace | None:
    """Return the place that the imitated etcd at `url` keeps, or None if a real etcd listens there.

    Raises NoEtcd if nothing has listened there for `wait_s`.
    """
    parts = urlsplit(url)
    if parts.scheme != "http" or parts.hostname is None:
        return None  # the imitation has no TLS
    deadline = time.monotonic() + wait_s
    while True:
        try:
            return _place(_get(parts.hostname, parts.port or 2379))
        except ConnectionRefusedError as problem:
            if time.monotonic() > deadline:
                raise NoEtcd(f"{url}: {problem.strerror}") from None
            time.sleep(_RETRY_S)
        except OSError as problem:
            raise NoEtcd(f"{url}: {problem.strerror or problem}") from None


def _get(host: str, port: int) -> bytes:
    """Return the whole answer, without the libraries for HTTP, whose import takes longer than all of the rest."""
    with socket.create_connection((host, port), timeout=_TIMEOUT_S) as connection:
        connection.sendall(f"GET {PATH} HTTP/1.0\r\nHost: {host}\r\n\r\n".encode("ascii"))
        pieces: list[bytes] = []
        while sum(map(len, pieces)) < _ANSWER_BYTES and (piece := connection.recv(_ANSWER_BYTES)):
            pieces.append(piece)
    return b"".join(pieces)


def _place(answer: bytes) -> StorePlace | None:
    head, _, body = answer.partition(b"\r\n\r\n")
    if b" 200 " not in head.partition(b"\r\n")[0] + b" ":
        return None
    try:
        place = StorePlace(**json.loads(body))
    except (ValueError, TypeError):
        return None
    return place if isinstance(place.folder, str) else None
