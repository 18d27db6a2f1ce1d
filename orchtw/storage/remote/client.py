"""Worker's side: the store that another process owns, as a `Store` of this one."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Final

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IProtocol

from orchtw import errors
from orchtw.storage.feed import Feed
from orchtw.storage.remote import messages
from orchtw.storage.remote.frames import Malformed
from orchtw.storage.remote.link import Answer, Link, Questions, unanswerable
from orchtw.storage.remote.messages import NUMBER, PAIR, Answered, MessageKind
from orchtw.storage.store import Change, KeyValue, Op, Page, Store, Subscription, Wanted, WriteOutcome

MAX_WAITING_WRITES: Final = 20_000
MAX_WAITING_BYTES: Final = 64 << 20
ENOUGH: Final = 16
"""Writes that are sent before the turn of the reactor ends: the owner may as well begin with them."""

ENOUGH_BYTES: Final = 128 << 10
"""Size from which they are, however few: more does not fit into the stream at once."""

MAX_REVISION: Final = (1 << 63) - 1
LOOKS_BACK: Final = 10_000
"""Revisions of history that a process reads which takes another's place."""


class RemoteStore(Store):
    """Store of the owner process. `connect` opens the stream to it for a protocol; `lost` is called when that breaks.

    `call_soon` runs a function once the reactor has handled what it is handling now.
    `end` is called when the owner wants this process to end; `answer` handles its questions beside the store.
    """

    def __init__(
        self,
        connect: Callable[[IProtocol], object],
        lost: Callable[[str], None],
        call_soon: Callable[[Callable[[], None]], object],
        end: Callable[[], None] = lambda: None,
        answer: Answer = unanswerable,
    ) -> None:
        self._connect = connect
        self._tell_lost = lost
        self._call_soon = call_soon
        self._link = Link(self._take, self._lost)
        self._feed = Feed()
        self._worker = self._received = self._number = 0
        self._unreleased: deque[tuple[list[Change], list[Answered]]] = deque()
        self._greeted: Deferred[None] = Deferred()
        self._admitted: Deferred[None] = Deferred()
        self._idle: Deferred[None] | None = None
        self._open = False
        self._writes: dict[int, Op] = {}
        self._outcomes: dict[int, Deferred[WriteOutcome]] = {}
        self._waiting_bytes = self._gathered_bytes = 0
        self._gathered: list[bytes] = []
        self._asked: dict[int, Deferred[Any]] = {}
        self._parts: dict[int, Any] = {}
        self.questions = Questions(answer)
        self._kinds: dict[int, Callable[[bytes], None]] = {
            MessageKind.BATCH: self._batch,
            MessageKind.KNOWN: self._known,
            MessageKind.RELEASE: lambda data: self._release(messages.read_number(data)),
            MessageKind.REFUSED: self._refused,
            MessageKind.FENCED: self._fenced,
            MessageKind.FAILED: self._failed,
            MessageKind.STATE: lambda data: self._found(*messages.read_state(data)),
            MessageKind.PAGE: self._page,
            MessageKind.PAST: self._past,
            MessageKind.DONE: lambda data: self._found(messages.read_number(data), None),
            MessageKind.PING: lambda data: self._confirm(),
            MessageKind.GREETING: self._greeting,
            MessageKind.ADMITTED: lambda data: self._admitted.callback(None),
            MessageKind.ASK: lambda data: self.questions.asked(self._link, data),
            MessageKind.TOLD: self.questions.told,
            MessageKind.END: lambda data: end(),
        }

    @property
    def shared(self) -> bool:
        """Report True, as `Store.shared`; the methods below are those of `Store`."""
        return True

    @property
    def looks_back(self) -> int:
        return LOOKS_BACK

    def current(self) -> bool:
        """Report whether all received changes are released: the owner acknowledges no write before we have it."""
        return self._feed.revision == self._received

    async def start(self) -> None:
        self._connect(self._link)
        await self._greeted
        self._open = True

    async def ready(self) -> None:
        """Wait until this process may serve: from then on no write is acknowledged without its knowing."""
        self._link.send(MessageKind.READY)
        await self._admitted

    @property
    def admitted(self) -> bool:
        """Report whether this process may serve."""
        return self._admitted.called

    def ask(self, question: bytes) -> Deferred[bytes]:
        """Ask the owner a question; return its answer."""
        return self.questions.ask(self._link, question)

    async def stop(self) -> None:
        if not self._open:
            return
        self._open = False
        if self._outcomes:
            self._idle = Deferred()
            await self._idle
        self._link.close()
        self._give_up(_closed())

    async def get(self, key: str, revision: int = 0) -> KeyValue | None:
        self._refuse_if_closed()
        try:
            self._number += 1
            question = messages.get(self._number, key, self._told(revision))
        except UnicodeEncodeError:
            return None
        found: KeyValue | None = await self._ask(MessageKind.GET, question)
        return found

    async def list(self, prefix: str, *, revision: int = 0, limit: int = 0, start: str = "") -> Page:
        self._refuse_if_closed()
        try:
            self._number += 1
            question = messages.list_of(self._number, prefix, self._told(revision), limit, start)
        except UnicodeEncodeError:
            raise errors.BadRequest("the key is not valid text") from None
        found: Page = await self._ask(MessageKind.LIST, question)
        return found

    async def scan(self, prefix: str, *, revision: int = 0, wanted: Wanted = None) -> AsyncIterator[Page]:
        """Yield pages, as `Store.scan`; each is requested while the one before is processed."""
        self._refuse_if_closed()
        self._number += 1
        number = self._number
        try:
            question = messages.scan(number, prefix, self._told(revision))
        except UnicodeEncodeError:
            raise errors.BadRequest("the key is not valid text") from None
        waiting: Deferred[Page | None] = self._ask(MessageKind.SCAN, question)
        try:
            while (page := await waiting) is not None:
                waiting = self._asked[number] = Deferred()
                self._refuse_if_closed()
                self._link.send(MessageKind.NEXT, NUMBER.pack(number))
                yield page
        finally:
            waiting.addErrback(lambda _failure: None)
            self._link.send(MessageKind.LEAVE, NUMBER.pack(number))

    def commit(self, op: Op) -> Deferred[WriteOutcome]:
        waiting: Deferred[WriteOutcome] = Deferred()
        if not self._open:
            waiting.errback(_closed())
            return waiting
        if len(self._outcomes) >= MAX_WAITING_WRITES or self._waiting_bytes >= MAX_WAITING_BYTES:
            waiting.errback(
                errors.TooManyRequests("too many writes are waiting for the store", {"retryAfterSeconds": 1})
            )
            return waiting
        self._number += 1
        try:
            content = messages.commit(self._number, op)
        except UnicodeEncodeError:
            waiting.errback(errors.BadRequest("the key is not valid text"))
            return waiting
        self._writes[self._number] = op
        self._outcomes[self._number] = waiting
        self._waiting_bytes += len(op.value or b"")
        self._hand_over(content)
        return waiting

    def _hand_over(self, content: bytes) -> None:
        """Send a write together with the others of the same turn of the reactor."""
        gathered = self._gathered
        gathered.append(content)
        self._gathered_bytes += len(content)
        if len(gathered) >= ENOUGH or self._gathered_bytes >= ENOUGH_BYTES:
            self._flush()
        elif len(gathered) == 1:
            self._call_soon(self._flush)

    def _flush(self) -> None:
        gathered, self._gathered = self._gathered, []
        self._gathered_bytes = 0
        if gathered:
            self._link.send(MessageKind.COMMIT, *gathered)

    async def subscribe(self, after_revision: int, deliver: Callable[[Sequence[Change]], None]) -> Subscription:
        self._refuse_if_closed()
        return await self._feed.follow(after_revision, deliver, self._history)

    async def revision(self) -> int:
        """Return the latest revision received; every acknowledged write is included."""
        self._refuse_if_closed()
        return self._received

    async def compact(self, revision: int) -> None:
        self._refuse_if_closed()
        self._number += 1
        await self._ask(MessageKind.COMPACT, PAIR.pack(self._number, self._told(revision)))

    async def check(self) -> None:
        await self._checked(MessageKind.CHECK)

    async def alive(self) -> None:
        await self._checked(MessageKind.ALIVE)

    async def _checked(self, kind: MessageKind) -> None:
        self._refuse_if_closed()
        self._number += 1
        await self._ask(kind, NUMBER.pack(self._number))

    async def _history(self, after: int, upto: int) -> Sequence[Change]:
        self._number += 1
        found: Sequence[Change] = await self._ask(MessageKind.HISTORY, messages.history(self._number, after, upto))
        return found

    def _ask(self, kind: MessageKind, question: bytes) -> Deferred[Any]:
        """Send a question under the latest number; return its answer."""
        waiting = self._asked[self._number] = Deferred()
        self._link.send(kind, question)
        return waiting

    def _told(self, revision: int) -> int:
        """Return a revision that fits into a message. Raises Timeout (504) for larger ones, which no process
        knows.
        """
        if revision > MAX_REVISION:
            raise errors.Timeout.future_version(revision, self._received)
        return revision

    def _refuse_if_closed(self) -> None:
        if not self._open:
            raise _closed()

    # What the owner says

    def _take(self, kind: int, data: bytes) -> None:
        handle = self._kinds.get(kind)
        if handle is None:
            raise Malformed(f"unexpected message of kind {kind}")
        handle(data)

    def _greeting(self, data: bytes) -> None:
        self._worker, revision = messages.read_pair(data)
        self._received = self._feed.revision = revision
        self._greeted.callback(None)

    def _batch(self, data: bytes) -> None:
        """Take in a batch; followers, and reads that must be fresh, wait for its release."""
        changes, answered = messages.read_changes(data, self._worker, self._writes)
        if not changes or changes[0].revision != self._received + 1:
            raise Malformed(f"a batch that does not follow revision {self._received}")
        self._received = changes[-1].revision
        self._unreleased.append((changes, answered))
        self._confirm()

    def _known(self, data: bytes) -> None:
        """Take in a batch that may be released at once."""
        self._batch(data)
        self._release(self._received)

    def _confirm(self) -> None:
        self._link.send(MessageKind.RECEIVED, NUMBER.pack(self._received))

    def _release(self, revision: int) -> None:
        """Release batches: tell followers first, then answer the writers, who get no other answer."""
        waiting = self._unreleased
        while waiting and waiting[0][0][-1].revision <= revision:
            changes, answered = waiting.popleft()
            self._feed.publish(changes)
            for number, at_revision in answered:
                self._written(number).callback(WriteOutcome(at_revision))
        self._look_idle()

    def _refused(self, data: bytes) -> None:
        number, current = messages.read_state(data)
        self._written(number).callback(WriteOutcome(0, current))
        self._look_idle()

    def _fenced(self, data: bytes) -> None:
        self._written(messages.read_number(data)).callback(WriteOutcome(0, fenced=True))
        self._look_idle()

    def _failed(self, data: bytes) -> None:
        number, problem = messages.read_failed(data)
        waiting = self._written(number) if number in self._outcomes else self._asked.pop(number)
        self._parts.pop(number, None)
        waiting.errback(problem)
        self._look_idle()

    def _written(self, number: int) -> Deferred[Any]:
        self._waiting_bytes -= len(self._writes.pop(number).value or b"")
        return self._outcomes.pop(number)

    def _look_idle(self) -> None:
        if self._idle is not None and not self._outcomes:
            idle, self._idle = self._idle, None
            idle.callback(None)

    def _found(self, number: int, result: object) -> None:
        self._asked.pop(number).callback(result)

    def _page(self, data: bytes) -> None:
        number, last, page = messages.read_page(data)
        items = self._parts.setdefault(number, [])
        items += page.items
        if last:
            del self._parts[number]
            self._found(number, Page(items, page.revision, page.more, page.remaining, page.damaged))

    def _past(self, data: bytes) -> None:
        number, last, changes = messages.read_past(data)
        found = self._parts.setdefault(number, [])
        found += changes
        if last:
            self._found(number, self._parts.pop(number))

    def _lost(self, why: str) -> None:
        self._open = False
        self._tell_lost(why)
        self._give_up(errors.InternalError.of("the process that owns the store has ended"))
        self._look_idle()

    def _give_up(self, problem: errors.StatusError) -> None:
        waiting: list[Deferred[Any]] = [*self._asked.values(), *self._outcomes.values()]
        self._asked, self._outcomes, self._writes = {}, {}, {}
        self._waiting_bytes = 0
        for each in waiting:
            each.errback(problem)
        self.questions.give_up()


def _closed() -> errors.ServiceUnavailable:
    return errors.ServiceUnavailable("the store is not open")
