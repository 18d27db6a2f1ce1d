"""Contract of stores: values and one abstract class.

A store keeps bytes under text keys and counts every committed write with one global revision, as etcd
does: that number, in decimal, is an object's `resourceVersion`. Keys are ordered by their UTF-8 bytes.
Every method of `Store` is called on the reactor thread and every answer comes back on it.
"""

from __future__ import annotations

import abc
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final, Protocol

import msgspec
from twisted.internet.defer import Deferred, fail

from orchtw import errors
from orchtw.metrics.series import ShownFamily

SCAN_ITEMS: Final = 500
"""Keys in a page of `Store.scan` where the store has no better way: of 6 KiB objects, 3 MiB."""

Wanted = Callable[[str], bool] | None
"""Test of whether a key's value is needed; None: all are. Called from any thread."""

Guard = tuple[str, int]
"""A key and the revision of its last write."""

# Positional on purpose: these four are made for every write, and keyword calls cost a third more.


class KeyValue(msgspec.Struct, frozen=True):
    """One live key: its value, the revision of its last write and that of its creation."""

    key: str
    value: bytes
    revision: int
    create_revision: int


class Change(msgspec.Struct, frozen=True):
    """One committed write.

    `value` is None for a delete. `previous` is what the write replaced; None for a create; its value is empty if it
    was damaged, and may be before `Store.show_replaced`. `note` is the `Op.note` of a write that this process made
    while the subscriber was live, or `Locked`, or the `Terms` that another process of this server has sent with its
    write, else None.

    With an empty key it is not a write: the store has reached `revision` without further changes. Shared stores send
    it when others write outside of the subscribers' keys.
    """

    revision: int
    key: str
    value: bytes | None
    previous: KeyValue | None
    note: object = None


class Op(msgspec.Struct, frozen=True):
    """One write: put `value`, or delete the key when it is None.

    `expected` is the revision of the key's last write for the write to happen: 0 means that the key must not exist,
    None that anything goes. `note` travels to this process' `Change.note` untouched, so that a subscriber need not
    decode what the writer had in hand.

    `ttl_s`, if not 0, is the lifetime of the value in seconds from its commit: the store then deletes the key by
    itself, unless it has been written again, with a `ttl_s` of its own. Expiry survives restarts, and appears as any
    other deletion, a few seconds late at most (reference STORE-15).

    `guard` names another key, and the revision of its last write (0: it does not exist) without which this write does
    not happen: the fence of a writer whose right to write lies in that key (reference CTRL-51).
    """

    key: str
    value: bytes | None
    expected: int | None = None
    note: object = None
    ttl_s: float = 0.0
    guard: Guard | None = None


class WriteOutcome(msgspec.Struct, frozen=True):
    """Outcome of an `Op`: the revision it was committed at, or 0 and the current state of the key.

    `current` is only filled when `revision` is 0; None then means that the key does not exist. Deleting a key that
    does not exist commits nothing, whatever was expected. The value of a damaged key is empty. `fenced`: the key of
    the op's guard has been written since; nothing else was checked.
    """

    revision: int
    current: KeyValue | None = None
    fenced: bool = False


class Damaged(msgspec.Struct, frozen=True):
    """A key whose stored bytes are not what was written at `revision`, or, with a reason, cannot be read for now.

    `locked` is that reason: another configuration could read them, so they must be left alone.
    """

    key: str
    revision: int
    locked: str = ""


class Page(msgspec.Struct, frozen=True):
    """A part of a list, in key order, as of `revision`.

    `more` says whether keys follow the last item, `remaining` how many (0 when `more` is False). `damaged` are the
    keys left out of the items because their bytes cannot be trusted.
    """

    items: list[KeyValue]
    revision: int
    more: bool = False
    remaining: int = 0
    damaged: Sequence[Damaged] = ()


class Terms(msgspec.Struct, frozen=True):
    """Note of a Change that another process of this server has made: the `terms` of the note that it has there.

    They say what that process knew of the value, so that no other one decodes it.
    """

    terms: bytes


def terms_of(note: object) -> bytes:
    """Return what a note tells other processes; empty: nothing."""
    terms: bytes = getattr(note, "terms", b"")
    return terms


class Locked(msgspec.Struct, frozen=True):
    """Note of a Change whose value cannot be read for now: it is as stored."""

    why: str


class Restored(msgspec.Struct, frozen=True):
    """Note of the Changes by which a `Store.replace` brings an earlier state back; nothing of it is decoded.

    `expires`: clients are not told of each of them, but that all they know is out of date.
    """

    expires: bool
    stored: ClassVar[None] = None


class Subscription(abc.ABC):
    """Handle of one change feed."""

    @abc.abstractmethod
    def stop(self) -> None:
        """End the feed: `deliver` is not called again, even from within `deliver`. Safe to call twice."""


