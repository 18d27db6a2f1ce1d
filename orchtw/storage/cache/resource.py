"""Contract between the cache of a resource and the registry."""

from __future__ import annotations

from typing import Protocol

from orchtw.errors import InternalError
from orchtw.watch.entry import Entry, Glance
from orchtw.watch.log import Event


class StoredResource(Protocol):
    """Stored resource, as the cache sees it: `registry.stored.Stored` is one.

    Served versions and groups with the same storage are one stored resource.
    """

    @property
    def prefix(self) -> str:
        """The start of its keys, such as "/registry/pods/"."""

    def build(self, key: str, value: bytes, revision: int) -> Entry:
        """The entry of a value read from the store; `key` is the rest of the store key after `prefix`."""

    def is_plain(self, key: str, value: bytes) -> bool:
        """Report whether `glance` can take the place of `build`, later."""

    def glance(self, value: bytes, revision: int) -> Glance:
        """Return what `build` finds in a value, but for the names. Raises for an unreadable value."""

    def placeholder(self, namespace: str, name: str, revision: int) -> Entry:
        """Return an entry that stands for an unreadable object."""

    def spare(self, entry: Entry, *, drop: bool) -> None:
        """Hold less of an entry: packed forms, or, with `drop`, none that can be made again at once."""

    def alone(self) -> StoredResource:
        """The same for what is left of a cache that is closed: it does not hold the cache."""


class Noted(Protocol):
    """Note of a put of this process: the object, decoded already by the `stored` resource."""

    @property
    def stored(self) -> object:
        """Return the resource that made the note; another one may make another entry of the same value."""

    def entry(self, revision: int) -> Entry:
        """The entry once the store has committed the object at `revision`."""


class Follower(Protocol):
    """A watch inside the process. Its methods must not raise."""

    def take(self, event: Event) -> None:
        """Take in an event of the resource."""

    def closed(self) -> None:
        """The resource is gone, and nothing more will happen."""


class DamagedObject(InternalError):
    """500: an object is stored at `revision`, and cannot be read."""

    def __init__(self, store_key: str, revision: int) -> None:
        shown = InternalError.damaged(store_key)
        super().__init__(shown.message, shown.details)
        self.revision = revision
