"""Client of controllers that run inside the server: the registry's write path and caches, without HTTP.

Admission and validation apply as to any request; authentication, authorization, audit and flow control, which guard
the edge, do not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import overload

import attrs
import msgspec
from twisted.logger import Logger

from orchtw.apply.merge_patch import merge_patch
from orchtw.client.concurrency import each
from orchtw.client.interface import PLAIN_DELETE, Discovered, Item, Listing, Receiver, Resource, ResourcesChanged
from orchtw.client.owner_references import OwnerMetadata, OwnerMetadataReader, stands_alone
from orchtw.client.rest_mapper import RESTMapper
from orchtw.errors import Expired, NotFound, StatusError
from orchtw.registry.target import Target
from orchtw.registry.targets import Targets
from orchtw.registry.write import Write
from orchtw.request import UserInfo
from orchtw.responses.slices import in_turns, turn
from orchtw.rules.delete_options import DeleteOptions
from orchtw.rules.selectors import parse_fields, parse_labels
from orchtw.schema.codec.body import fit_value
from orchtw.schema.codec.strict_fields import IGNORE
from orchtw.storage.cache.freshness import MOST_RECENT
from orchtw.storage.cache.watch_cache import Cacher
from orchtw.storage.store import Guard
from orchtw.watch.entry import Entry
from orchtw.watch.event_log import Event
from orchtw.watch.selection import Selection
from orchtw.wire.objects import Object
from orchtw.writes.delete import Deletion
from orchtw.writes.write_path import WritePath

DELETES_AT_A_TIME = 64
"""Concurrent deletes of one deletecollection: the store commits queued writes together."""

_reader = OwnerMetadataReader()  # shared by all clients of the process: it is only a cache


class CachedItem:
    """A cache entry as item: it keeps the entry's bytes and decodes them on each access."""

    __slots__ = ("_entry", "_target")

    def __init__(self, target: Target, entry: Entry) -> None:
        self._target = target
        self._entry = entry

    @property
    def key(self) -> str:
        """Key of the object. See `Item`, also for the members below."""
        return self._entry.key

    @property
    def namespace(self) -> str:
        return self._entry.namespace

    @property
    def name(self) -> str:
        return self._entry.name

    @property
    def version(self) -> str:
        return str(self._entry.revision)

    @property
    def size_bytes(self) -> int:
        return len(self._entry.raw)

    def owner_metadata(self) -> OwnerMetadata:
        return _reader.read(*self._target.stored.message(self._entry)) or OwnerMetadata.of(
            self._target.stored.metadata(self._entry, owned=False)
        )

    def stands_alone(self) -> bool:
        return stands_alone(*self._target.stored.message(self._entry))

    def metadata(self) -> Object:
        return self._target.stored.metadata(self._entry)

    def load(self) -> Object:
        return self._target.load(self._entry)


class CachedItems(Sequence[CachedItem]):
    """Cache entries as items, each made on access."""

    def __init__(self, target: Target, entries: Sequence[Entry]) -> None:
        self._target = target
        self._entries = entries

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[CachedItem]:
        target = self._target
        return (CachedItem(target, entry) for entry in self._entries)

    @overload
    def __getitem__(self, index: int) -> CachedItem: ...

    @overload
    def __getitem__(self, index: slice) -> list[CachedItem]: ...

    def __getitem__(self, index: int | slice) -> CachedItem | list[CachedItem]:
        if isinstance(index, slice):
            return [CachedItem(self._target, entry) for entry in self._entries[index]]
        return CachedItem(self._target, self._entries[index])


class Follow:
    """A watch on a resource's cache: events are delivered in the turn in which they are committed."""

    _log = Logger()

    def __init__(self, target: Target, receiver: Receiver) -> None:
        self._target = target
        self._receiver: Receiver | None = receiver

    def start(self, since: int) -> None:
        """Deliver the events of the log after `since`, then follow; an expired `since` ends the watch."""
        cache = self._target.stored.cache
        try:
            missed = cache.log.since(since)
        except Expired as error:
            self._end(error)
            return
        for event in missed:
            self.take(event)
        if self._receiver is not None:
            cache.follow(self)

    def stop(self) -> None:
        """End the watch, as `Watch.stop`."""
        self._receiver = None
        self._target.stored.cache.leave(self)

    def closed(self) -> None:
        """End the watch, as `Follower.closed`."""
        self._end(None)

    def take(self, event: Event) -> None:
        """Deliver an event; a receiver that fails must not affect others: it has to list again."""
        if self._receiver is None:
            return
        try:
            if event.new is not None:
                self._receiver.changed(CachedItem(self._target, event.new))
            elif event.old is not None:
                self._receiver.removed(CachedItem(self._target, event.old))
        except Exception:  # noqa: BLE001 - logged, and the receiver is told to list again
            self._log.failure("a follower of {prefix} failed", prefix=self._target.stored.prefix)
            self._end(Expired.watch(event.revision, event.revision))

    def _end(self, error: StatusError | None) -> None:
        receiver = self._receiver
        self.stop()
        if receiver is not None:
            receiver.ended(error)


