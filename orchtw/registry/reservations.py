"""Reservations: resources that a write takes beyond its object, such as addresses and ports, until it has ended.

A kind whose record has `reservations` gets one for each try of a write, before validation. The order is: reserve,
validate, commit, then keep, release or, where the outcome of the write is unknown, doubt.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Protocol

import msgspec
from twisted.internet.defer import Deferred, maybeDeferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from orchtw.config.cluster import ClusterOptions
from orchtw.errors import InternalError
from orchtw.naming.naming import Naming
from orchtw.schema.codec.codec import Codec
from orchtw.storage.cache.watch_cache import ResourceCache
from orchtw.storage.store import Op, Store, WriteOutcome
from orchtw.watch.entry import Entry
from orchtw.wire.objects import Object


class Reservation(Protocol):
    """Reservation of one try of a write. Exactly one method is called, once; all return at once."""

    def keep(self) -> None:
        """Keep what the stored object holds; what only the old one held is free."""

    def release(self) -> None:
        """Release everything: the write is not stored."""

    def doubt(self) -> None:
        """Free nothing: the store has failed, and the write may turn out to be stored."""


class Reservations(Protocol):
    """Account of the resources that objects of one kind take."""

    async def reserve(self, new: Object | None, old: Object | None, *, dry_run: bool) -> Reservation:
        """Hold what `new` needs beyond `old`, and fill in the fields of `new` that say what it is.

        Both are in the storage version; `new` may be changed in place and need not stay canonical. `old` is None for
        a create, `new` for a removal. A dry run is always released. Raises StatusErrors to refuse the write; after
        an error or a cancellation nothing is held.
        """

    async def repair(self) -> None:
        """Bring the account in line with the objects: at the start, and from time to time.

        Processes may have ended in the middle of a write. Raises StatusErrors when the store fails.
        """

    async def replaced(self, gone: Sequence[Object], come: Sequence[Object]) -> None:
        """Take over that stored objects have been replaced without reservations, while no write was begun."""


class _Nothing:
    """Reservation of a write that takes nothing."""

    def keep(self) -> None:
        """Do nothing: nothing was taken."""

    def release(self) -> None:
        """Do nothing: nothing was taken."""

    def doubt(self) -> None:
        """Do nothing: nothing was taken."""


NOTHING: Reservation = _Nothing()


class EncodedObject(Protocol):
    """Object that is ready to be stored, and the note of its own change."""

    @property
    def value(self) -> bytes:
        """Return the bytes for the store."""


class StoredObjects(Protocol):
    """The part of `orchtw.registry.stored.Stored` through which reservations read and write objects."""

    codec: Codec
    prefix: str
    cache: ResourceCache

    def get(self, namespace: str, name: str) -> Entry | None:
        """Return the cached entry of an object, or None. Raises DamagedObject (500)."""

    def load(self, entry: Entry) -> dict[str, Any]:
        """Return a private, canonical copy of a cached object in the storage version."""

    def metadata(self, entry: Entry, *, owned: bool = True) -> Object:
        """Return a private copy of the metadata of a cached object."""

    def prepare(self, obj: dict[str, Any]) -> EncodedObject:
        """Encode `obj` for the store and for watchers."""


class ReservationHost(msgspec.Struct, frozen=True, kw_only=True):
    """Services of the server to reservations.

    `stored` finds the objects of a group, version and plural, whether requests may name them or not; their caches
    are filled before the first write.
    """

    naming: Naming
    clock: IReactorTime
    stored: Callable[[str, str, str], StoredObjects]
    store: Store
    random: Random


MakeReservations = Callable[[ReservationHost, ClusterOptions], Reservations]
"""Makes the reservations of one kind, once in the life of a process."""


class Hold:
    """Reservation of one write until its end; `end` may be called at any time."""

    _log = Logger()

    def __init__(self, reservation: Reservation) -> None:
        self._reservation = reservation
        self._open = True

    def end(self) -> None:
        """Release what has not been passed to `commit`."""
        if self._open:
            self._open = False
            self._reservation.release()

    def commit(self, store: Store, op: Op) -> Deferred[WriteOutcome]:
        """Commit `op`; from now on its outcome alone decides if the reservation is kept.

        The waiting caller may be cancelled: the store goes on, and the reservation is held until then.
        """
        waiting: Deferred[WriteOutcome] = Deferred()
        self._open = False

        def ended(result: WriteOutcome | Failure) -> None:
            self._settle(result)
            if waiting.called and isinstance(result, Failure):
                self._log.failure("an abandoned write failed", failure=result)
            waiting.callback(result)

        maybeDeferred(store.commit, op).addBoth(ended)
        return waiting

    def _settle(self, result: WriteOutcome | Failure) -> None:
        try:
            if isinstance(result, Failure) and isinstance(result.value, InternalError):
                self._reservation.doubt()
            elif isinstance(result, WriteOutcome) and result.revision:
                self._reservation.keep()
            else:
                self._reservation.release()
        except Exception:  # noqa: BLE001 - the write has ended all the same, and its writer must hear of it
            self._log.failure("a reservation could not be settled")
