"""Owner's side of one worker: answers its requests to the store, and sends it changes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Final

from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from orchtw.storage.remote import messages
from orchtw.storage.remote.frames import Malformed
from orchtw.storage.remote.hub import TICK_S, Hub
from orchtw.storage.remote.link import Answer, Link, Questions, unanswerable
from orchtw.storage.remote.messages import NUMBER, PAIR, MessageKind
from orchtw.storage.remote.scanning import Scans
from orchtw.storage.store import WriteOutcome

MAX_UNCONFIRMED_BYTES: Final = 64 << 20
"""Bytes of unconfirmed changes; a worker that reads more slowly than they come is dropped."""

PATIENCE_S: Final = 5.0
"""Longest silence of a serving worker: a write may have to wait that long for one that hangs."""

LOADING_PATIENCE_S: Final = 60.0
"""Longest silence of a worker that does not serve yet; nothing waits for it."""

Fence = Callable[[], Deferred[None]]
"""Ends a worker's process; fires once it serves no client any more."""


class StoreServer:
    """Owner's side of a worker on the stream of `link`. `fence` is called once, when the worker is dropped.

    `worker` is its number, never reused. `answer` handles its questions beside the store; `served` is called when it
    begins to serve.
    """

    _log = Logger()

    def __init__(
        self,
        hub: Hub,
        worker: int,
        fence: Fence,
        answer: Answer = unanswerable,
        served: Callable[[], None] = lambda: None,
    ) -> None:
        self._hub = hub
        self._served = served
        self.worker = worker
        self._fence = fence
        self.link = Link(self._take, self.part)
        self.admitted = False
        self.received = self.released = hub.received
        self._unconfirmed: deque[tuple[int, int]] = deque()
        self._unconfirmed_bytes = 0
        self._silent_ticks = 0
        self._questions = Questions(answer)
        self._scans = Scans(hub.scan, self.link.send)
        self._left = self._ending = False
        self._kinds: dict[int, Callable[[bytes], None]] = {
            MessageKind.COMMIT: self._commit,
            MessageKind.RECEIVED: self._confirmed,
            MessageKind.GET: self._get,
            MessageKind.LIST: self._list,
            MessageKind.SCAN: self._scans.begin,
            MessageKind.NEXT: self._scans.proceed,
            MessageKind.LEAVE: self._scans.leave,
            MessageKind.HISTORY: self._history,
            MessageKind.COMPACT: self._compact,
            MessageKind.CHECK: lambda data: self._do(messages.read_number(data), hub.check()),
            MessageKind.ALIVE: lambda data: self._do(messages.read_number(data), hub.alive()),
            MessageKind.READY: self._ready,
            MessageKind.ASK: lambda data: self._questions.asked(self.link, data),
            MessageKind.TOLD: self._questions.told,
        }

    def begin(self) -> None:
        """Greet the worker on its open stream; from here on it receives changes."""
        self.received = self.released = self._hub.received
        self.link.send(MessageKind.GREETING, PAIR.pack(self.worker, self.received))
        self._hub.join(self)

    def end(self) -> None:
        """Send the request to end in good order: when the worker closes the stream it serves no one."""
        self._ending = True
        self.link.send(MessageKind.END)

    def ask(self, question: bytes) -> Deferred[bytes]:
        """Ask the worker. Fails with ServiceUnavailable when it goes."""
        return self._questions.ask(self.link, question)

    def part(self, why: str) -> None:
        """Drop the worker: end its process, and wait for it until it has ended."""
        if self._left:
            return
        self._left = True
        self.link.abort()
        self._questions.give_up()
        self._scans.leave_all()
        if self._ending:
            self._hub.leave(self)
            return
        self._log.warn("disconnecting a worker: {why}", why=why)
        self._fence().addCallback(lambda _: self._hub.leave(self))

    # What the hub says

    def tell(self, frame: bytes, revision: int, *, known: bool) -> None:
        """Send a part of a batch, as `HubMember.tell`; the methods below are those of `HubMember`."""
        if known:
            self.released = revision
        self._unconfirmed.append((revision, len(frame)))
        self._unconfirmed_bytes += len(frame)
        self.link.send_frame(frame)
        if self._unconfirmed_bytes > MAX_UNCONFIRMED_BYTES + len(frame):
            self.part(f"{self._unconfirmed_bytes >> 20} MiB of changes are unacknowledged")

    def release(self, frame: bytes, revision: int) -> None:
        if self.released < revision:
            self.released = revision
            self.link.send_frame(frame)

    def tick(self) -> None:
        """Check for silence, in turns of our own, not seconds: while this process stands still no worker is
        silent.
        """
        if self.link.heard:
            self._silent_ticks, self.link.heard = 0, False
        self._silent_ticks += 1
        patience_s = PATIENCE_S if self.admitted else LOADING_PATIENCE_S
        if self._silent_ticks > patience_s / TICK_S:
            self.part(f"it has been silent for {patience_s:.0f} s")
        else:
            self.link.send(MessageKind.PING)

    def close(self) -> None:
        self._left = True
        self._questions.give_up()
        self._scans.leave_all()
        self.link.close()

    # What the worker says

    def _take(self, kind: int, data: bytes) -> None:
        handle = self._kinds.get(kind)
        if handle is None:
            raise Malformed(f"unexpected message of kind {kind}")
        handle(data)

    def _confirmed(self, data: bytes) -> None:
        received = messages.read_number(data)
        if received > self._hub.received:
            raise Malformed(f"revision {received} was acknowledged before it was sent")
        if received <= self.received:
            return
        self.received = received
        while self._unconfirmed and self._unconfirmed[0][0] <= received:
            self._unconfirmed_bytes -= self._unconfirmed.popleft()[1]
        self._hub.confirmed()

    def _ready(self, data: bytes) -> None:
        """Admit the worker: commits wait for it from now on. Earlier releases were sent before, so it has them
        all.
        """
        self.admitted = True
        self.link.send(MessageKind.ADMITTED)
        self._served()

    def _commit(self, data: bytes) -> None:
        numbers, ops = messages.read_commits(data, self.worker)
        for number, answer in zip(numbers, self._hub.forwarded(ops), strict=True):
            answer.addCallbacks(self._answer, self._failed, (number,), errbackArgs=(number,))

    def _answer(self, refused: WriteOutcome | None, number: int) -> None:
        if refused is None:
            return
        if refused.fenced:
            self.link.send(MessageKind.FENCED, NUMBER.pack(number))
        else:
            self.link.send(MessageKind.REFUSED, messages.state(number, refused.current))

    def _get(self, data: bytes) -> None:
        number, key, revision = messages.read_get(data)

        async def found() -> None:
            item = await self._hub.get(key, revision)
            self.link.send(MessageKind.STATE, messages.state(number, item))

        self._do(number, found(), told=False)

    def _list(self, data: bytes) -> None:
        number, prefix, revision, limit, start = messages.read_list(data)

        async def found() -> None:
            page = await self._hub.list(prefix, revision=revision, limit=limit, start=start)
            for part in messages.page(number, page):
                self.link.send(MessageKind.PAGE, part)

        self._do(number, found(), told=False)

    def _history(self, data: bytes) -> None:
        number, after, upto = messages.read_history(data)

        async def found() -> None:
            parts = messages.changes(await self._hub.history(after, upto))
            for part in parts:
                self.link.send(MessageKind.PAST, messages.past(number, part, last=False))
            self.link.send(MessageKind.PAST, messages.past(number, b"", last=True))

        self._do(number, found(), told=False)

    def _compact(self, data: bytes) -> None:
        number, revision = messages.read_pair(data)
        self._do(number, self._hub.compact(revision))

    def _do(self, number: int, work: Coroutine[Any, Any, None], *, told: bool = True) -> None:
        """Do the requested work; `told`: its end is the answer."""
        done = Deferred.fromCoroutine(work)
        if told:
            done.addCallback(lambda _: self.link.send(MessageKind.DONE, NUMBER.pack(number)))
        done.addErrback(self._failed, number)

    def _failed(self, failure: Failure, number: int) -> None:
        assert failure.value is not None
        self.link.send(MessageKind.FAILED, messages.failed(number, failure.value))
