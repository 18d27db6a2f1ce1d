"""Many watchers in a process of their own, which read until the server ends each of them in good order.

`python -m tests.end_to_end.watch_ends_child PORT KUBECONFIG PATH COUNT FILE`: opens COUNT watches, prints `ready`,
reads until all have ended, writes what each has received to FILE and prints `done`. Watchers that differ, and a
stream without its last chunk, end it with an error.
"""

from __future__ import annotations

import selectors
import ssl
import sys
from pathlib import Path

from tests.end_to_end.client import tls_context
from tests.end_to_end.watch_child import READ_BYTES, Stream, Watcher

LIMIT_S = 100.0
LAST_CHUNK = b"0\r\n\r\n"


class EndingWatcher(Watcher):
    """A watch that is over some time."""

    over = False
    _tail = b""

    def read(self, stream: Stream) -> None:
        """Read all that is there; SystemExit if it ends without the last chunk."""
        while not self.over:
            try:
                data = self.socket.recv(READ_BYTES)
            except ssl.SSLWantReadError:
                break
            except OSError as error:
                raise SystemExit(f"a watch was cut off: {error}") from None
            self.over = not data
            self._tail = (self._tail + data)[-len(LAST_CHUNK) :]
            self._buffer += data
        if self.over and self._tail != LAST_CHUNK:
            raise SystemExit(f"a watch ended with {self._tail!r}")
        self._take(stream)


def main(port: str, kubeconfig: str, path: str, count: str, file: str) -> None:
    """Run the command of the child."""
    context = tls_context(Path(kubeconfig))
    request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/json\r\n\r\n".encode()
    watchers = [EndingWatcher(int(port), context, request) for _ in range(int(count))]
    selector = selectors.DefaultSelector()
    for watcher in watchers:
        watcher.open()
        selector.register(watcher.socket, selectors.EVENT_READ, watcher)
    print("ready", flush=True)
    stream = Stream(0, binary=False)
    while selector.get_map():
        ready = selector.select(LIMIT_S)
        if not ready:
            raise SystemExit("watchers wait for their end")
        for key, _ in ready:
            key.data.read(stream)
            if key.data.over:
                selector.unregister(key.fileobj)
    if any(watcher.position != len(stream.data) for watcher in watchers):
        raise SystemExit("some watches ended before others")
    Path(file).write_bytes(stream.data)
    print("done", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
