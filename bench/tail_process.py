"""Watchers that read all that comes, lose their connections now and then, and go on where they were."""

from __future__ import annotations

import re
import select
import socket
import struct
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing.connection import Connection as Pipe

from bench.child_process import ChildProcess, Commands
from bench.churn import PREFIX, Seen, differences
from bench.http1 import Endpoint
from bench.watcher import MAX_FRAME_BYTES, Watcher

OPENERS = 8
STALL_S = 20.0
_RESET = struct.pack("ii", 1, 0)  # lingering for no time: the connection is reset, not closed
_NAME = re.compile(rb"%b-\d{7}" % PREFIX.encode())
_TYPE = re.compile(rb"ADDED|MODIFIED|DELETED|BOOKMARK|ERROR")
_REVISION = re.compile(rb'"resourceVersion":"(\d+)"')
_PROTOBUF_REVISION = re.compile(rb"\x2a\x24.{36}\x32.(\d+)\x38", re.DOTALL)
"""In object metadata: a uid of 36 bytes (field 5), length and digits of the revision (field 6), the generation's tag.

That tag is a digit's code too: the pattern gives it back.
"""


@dataclass(slots=True)
class Tally:
    """Return what the watchers of a process have received since the last question."""

    deliveries: int = 0
    wrong: int = 0
    resets: int = 0
    first_error: str = ""

    def add(self, other: Tally) -> None:
        """Count another process' watchers in."""
        self.deliveries += other.deliveries
        self.wrong += other.wrong
        self.resets += other.resets
        self.first_error = self.first_error or other.first_error


class Tail(Watcher):
    """One watch, opened anew from the last event's revision when it has been reset or has ended."""

    def __init__(self, endpoint: Endpoint, path: str, revision: int, accept: str, protobuf: bool) -> None:
        watch = f"{path}?watch=true&timeoutSeconds=7200&resourceVersion={revision}"
        super().__init__(endpoint, watch, accept, protobuf)
        self.path, self.revision, self.accept, self.protobuf = path, revision, accept, protobuf
        self.had: list[Seen] = []

    def _scan_json(self, data: bytes, numbers: list[int]) -> None:
        lines = data.split(b"\n")
        self._rest = lines.pop()
        for line in lines:
            self._event(line, _REVISION)

    def _scan_protobuf(self, data: bytes, numbers: list[int]) -> None:
        at = 0
        while at + 4 <= len(data):
            end = at + 4 + min(int.from_bytes(data[at : at + 4]), MAX_FRAME_BYTES)
            if end > len(data):
                break
            self._event(data[at + 4 : end], _PROTOBUF_REVISION)
            at = end
        self._rest = data[at:]

    def _event(self, event: bytes, revision: re.Pattern[bytes]) -> None:
        kind, name, version = _TYPE.search(event), _NAME.search(event), revision.search(event)
        if kind is None or name is None or version is None:
            self._other(event, error=True)
            return
        self.had.append(Seen(kind[0].decode(), name[0].decode()))
        self.revision = int(version[1])

    def reset(self) -> None:
        """Cut the connection as a crash of the client would."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.socket.close()

    def again(self, endpoint: Endpoint) -> Tail:
        """Return a new watch that goes on after the last event of this one."""
        following = Tail(endpoint, self.path, self.revision, self.accept, self.protobuf)
        following.had = self.had
        following.open()
        return following


class TailProcess(ChildProcess):
    """The parent's handle: the commands are the methods of `Tails`."""

    def __init__(self) -> None:
        super().__init__(_main)


class Tails(Commands):
    """The child's loop: sockets and the pipe on one epoll."""

    def __init__(self, pipe: Pipe) -> None:
        super().__init__(pipe)
        self._tails: dict[int, Tail] = {}
        self._tally = Tally()
        self._next_reset = 0

    def open(self, endpoint: Endpoint, path: str, revision: int, accept: str, protobuf: bool, count: int) -> None:
        """Open `count` watches, a few at a time."""

        def one(_: int) -> Tail:
            tail = Tail(endpoint, path, revision, accept, protobuf)
            tail.open()
            return tail

        self._endpoint = endpoint
        with ThreadPoolExecutor(OPENERS) as pool:
            for tail in pool.map(one, range(count)):
                self._add(tail)

    def reset(self, count: int) -> None:
        """Cut `count` connections, in turn, and open their watches anew."""
        for _ in range(count):
            fds = list(self._tails)
            self._next_reset = (self._next_reset + 1) % len(fds)
            fd = fds[self._next_reset]
            tail = self._tails.pop(fd)
            self._epoll.unregister(fd)
            tail.reset()
            self._add(tail.again(self._endpoint))
            self._tally.resets += 1

    def settle(self, expected: Mapping[str, Sequence[Seen]]) -> Tally:
        """Read until every watch has had as many events as `expected` of its path, then compare."""
        wanted = {path: len(events) for path, events in expected.items()}
        moved, before = time.monotonic(), -1
        while time.monotonic() - moved < STALL_S:
            if all(len(tail.had) >= wanted[tail.path] for tail in self._tails.values()):
                break
            self._turn(0.5)
            had = sum(len(tail.had) for tail in self._tails.values())
            if had != before:
                moved, before = time.monotonic(), had
        tally, self._tally = self._tally, Tally()
        for tail in self._tails.values():
            tally.deliveries += len(tail.had)
            tally.wrong += differences(expected[tail.path], tail.had)
            tally.first_error = tally.first_error or tail.error
            tail.had = []
        return tally

    def close(self) -> None:
        """Close all connections of the process."""
        for fd, tail in self._tails.items():
            self._epoll.unregister(fd)
            tail.close()
        self._tails.clear()

    def _add(self, tail: Tail) -> None:
        self._tails[tail.fileno()] = tail
        self._epoll.register(tail.fileno(), select.EPOLLIN)
        tail.readable()

    def _turn(self, timeout_s: float) -> bool:
        """Read once from whatever is ready; True if the pipe is."""
        command = False
        for fd, _ in self._epoll.poll(timeout_s):
            tail = self._tails.get(fd)
            if tail is None:
                command = True
                continue
            tail.readable()
            if tail.ended:
                self._epoll.unregister(fd)
                del self._tails[fd]
                tail.close()
                self._add(tail.again(self._endpoint))
        return command


def _main(pipe: Pipe) -> None:
    Tails(pipe).run()