Asked = Callable[[str, Resource, str], None]
"""Function that is called for each request: with its verb as metrics name it, resource and sub-resource."""


def _nobody(verb: str, resource: Resource, subresource: str) -> None:
    """Count nothing: the default without metrics."""


@attrs.frozen(slots=True, eq=False)
class Registry:
    """The parts of the server that in-process clients share. `asked` is called for their requests."""

    targets: Targets
    writes: WritePath
    deletion: Deletion
    cacher: Cacher
    asked: Asked = _nobody
    index: RESTMapper = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "index", RESTMapper(self.targets))


class InProcessClient:
    """Client of this process' registry. It reads from the caches, once these have every acknowledged write.

    `manager` owns the fields that are written. `guard` is called before each write and at its commit: it returns the
    guard for the store to compare, and raises Fenced (503) when this client may not write any more.
    """

    def __init__(
        self, registry: Registry, user: UserInfo, manager: str, guard: Callable[[], Guard] | None = None
    ) -> None:
        self._manager = manager
        self._guard = guard
        self._registry = registry
        self._index = registry.index
        self._user = user

    def _asked(self, verb: str, resource: Resource, subresource: str = "") -> Target:
        """Return the target of a request, and count it. Raises NotFound (404)."""
        self._registry.asked(verb, resource, subresource)
        return self._index.target(resource)

    async def discover(self) -> Discovered:
        """Return this process' own resources; never fails."""
        return Discovered(self._index.resources())

    def follow_discovery(self, changed: ResourcesChanged) -> Callable[[], None]:
        return self._index.listen(changed)

    def resource(self, group: str, version: str, plural: str) -> Resource:
        """Return the resource of a path. See `Client`, also for the methods below."""
        return self._index.by_path(group, version, plural)

    def resource_of(self, api_version: str, kind: str) -> Resource | None:
        return self._index.by_kind(api_version, kind)

    async def get(self, resource: Resource, namespace: str, name: str) -> Object:
        target = self._asked("GET", resource)
        entry = await self._entry(target, namespace, name)
        if entry is None:
            raise NotFound.of(resource.plural, resource.group, name)
        if target.forms is not None:
            await target.forms.ensure((entry,))
        return target.load(entry)

    async def find(self, resource: Resource, namespace: str, name: str) -> Item | None:
        target = self._asked("GET", resource)
        entry = await self._entry(target, namespace, name)
        return None if entry is None else CachedItem(target, entry)

    async def _written(self, target: Target, entry: Entry, *, whole: bool = True) -> Object:
        """Return an object that has been written, in a turn that has time for what its writer does next.

        Many writes are committed together: their writers would hold the reactor if they all went on at once.
        """
        await turn(self._registry.cacher.turns)
        if not whole:
            place = {"namespace": entry.namespace} if entry.namespace else {}
            return {"metadata": {"name": entry.name, **place, "resourceVersion": str(entry.revision)}}
        return await self._registry.writes.read(target, entry)

    @staticmethod
    async def _entry(target: Target, namespace: str, name: str) -> Entry | None:
        if (wait := target.stored.cache.freshness.due(MOST_RECENT)) is not None:
            await wait
        return target.stored.get(namespace, name)

    async def list(self, resource: Resource, namespace: str = "", *, labels: str = "", fields: str = "") -> Listing:
        target = self._asked("LIST", resource)
        if (wait := target.stored.cache.freshness.due(MOST_RECENT)) is not None:
            await wait
        revision = str(self._registry.cacher.revision)
        found = await self._select(target, namespace, labels, fields)
        return Listing(CachedItems(target, found), revision)

    def watch(self, resource: Resource, since: str, receiver: Receiver) -> Follow:
        follow = Follow(self._asked("WATCH", resource), receiver)
        follow.start(int(since))
        return follow

    async def create(self, resource: Resource, namespace: str, obj: Object, *, whole: bool = True) -> Object:
        target = self._asked("POST", resource)
        write = self._write(target, namespace, obj.get("metadata", {}).get("name", ""))
        entry = await self._registry.writes.create(write, _canonical(target, obj))
        return await self._written(target, entry, whole=whole)

    async def update(
        self, resource: Resource, namespace: str, name: str, obj: Object, subresource: str = ""
    ) -> Object:
        target = self._asked("PUT", resource, subresource)
        write = self._write(target, namespace, name, subresource)
        written = await self._registry.writes.update(write, lambda live: _canonical(target, obj, live))
        return await self._written(target, written.entry)

    async def patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        changes: Object,
        subresource: str = "",
        *,
        whole: bool = True,
    ) -> Object:
        target = self._asked("PATCH", resource, subresource)

        def apply(live: Object | None) -> Object:
            """Return the live object with the changes; its version is a precondition only if they name one."""
            if live is None:
                raise NotFound.of(resource.plural, resource.group, name)
            live["metadata"].pop("resourceVersion")
            return _canonical(target, merge_patch(live, changes), live)

        write = self._write(target, namespace, name, subresource, from_live=True)
        written = await self._registry.writes.update(write, apply)
        return await self._written(target, written.entry, whole=whole)

    async def apply(
        self, resource: Resource, namespace: str, name: str, wanted: Object, manager: str, size_bytes: int = 0
    ) -> None:
        target, writes = self._asked("APPLY", resource), self._registry.writes
        document = {"apiVersion": resource.api_version, "kind": resource.kind, **wanted}
        fields, now = writes.field_manager(target, ""), writes.timestamp()

        def merge(live: Object | None) -> Object:
            """Return the live object with the applied fields, or as it is if nothing changes."""
            if live is None:
                raise NotFound.of(resource.plural, resource.group, name)
            outcome = fields.on_apply(live, document, manager, now, force=True)
            return outcome.obj if outcome.changed else live

        write = self._write(target, namespace, name, from_live=True)
        await writes.update(msgspec.structs.replace(write, applies=True, size_bytes=size_bytes), merge)

    async def delete(
        self, resource: Resource, namespace: str, name: str, options: DeleteOptions = PLAIN_DELETE
    ) -> bool:
        write = self._write(self._asked("DELETE", resource), namespace, name)
        return (await self._registry.deletion.delete(write, options)).gone

    async def delete_collection(
        self, resource: Resource, namespace: str, options: DeleteOptions = PLAIN_DELETE, *, labels: str = "",
        fields: str = "",
    ) -> int:
        target = self._asked("DELETECOLLECTION", resource)
        deleted = 0

        async def delete(entry: Entry) -> None:
            nonlocal deleted
            try:
                await self._registry.deletion.delete(self._write(target, entry.namespace, entry.name), options)
            except NotFound:
                return
            deleted += 1

        if (wait := target.stored.cache.freshness.due(MOST_RECENT)) is not None:
            await wait
        await each(await self._select(target, namespace, labels, fields), delete, DELETES_AT_A_TIME)
        return deleted

    async def _select(self, target: Target, namespace: str, labels: str, fields: str) -> Sequence[Entry]:
        target.stored.cache.check_unlocked(namespace)
        if not labels and not fields:
            return target.stored.cache.snapshot(namespace)
        selection = Selection(
            namespace,
            parse_labels(labels),
            parse_fields(fields, target.resource.field_selectors),
            target.stored.field_names,
        )
        return await in_turns(self._registry.cacher.turns, target.stored.cache.select(selection))

    def _write(
        self,
        target: Target,
        namespace: str,
        name: str,
        subresource: str = "",
        *,
        from_live: bool = False,
    ) -> Write:
        if self._guard is not None:
            self._guard()
        return Write(
            target=target,
            namespace=namespace if target.resource.namespaced else "",
            name=name,
            user=self._user,
            subresource=subresource,
            from_live=from_live,
            shares=True,
            manager=self._manager,
            guard=self._guard,
        )


def _canonical(target: Target, obj: Object, live: Object | None = None) -> Object:
    """Return a canonical object; it shares parts with the live one, which it mostly equals, but none with `obj`."""
    return fit_value(target.codec, obj, IGNORE, live=live)[0]