class KeptValue(abc.ABC):
    """Value that lasts while its writer renews it. `revision` is that of its write."""

    revision: int

    @abc.abstractmethod
    async def renew(self) -> bool:
        """Renew the value for its whole lifetime; False: it has ended or was replaced. Raises StatusErrors."""

    @abc.abstractmethod
    async def end(self) -> None:
        """Remove the value, unless another writer has replaced it. Raises StatusErrors."""


class Translation(Protocol):
    """Translation of keys and values to the wanted vocabulary."""

    def key(self, key: str) -> str:
        """Return the new key of an object; works for damaged ones too."""

    def value(self, key: str, value: bytes) -> bytes:
        """Return the new value of the object that had `key`. Raises StatusError or ValueError if it cannot be
        decoded.
        """


class Evidence(Protocol):
    """Recognises the vocabulary of stored objects, for stores that do not record it."""

    @property
    def prefixes(self) -> Sequence[str]:
        """Prefixes of the keys whose values tell the vocabulary."""

    async def vocabulary(self, key: str, value: bytes) -> str:
        """Return the vocabulary of an object; empty if it does not tell. Raises ValueError if it cannot be read."""


class StoreHost(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Services of the process to its store.

    `reactor` runs it and times it. `vocabulary` is that of its objects (empty: whichever the store is of);
    `translation` makes what rewrites a store of another one, `evidence` what recognises that of a store that does not
    record it. `check_path` raises ConfigError for a path that must not be followed. `folder` is the server's, for the
    files of an embedded store.
    """

    reactor: Any
    vocabulary: str
    translation: Callable[[str], Translation]
    check_path: Callable[[Path], None]
    folder: Path
    evidence: Callable[[], Evidence] | None = None


class Store(abc.ABC):
    """A durable, versioned map from text keys to bytes (reference STORE-1).

    Methods raise StatusError subclasses: InternalError (500) when the disk or the cluster fails,
    ServiceUnavailable (503) before `start` and after `stop`. Other processes may work on the same data, unless a
    store's own lock keeps them out.
    """

    @property
    @abc.abstractmethod
    def shared(self) -> bool:
        """Report whether other processes may write to the store; the answer never changes.

        State that a cluster has once is then kept in the store, not in a process.
        """

    @property
    def looks_back(self) -> int:
        """Return how many revisions before the latest one a cache should begin with, if their history is kept.

        Where servers come and go, watches that began at another server then go on here.
        """
        return 0

    def current(self) -> bool:
        """Report whether live subscribers have received every acknowledged write: their state is fresh.

        If not, they will reach the revision that `revision` returns. Always true on a store that is not shared.
        """
        return not self.shared

    def probe(self) -> None:  # noqa: B027 - many stores know nothing before they are started
        """Check that `start` could work, before `twistd` goes to the background.

        Raises ConfigError as `start` does. A lock that it takes is held until `stop` or `release`, through a fork
        too.
        """

    def release(self) -> None:  # noqa: B027 - as above
        """Release what `probe` has locked, if the store is not started after all."""

    def size_bytes(self) -> int:
        """Return the bytes that the store takes on this machine's disk."""
        return 0

    def sizes(self) -> Mapping[str, int]:
        """Return the bytes that it takes elsewhere, by place."""
        return {}

    def metrics(self) -> Iterable[ShownFamily[Any]]:
        """Return the metrics of the store."""
        return ()

    @property
    def dependencies(self) -> Mapping[str, Callable[[], Awaitable[None]]]:
        """Health checks of services that the store needs, by name; they raise an error with the fault."""
        return {}

    def outdated(self, key: str) -> bool:
        """Report whether an equal value would be stored in another form now."""
        return False

    def gather(self, busy: Callable[[], bool]) -> Callable[[], None]:
        """Let writes wait for each other while `busy` reports that earlier ones are under way.

        Returns what is to be called when they no longer are. Stores without batches of their own do not wait.
        """
        return lambda: None

    def show_replaced(self) -> None:  # noqa: B027 - many stores have these values in any case
        """Let changes bring the values that they replace from now on, which may cost a read for each write."""

    @abc.abstractmethod
    async def start(self) -> None:
        """Open or create the store; threads and connections begin here, never earlier (`twistd` forks first).

        Raises ConfigError, one clear line, when it is damaged, foreign, in use, or of another vocabulary
        and cannot be rewritten.
        """

    @abc.abstractmethod
    async def stop(self) -> None:
        """Commit and answer everything that was accepted, then close. Safe to call twice."""

    @abc.abstractmethod
    async def get(self, key: str, revision: int = 0) -> KeyValue | None:
        """Return the key as of `revision` (0: the latest, with every acknowledged write), or None.

        Raises Expired (410) for a compacted revision, Timeout (504) for one that has not happened yet and
        InternalError (500) when the stored bytes are not what was written.
        """

    @abc.abstractmethod
    async def list(self, prefix: str, *, revision: int = 0, limit: int = 0, start: str = "") -> Page:
        """Return the live keys that begin with `prefix`, from `start` (inclusive) on, at most `limit` (0: all).

        One consistent state: that of `revision`, or the latest when 0, which `Page.revision` names. The page after
        this one begins at `start=last_key + "\\0"` with the same revision. Raises as `get` does.
        """

    async def scan(self, prefix: str, *, revision: int = 0, wanted: Wanted = None) -> AsyncIterator[Page]:
        """Yield all live keys that begin with `prefix`, in pages in key order, at least one: for full reads.

        All are of one consistent state, which `Page.revision` names. `Page.remaining` is the number of keys that
        follow, 0 also if unknown. Keys not `wanted` may be left out. Raises as `list` does.
        """
        start, more = "", True
        while more:
            page = await self.list(prefix, revision=revision, limit=SCAN_ITEMS, start=start)
            yield page
            revision, more = page.revision, page.more
            if page.items:
                start = page.items[-1].key + "\0"

    @abc.abstractmethod
    def commit(self, op: Op) -> Deferred[WriteOutcome]:
        """Write `op` if its precondition holds; the answer fires when the write is durable.

        Writes of one key are decided in the order of the calls; all writes are if the store is not shared. Every live
        subscriber has been given the write's Change before the answer fires; a shared store that cannot deliver it
        within seconds answers all the same. Fails with TooManyRequests (429) when too much is queued, BadRequest
        (400) for a key that is not valid text, InternalError (500) when the write could not be made durable: whether
        it is there after the next start is then open. Cancelling the Deferred gives up the answer, not the write.
        """

    def commit_all(self, ops: Sequence[Op]) -> Sequence[Deferred[WriteOutcome]]:
        """Commit writes that have come together, as `commit` each, in their order; they need not be one batch."""
        return [self.commit(op) for op in ops]

    def replace(self, ops: Sequence[Op], revision: int) -> Deferred[int]:
        """Write all of `ops` as one, if nothing has been written since `revision`; else nothing.

        Returns the revision of the last write, and 0 if nothing was done. Subscribers are given the Changes in one
        call of their own, and no read shows a part of them. The ops have no `expected` and no `guard`. Fails as
        `commit`; with MethodNotAllowed (405) on stores without it, which are those that are shared.
        """
        return fail(errors.MethodNotAllowed.at_present("this store cannot replace its state atomically"))

    async def keep(self, key: str, value: bytes, life_s: float) -> KeptValue:
        """Write a value that ends `life_s` seconds after its last renewal, which need not be a write.

        Raises what `commit` fails with.
        """
        kept = _Rewritten(self, Op(key, value, ttl_s=life_s))
        await kept.begin()
        return kept

    @abc.abstractmethod
    async def subscribe(self, after_revision: int, deliver: Callable[[Sequence[Change]], None]) -> Subscription:
        """Call `deliver` once with every Change after `after_revision`, without gaps: history first, then live.

        Changes come in revision order, in non-empty batches, on the reactor thread. `deliver` may be called before
        this returns. Raises Expired (410) when `after_revision` is compacted, Timeout (504) when it has not happened
        yet.
        """

    def remembers(self, known: Callable[[], Iterable[str]]) -> None:  # noqa: B027 - most have no gaps
        """Tell the store which keys are known to its subscribers, so that it can make up for a gap in the history.

        A shared store whose history was compacted while it could not be reached delivers the difference to the
        present state: keys written since, in their latest state and without `previous`, then deletions of known keys
        that are gone.
        """

    @abc.abstractmethod
    async def revision(self) -> int:
        """Return the current revision, no older than any write acknowledged to any process. A new store is at 1.

        Live subscribers reach it, or a later one, without a further write.
        """

    @abc.abstractmethod
    async def compact(self, revision: int) -> None:
        """Forget every state before `revision`; that one and the later ones stay readable.

        An older `revision` than the last compaction's changes nothing; a future one raises Timeout (504).
        """

    @abc.abstractmethod
    async def check(self) -> None:
        """Check that the store can take a write now. Raises StatusError if it cannot (health checks)."""

    @abc.abstractmethod
    async def alive(self) -> None:
        """Check that the store works and is in its place. Raises StatusError if a restart is needed.

        A store that only lacks room is alive: it serves reads, and a restart makes no room.
        """


class _Rewritten(KeptValue):
    """Value that is renewed by writing it again."""

    def __init__(self, store: Store, op: Op) -> None:
        self._store = store
        self._op = op
        self.revision = 0

    async def begin(self) -> None:
        """Write the value for the first time, whatever the key holds."""
        self.revision = (await self._store.commit(self._op)).revision

    async def renew(self) -> bool:
        """Renew the value by writing it again, as `KeptValue.renew`."""
        outcome = await self._store.commit(msgspec.structs.replace(self._op, expected=self.revision))
        if outcome.revision:
            self.revision = outcome.revision
        return bool(outcome.revision)

    async def end(self) -> None:
        """Remove the value, as `KeptValue.end`."""
        await self._store.commit(Op(self._op.key, None, self.revision))
