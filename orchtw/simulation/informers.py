"""Informers that all simulated controllers share: one list and watch of each kind, decoded once for all of them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from twisted.internet.defer import Deferred

from orchtw.client.informer import Informer
from orchtw.client.interface import Item, Resource
from orchtw.client.work_queue import Retry
from orchtw.controllers.controller import ControllerHost
from orchtw.wire.objects import Object

DECODED_BYTES: Final = 8 << 20
"""Encoded bytes of the objects that are kept decoded, of all kinds together: about 5,000 pods. Decoded, they take
twenty times as much memory.
"""
SEEN_LIMIT_S: Final = 5.0
"""Longest wait of a controller for the informer to see what it wrote."""

IndexFunction = Callable[[Object], Iterable[str]]


class _Loaded:
    """The last two states of an object: handlers compare them. `versions` and `objects` begin with the newer one."""

    __slots__ = ("objects", "size", "versions")

    def __init__(self) -> None:
        self.versions: tuple[str, str] = ("", "")
        self.objects: tuple[Object, Object] = ({}, {})
        self.size = 0


class Decoded:
    """The objects that were decoded last, shared by all informers: nobody may change one."""

    def __init__(self, limit_bytes: int = DECODED_BYTES) -> None:
        self._limit = limit_bytes
        self._bytes = 0
        self._objects: OrderedDict[tuple[str, str, str], _Loaded] = OrderedDict()

    def load(self, resource: Resource, item: Item) -> Object:
        """Return an item's object."""
        key, version = (resource.group, resource.plural, item.key), item.version
        found = self._objects.get(key)
        if found is None:
            found = self._objects[key] = _Loaded()
        else:
            self._objects.move_to_end(key)
            if version in found.versions:
                return found.objects[found.versions.index(version)]
        made, size = item.load(), item.size_bytes
        found.versions, found.objects = (version, found.versions[0]), (made, found.objects[0])
        self._bytes += size - found.size
        found.size = size
        while self._bytes > self._limit and len(self._objects) > 1:
            self._bytes -= self._objects.popitem(last=False)[1].size
        return made


class Index:
    """Keys of objects by values that a function finds in them, such as the node of a pod."""

    def __init__(self, function: IndexFunction) -> None:
        self._function = function
        self._keys: dict[str, dict[str, None]] = {}
        self._values: dict[str, tuple[str, ...]] = {}

    def put(self, key: str, obj: Object) -> None:
        """Take in an object, new or changed."""
        values = tuple(dict.fromkeys(self._function(obj)))
        if values != self._values.get(key):
            self.drop(key)
            self._values[key] = values
            for value in values:
                self._keys.setdefault(value, {})[key] = None

    def drop(self, key: str) -> None:
        """Forget an object, if it is known."""
        for value in self._values.pop(key, ()):
            keys = self._keys[value]
            del keys[key]
            if not keys:
                del self._keys[value]

    def keys(self, value: str) -> Sequence[str]:
        """Return the keys of the objects that have this value."""
        return tuple(self._keys.get(value, ()))

    def count(self, value: str) -> int:
        """Return the number of objects that have this value."""
        return len(self._keys.get(value, ()))

    def values(self) -> Sequence[str]:
        """Return all values that some object has."""
        return tuple(self._keys)


class SharedInformer:
    """All objects of one resource, for several controllers: a source of each of them, started with the first.

    Objects are shared and must not be changed.
    """

    def __init__(self, host: ControllerHost, account: str, resource: Resource, decoded: Decoded) -> None:
        self.resource = resource
        self._clock = host.clock
        self._decoded = decoded
        self._informer = Informer(host.client_for(account), resource, host.clock, host.random, host.turns)
        self._users = 0
        self._indexes: dict[str, Index] = {}
        self._latest = 0
        self._waiting: dict[Deferred[None], Callable[[], bool]] = {}
        self._informer.handle(self._seen)

    @property
    def synced(self) -> bool:
        """Report whether the first list has been taken in."""
        return self._informer.synced

    def start(self) -> None:
        """Begin to follow the resource, unless another user has begun it."""
        self._users += 1
        if self._users == 1:
            self._informer.start()

    def stop(self) -> None:
        """Stop with the last user."""
        self._users -= 1
        if not self._users:
            self._informer.stop()

    def handle(self, handler: Callable[[Item | None, Item | None], None]) -> None:
        """Call `handler` with the old and the new item of every change; to be added before the start."""
        self._informer.handle(handler)

    def index(self, name: str, function: IndexFunction) -> Index:
        """Return the index of that name; the first user's function makes it. To be added before the start."""
        if name not in self._indexes:
            self._indexes[name] = Index(function)
        return self._indexes[name]

    def load(self, item: Item) -> Object:
        """Return an item's object, which is shared."""
        return self._decoded.load(self.resource, item)

    def get(self, key: str) -> Object | None:
        """Return the object of that key (`namespace/name`, or `name` at cluster scope), or None."""
        item = self._informer.items.get(key)
        return None if item is None else self.load(item)

    def of(self, keys: Iterable[str]) -> Iterator[Object]:
        """Return the objects of these keys that are there."""
        for key in keys:
            if (found := self.get(key)) is not None:
                yield found

    def __iter__(self) -> Iterator[Object]:
        return self.of(tuple(self._informer.items))

    def __len__(self) -> int:
        return len(self._informer.items)

    def __contains__(self, key: str) -> bool:
        return key in self._informer.items

    @property
    def keys(self) -> Sequence[str]:
        """Return the keys of all objects."""
        return tuple(self._informer.items)

    async def seen(self, *written: Object) -> None:
        """Return when the cache is as new as these objects, which the caller has written. Raises Retry after 5 s."""
        if written:
            newest = max(int(each["metadata"]["resourceVersion"]) for each in written)
            await self._until(lambda: self._latest >= newest)

    async def seen_change(self, obj: Object) -> None:
        """Return when the cache no longer has this state of the object, as after its deletion. Raises Retry."""
        meta = obj["metadata"]
        key = f"{meta['namespace']}/{meta['name']}" if meta.get("namespace") else meta["name"]
        version = meta["resourceVersion"]

        def changed() -> bool:
            item = self._informer.items.get(key)
            return item is None or item.version != version

        await self._until(changed)

    async def _until(self, condition: Callable[[], bool]) -> None:
        if condition():
            return
        waiting: Deferred[None] = Deferred()
        self._waiting[waiting] = condition
        waiting.addTimeout(SEEN_LIMIT_S, self._clock, lambda result, limit_s: _late(self.resource.plural))
        try:
            await waiting
        finally:
            self._waiting.pop(waiting, None)

    def _seen(self, old: Item | None, new: Item | None) -> None:
        item = new or old
        if item is None:
            return
        self._latest = max(self._latest, int(item.version))
        for index in self._indexes.values():
            if new is None:
                index.drop(item.key)
            else:
                index.put(item.key, self.load(new))
        for waiting, condition in tuple(self._waiting.items()):
            if condition():
                del self._waiting[waiting]
                self._clock.callLater(0, _fire, waiting)


def _fire(waiting: Deferred[None]) -> None:
    if not waiting.called:
        waiting.callback(None)


def _late(plural: str) -> None:
    raise Retry(f"the informer of {plural} is behind")
