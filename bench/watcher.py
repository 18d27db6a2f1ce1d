"""One watch: a raw TLS socket whose events are recognised, not parsed."""

from __future__ import annotations

import re
import select
import ssl
import time
from array import array
from collections.abc import Sequence

import httptools

from bench.bodies import SEQUENCE_KEY
from bench.http1 import CONNECT_TIMEOUT_S, RECORD_BYTES, BenchError, Endpoint
from bench.watch_check import Seen

READS_A_TURN = 16  # so that no watcher keeps the others waiting
MAX_FRAME_BYTES = 64 << 20
_KEY = SEQUENCE_KEY.encode()
_JSON_NUMBER = b'"' + _KEY + b'":"'
_JSON_REVISION = b'"resourceVersion":"'
_JSON_ERROR = b'{"type":"ERROR"'
_PROTOBUF_NUMBER = _KEY + b"\x12\x08"
_PROTOBUF_REVISION = re.compile(rb"\x2a\x24.{36}\x32.", re.DOTALL)
"""In object metadata: a uid of 36 bytes (field 5), then tag and length of the revision (field 6)."""


class Events:
    """The events of one watch; `seen` is what came, `ended` that it is over and `error` why."""

    def __init__(self, protobuf: bool) -> None:
        self._scan = self._scan_protobuf if protobuf else self._scan_json
        self._rest = b""
        self.seen = Seen()
        self.bytes = self.events = self.others = 0
        self.ended = False
        self.error = ""

    def begin_phase(self) -> None:
        """Forget what has been seen so far."""
        self.seen, self.bytes, self.events, self.others = Seen(), 0, 0, 0

    def take(self, data: bytes) -> int:
        """Take more of the body; return the number of events that counted."""
        self.bytes += len(data)
        numbers: list[int] = []
        self._scan(self._rest + data if self._rest else data, numbers)
        if not numbers:
            return 0
        self.seen.numbers.extend(numbers)
        self.seen.times_ns.extend(array("Q", (time.monotonic_ns(),)) * len(numbers))
        return len(numbers)

    def _scan_json(self, data: bytes, numbers: list[int]) -> None:
        """Scan events, one per line."""
        lines = data.split(b"\n")
        self._rest = lines.pop()
        self.events += len(lines)
        for line in lines:
            at = line.find(_JSON_NUMBER)
            if at < 0:
                self._other(line, line.startswith(_JSON_ERROR))
                continue
            at += len(_JSON_NUMBER)
            numbers.append(int(line[at : at + 8]))
            at = line.find(_JSON_REVISION) + len(_JSON_REVISION)
            self.seen.revisions.append(int(line[at : line.find(b'"', at)]))

    def _scan_protobuf(self, data: bytes, numbers: list[int]) -> None:
        """Scan events, each behind its length in four bytes."""
        at, size = 0, len(data)
        while at + 4 <= size:
            length = int.from_bytes(data[at : at + 4])
            if length > MAX_FRAME_BYTES:
                raise BenchError("oversized frame")
            end = at + 4 + length
            if end > size:
                break
            self.events += 1
            number = data.find(_PROTOBUF_NUMBER, at, end)
            revision = _PROTOBUF_REVISION.search(data, at, end)
            if number < 0 or revision is None:
                self._other(data[at:end], b"ERROR" in data[at : at + 64])
            else:
                number += len(_PROTOBUF_NUMBER)
                numbers.append(int(data[number : number + 8]))
                start = revision.end()
                self.seen.revisions.append(int(data[start : start + data[start - 1]]))
            at = end
        self._rest = data[at:]

    def _other(self, event: bytes, error: bool) -> None:
        self.others += 1
        if error:
            self.error = self.error or event[:300].decode(errors="replace")


class Watcher(Events):
    """Reads one watch over a connection of its own."""

    def __init__(self, endpoint: Endpoint, path: str, accept: str, protobuf: bool) -> None:
        super().__init__(protobuf)
        self._request = endpoint.request("GET", path, accept)
        self._parser = httptools.HttpResponseParser(self)
        self._pieces: list[bytes] = []
        self._answered = False
        self.socket = endpoint.socket()

    @property
    def watches(self) -> Sequence[Events]:
        """All that come over the connection."""
        return (self,)

    def fileno(self) -> int:
        return self.socket.fileno()

    def close(self) -> None:
        self.socket.close()

    def open(self) -> None:
        """Ask for the watch and wait for the head of the answer; BenchError unless that is a 200."""
        self.socket.sendall(self._request)
        poll = select.poll()
        poll.register(self.socket, select.POLLIN)
        while not self._answered:
            if self.ended or not poll.poll(CONNECT_TIMEOUT_S * 1000):
                raise BenchError("the watch was not answered")
            self.readable()
        status = self._parser.get_status_code()
        if status != 200:
            raise BenchError(f"watch: status {status}: {self._rest[:300]!r}")

    def readable(self) -> int:
        """Read what is there; returns the number of events that counted."""
        self._read()
        if not self._pieces:
            return 0
        data = b"".join(self._pieces)
        self._pieces.clear()
        return self.take(data)

    def _read(self) -> None:
        try:
            for _ in range(READS_A_TURN):
                data = self.socket.recv(RECORD_BYTES)
                if not data:
                    self.ended = True
                    return
                self._parser.feed_data(data)
                if len(data) < RECORD_BYTES:
                    return
        except ssl.SSLWantReadError:
            return
        except OSError as problem:
            self.ended, self.error = True, str(problem)

    def on_body(self, data: bytes) -> None:
        self._pieces.append(data)

    def on_headers_complete(self) -> None:
        self._answered = True

    def on_message_complete(self) -> None:
        self.ended = True
