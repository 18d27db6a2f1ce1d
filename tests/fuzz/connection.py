"""A kept-alive TLS connection of the fuzzer: several requests may be under way, answers come in their order."""

from __future__ import annotations

import ssl
import time
from collections import deque
from dataclasses import dataclass

from bench.http1 import RECORD_BYTES, Endpoint
from tests.fuzz.answers import Responses
from tests.fuzz.case import Case


@dataclass(slots=True)
class Sent:
    """A request under way: its number (or a follow-up's text) is in `audit_id`; `since` is when its turn began."""

    case: Case
    audit_id: str
    since: float


class Connection:
    """Non-blocking connection; its poller calls `flush` and `read`."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self.socket = endpoint.socket()
        self.responses = Responses()
        self.under_way: deque[Sent] = deque()
        self.closed = False
        self._unsent = bytearray()

    def fileno(self) -> int:
        """Return the descriptor for `poll`."""
        return self.socket.fileno()

    @property
    def wants_write(self) -> bool:
        """Report whether data waits for the socket."""
        return bool(self._unsent)

    def send(self, case: Case, audit_id: str) -> None:
        """Queue a request and send what goes."""
        host = f"{self._endpoint.host}:{self._endpoint.port}"
        self._unsent += case.message(host, audit_id, self._endpoint.token)
        self.under_way.append(Sent(case, audit_id, time.monotonic()))
        self.flush()

    def flush(self) -> None:
        """Send what the socket takes."""
        try:
            while self._unsent:
                del self._unsent[: self.socket.send(memoryview(self._unsent)[: RECORD_BYTES].tobytes())]
        except (ssl.SSLWantWriteError, ssl.SSLWantReadError):
            pass
        except OSError:
            self._unsent.clear()  # what the server said before it closed may still be read

    def read(self) -> None:
        """Take what has come; notices the end."""
        try:
            while data := self.socket.recv(RECORD_BYTES):
                self.responses.feed(data)
            self.closed = True
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            pass
        except OSError:
            self.closed = True

    def answered(self) -> Sent:
        """The request that the next answer is to; the turn of the one after it begins."""
        sent = self.under_way.popleft()
        if self.under_way:
            self.under_way[0].since = time.monotonic()
        return sent

    def close(self) -> None:
        """Let go of the socket, without a word."""
        self.closed = True
        self.socket.close()
