"""Writer of the server's own objects: as the server's user, and only where one is missing or differs."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from time import monotonic
from typing import Any

import msgspec
from twisted.internet.defer import Deferred, DeferredList
from twisted.python.failure import Failure

from orchtw.errors import AlreadyExists, NotFound
from orchtw.naming.naming import Naming
from orchtw.registry.targets import Targets
from orchtw.registry.write import Transform, Write
from orchtw.request import UserInfo
from orchtw.rules.contests import Contests, content_of, key_of
from orchtw.schema.codec.body import fit_own
from orchtw.storage.cache.freshness import MOST_RECENT
from orchtw.storage.cache.resource import DamagedObject
from orchtw.wire.objects import Object
from orchtw.writes.write_path import WritePath


def system_user(naming: Naming) -> UserInfo:
    """Return the server's own user, which writes its objects."""
    return UserInfo(name=naming.api_server_user, groups=(naming.administrators_group,))


class Ensurer(msgspec.Struct, frozen=True, kw_only=True):
    """Writes bootstrap objects; groups are given in the neutral spelling, everything else in the vocabulary's own.

    An object that another writer keeps changing back is left alone for a while, as `contests` decide.
    """

    targets: Targets
    writes: WritePath
    naming: Naming
    contests: Contests = msgspec.field(default_factory=lambda: Contests(monotonic))

    async def ensure(self, group: str, version: str, plural: str, obj: Object) -> bool:
        """Create `obj` if there is none of its name, not even a damaged one; report whether it was created."""
        write = self._write(group, version, plural, obj)
        target = write.target
        if (wait := target.stored.cache.freshness.due(MOST_RECENT)) is not None:
            await wait
        if _is_there(write) or self.contests.due_in_s(_shown(write), obj, _nothing):
            return False
        wanted = fit_own(target.codec, obj)
        try:
            await self.writes.create(write, wanted)
        except AlreadyExists:
            return False
        self.contests.wrote(_shown(write), obj, None)
        return True

    async def ensure_content(self, group: str, version: str, plural: str, obj: Object) -> None:
        """Create `obj`, or set the members other than metadata, and the labels, of the present object."""
        if await self.ensure(group, version, plural, obj):
            return
        write = self._write(group, version, plural, obj)
        codec, meta = write.target.codec, obj["metadata"]

        def renew(live: Object | None) -> Object:
            wanted = obj
            if live is not None:
                labels = {**(live["metadata"].get("labels") or {}), **(meta.get("labels") or {})}
                members = {key: value for key, value in obj.items() if key != "metadata"}
                kept = {key: value for key, value in live["metadata"].items() if key != "resourceVersion"}
                kept |= {"labels": dict(sorted(labels.items()))} if labels else {}
                wanted = {**live, **members, "metadata": kept}
            return fit_own(codec, wanted)

        await self._publish(write, obj, renew)

    async def complete(
        self, group: str, version: str, plural: str, obj: Object, merge: Callable[[Object, Object], Object | None]
    ) -> bool:
        """Create `obj`, or replace the present object by the result of `merge`; None leaves it.

        Reports whether anything was written.
        """
        if await self.ensure(group, version, plural, obj):
            return True
        write = self._write(group, version, plural, obj)
        codec = write.target.codec

        def renew(live: Object | None) -> Object:
            wanted = obj if live is None else merge(live, obj) or live
            wanted = fit_own(codec, {**wanted, "metadata": {**wanted["metadata"]}})
            wanted["metadata"].pop("resourceVersion", None)
            return wanted

        entry = write.target.stored.get(write.namespace, write.name) if _is_readable(write) else None
        if entry is None or merge(write.target.load(entry), obj) is None:
            return False
        return await self._publish(write, obj, renew)

    async def _publish(self, write: Write, content: Object, change: Transform) -> bool:
        """Write the object that `change` returns, unless that has to wait; report whether anything was written."""
        live = write.target.stored.get(write.namespace, write.name) if _is_readable(write) else None

        def found() -> Object | None:
            return None if live is None else content_of(write.target.load(live))

        if self.contests.due_in_s(_shown(write), content, found):
            return False
        written = await self.writes.update(write, change)
        changed = live is None or written.entry.revision != live.revision
        if changed:
            self.contests.wrote(_shown(write), content, found())
        return changed

    def find(self, group: str, version: str, plural: str, obj: Object) -> Object | None:
        """Return the present object of the name of `obj`; None if there is none, or an unreadable one."""
        write = self._write(group, version, plural, obj)
        entry = write.target.stored.get(write.namespace, write.name) if _is_readable(write) else None
        return None if entry is None else write.target.load(entry)

    async def remove_unless(self, group: str, version: str, plural: str, obj: Object, key: str) -> None:
        """Remove the object of the name of `obj` if it differs in an immutable key."""
        write = self._write(group, version, plural, obj)
        stored = write.target.stored
        live = stored.get(write.namespace, write.name) if _is_there(write) else None
        if live is not None and (old := await self.writes.load(write, live)).get(key) != obj[key]:
            await self.writes.remove(write, live, old)

    async def remove(
        self,
        group: str,
        version: str,
        plural: str,
        name: str,
        mine: Callable[[Object], bool],
        namespace: str = "",
    ) -> None:
        """Remove the object of that name if it is `mine`."""
        write = self._write(group, version, plural, {"metadata": {"name": name, "namespace": namespace}})
        stored = write.target.stored
        live = stored.get(namespace, name) if _is_there(write) else None
        if live is not None and mine(old := await self.writes.load(write, live)):
            await self.writes.remove(write, live, old)

    async def change(
        self, group: str, version: str, plural: str, obj: Object, change: Callable[[Object], Object | None]
    ) -> None:
        """Set the object of the name of `obj` to the result of `change`; None leaves it.

        A missing object is not created.
        """
        write = self._write(group, version, plural, obj)

        def renew(live: Object | None) -> Object:
            if live is None:
                raise NotFound.generic()
            wanted = change(live) or live
            wanted = fit_own(write.target.codec, {**wanted, "metadata": {**wanted["metadata"]}})
            wanted["metadata"].pop("resourceVersion", None)
            return wanted

        with suppress(NotFound):
            await self.writes.update(write, renew)

    async def change_status(
        self, group: str, version: str, plural: str, name: str, change: Callable[[Object], Object | None]
    ) -> None:
        """Set the status of an object to the result of `change`; None leaves it.

        A missing object is not created.
        """
        write = self._write(group, version, plural, {"metadata": {"name": name}}, "status")

        def renew(live: Object | None) -> Object:
            if live is None:
                raise NotFound.generic()
            del live["metadata"]["resourceVersion"]
            status = change(live.get("status") or {})
            return live if status is None else write.target.codec.normalise({**live, "status": status})

        with suppress(NotFound):
            await self.writes.update(write, renew)

    def _write(self, group: str, version: str, plural: str, obj: Object, subresource: str = "") -> Write:
        return Write(
            target=self.targets.stored_target(self.naming.group(group), version, plural),
            namespace=obj["metadata"].get("namespace", ""),
            name=obj["metadata"]["name"],
            user=system_user(self.naming),
            subresource=subresource,
            from_live=True,
            manager=self.naming.api_server,
            own=True,
        )


async def together(works: Iterable[Callable[[], Coroutine[Any, Any, object]]]) -> None:
    """Run all of these concurrently: the store commits concurrent writes together.

    All are tried; the first error is raised.
    """
    started = [Deferred.fromCoroutine(work()) for work in works]
    for _, result in await DeferredList(started, consumeErrors=True):
        if isinstance(result, Failure):
            result.raiseException()


def _nothing() -> None:
    """Return no content: there is no object yet."""


def _shown(write: Write) -> str:
    return key_of(write.target.resource.plural, write.namespace, write.name)


def _is_readable(write: Write) -> bool:
    try:
        return write.target.stored.get(write.namespace, write.name) is not None
    except DamagedObject:
        return False


def _is_there(write: Write) -> bool:
    try:
        return write.target.stored.get(write.namespace, write.name) is not None
    except DamagedObject:
        return True
