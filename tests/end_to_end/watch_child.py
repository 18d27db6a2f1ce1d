"""Many watchers in a process of their own, which must all receive the same stream of bytes.

`python -m tests.end_to_end.watch_child PORT KUBECONFIG PATH ACCEPT COUNT EVENTS FILE`: opens COUNT watches, prints
`ready`, reads until each has EVENTS events, writes the stream to FILE and prints `done`. The first byte in which two
watchers differ ends it with an error, and so does an end of a stream.
"""

from __future__ import annotations

import selectors
import socket
import ssl
import sys
from pathlib import Path

from tests.end_to_end.client import PATIENCE_S, tls_context

READ_BYTES = 65536


class Stream:
    """Expected stream of every watcher: the longest received so far, and its number of events."""

    def __init__(self, events: int, *, binary: bool) -> None:
        self.data = bytearray()
        self._left = events
        self._binary = binary
        self._counted = 0

    def agree(self, position: int, data: bytes) -> int:
        """Check `data` received at `position` against the stream, which it may prolong; returns the new position."""
        known = self.data[position : position + len(data)]
        if known != data[: len(known)]:
            raise SystemExit(f"a watcher received {data[:300]!r} for {bytes(known[:300])!r} at byte {position}")
        if len(data) > len(known):
            self.data += data[len(known) :]
            self._count()
        return position + len(data)

    def ended_by(self, position: int) -> bool:
        """Report whether a watcher at `position` has had all events."""
        return self._left <= 0 and position == len(self.data)

    def _count(self) -> None:
        if self._binary:
            while len(self.data) >= self._counted + 4:
                size = int.from_bytes(self.data[self._counted : self._counted + 4], "big")
                if len(self.data) < self._counted + 4 + size:
                    return
                self._counted += 4 + size
                self._left -= 1
        else:
            self._left -= self.data.count(b"\n", self._counted)
            self._counted = len(self.data)


class Watcher:
    """One watch on a TLS socket of its own."""

    def __init__(self, port: int, context: ssl.SSLContext, request: bytes) -> None:
        plain = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
        self.socket = context.wrap_socket(plain, server_hostname="127.0.0.1")
        self.socket.sendall(request)
        self.position = 0
        self._buffer = b""

    def open(self) -> None:
        """Wait for the head of the answer."""
        while b"\r\n\r\n" not in self._buffer:
            data = self.socket.recv(READ_BYTES)
            if not data:
                raise SystemExit("a watch was not answered")
            self._buffer += data
        head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200 "):
            raise SystemExit(f"a watch was refused: {head!r}")
        self.socket.setblocking(False)

    def read(self, stream: Stream) -> None:
        """Read all that is there."""
        while True:
            try:
                data = self.socket.recv(READ_BYTES)
            except ssl.SSLWantReadError:
                break
            if not data:
                raise SystemExit("a watch ended")
            self._buffer += data
        self._take(stream)

    def _take(self, stream: Stream) -> None:
        """Hand over the complete chunks."""
        buffer, start = self._buffer, 0
        while (line := buffer.find(b"\r\n", start)) >= 0:
            size = int(buffer[start:line], 16)
            end = line + 2 + size
            if len(buffer) < end + 2:
                break
            self.position = stream.agree(self.position, buffer[line + 2 : end])
            start = end + 2
        self._buffer = buffer[start:]


def main(port: str, kubeconfig: str, path: str, accept: str, count: str, events: str, file: str) -> None:
    """Run the command of the child."""
    context = tls_context(Path(kubeconfig))
    request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: {accept}\r\n\r\n".encode()
    watchers = [Watcher(int(port), context, request) for _ in range(int(count))]
    selector = selectors.DefaultSelector()
    for watcher in watchers:
        watcher.open()
        selector.register(watcher.socket, selectors.EVENT_READ, watcher)
    print("ready", flush=True)
    stream = Stream(int(events), binary="protobuf" in accept)
    missing = set(watchers)
    while missing:
        ready = selector.select(PATIENCE_S)
        if not ready:
            raise SystemExit(f"{len(missing)} watchers wait for events that do not come")
        for key, _ in ready:
            key.data.read(stream)
        missing = {watcher for watcher in missing if not stream.ended_by(watcher.position)}
    Path(file).write_bytes(stream.data)
    print("done", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
