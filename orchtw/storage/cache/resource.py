"""Contract between the cache of a resource and the registry."""

from __future__ import annotations

from typing import Protocol

from orchtw.errors import InternalError
from orchtw.watch.entry import Entry, Glance
from orchtw.watch.event_log import Event


class StoredResource(Protocol):
    """Stored resource, as the cache sees it: `registry.stored.Stored` is one.

    Served versions and groups with the same storage are one stored resource.
    """

    @property
    def prefix(self) -> str:
        """Prefix of its keys, such as "/registry/pods/"."""

    def build(self, key: str, value: bytes, revision: int) -> Entry:
        """Return the entry of a stored value; `key` is the rest of the store key after `prefix`."""

    def is_plain(self, key: str, value: bytes) -> bool:
        """Report whether `glance` can replace `build`, and run later."""

    def glance(self, value: bytes, revision: int, terms: bytes = b"") -> Glance:
        """Return what `build` finds in a value, but for the names. Raises for an unreadable value.

        `terms` are those of the note that the value was written with, in another process of this server.
        """

    def placeholder(self, namespace: str, name: str, revision: int) -> Entry:
        """Return an entry that stands for an unreadable object."""

    def spare(self, entry: Entry, *, drop: bool) -> None:
        """Reduce an entry: to packed forms or, with `drop`, without those that can be made again at once."""

    def alone(self) -> StoredResource:
        """Return the same resource without its cache, for the entries of a closed one."""


class Noted(Protocol):
    """Note of a put of this process: the object, decoded already by the `stored` resource."""

    @property
    def stored(self) -> object:
        """Resource that made the note; another one may make another entry of the same value."""

    @property
    def terms(self) -> bytes:
        """Labels and fields, as `StoredResource.glance` takes them in other processes; empty: it must look."""

    def entry(self, revision: int) -> Entry:
        """Return the entry once the store has committed the object at `revision`."""


class Follower(Protocol):
    """A watch inside the process. Its methods must not raise."""

    def take(self, event: Event) -> None:
        """Take in an event of the resource."""

    def closed(self) -> None:
        """Handle the end of the resource: no more events follow."""


class DamagedObject(InternalError):
    """500: the object stored at `revision` cannot be read."""

    def __init__(self, store_key: str, revision: int) -> None:
        shown = InternalError.damaged(store_key)
        super().__init__(shown.message, shown.details)
        self.revision = revision
