"""Deletion of all objects of a terminating definition (reference CRD-25)."""

from __future__ import annotations

from contextlib import suppress

from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater

from orchtw.client.concurrency import each
from orchtw.errors import Conflict, NotFound, StatusError
from orchtw.registry.stored import Stored
from orchtw.registry.target import Target
from orchtw.registry.write import Write
from orchtw.request import UserInfo
from orchtw.rules.delete_options import DeleteOptions
from orchtw.storage.cache.freshness import MOST_RECENT
from orchtw.writes.delete import Deletion
from orchtw.writes.write_path import WritePath

AT_A_TIME = 64
"""Concurrent deletes: the store commits together what is queued together."""
TURN_S = 0.008
"""Seconds that one turn may spend on objects that need no delete."""
MAX_CAUSES = 10
"""Most refusals that are reported: thousands of objects may be refused for the same reason."""


class Emptying:
    """Deletion as the server itself, past admission, which was asked with the definition."""

    def __init__(self, deletion: Deletion, writes: WritePath, user: UserInfo, clock: IReactorTime) -> None:
        self._deletion = deletion
        self._writes = writes
        self._user = user
        self._clock = clock

    async def remaining(self, stored: Stored) -> int:
        """Return the number of remaining objects, unreadable ones included."""
        if (wait := stored.cache.freshness.due(MOST_RECENT)) is not None:
            await wait
        return len(stored.cache) + len(stored.cache.damaged)

    async def delete_all(self, target: Target) -> list[str]:
        """Delete all objects that are not ending yet, in all namespaces; returns why some could not be deleted.

        Those with finalizers begin to end.
        """
        stored, refusals = target.stored, dict[str, None]()
        until = self._clock.seconds() + TURN_S

        async def delete(key: str) -> None:
            nonlocal until
            if self._clock.seconds() >= until:
                await deferLater(self._clock, 0)
                until = self._clock.seconds() + TURN_S
            try:
                await self._delete(target, key)
            except NotFound:
                return
            except StatusError as error:
                if len(refusals) < MAX_CAUSES:
                    refusals[error.message] = None

        keys = [entry.key for entry in stored.cache.snapshot()]
        await each([*keys, *stored.cache.damaged], delete, AT_A_TIME)
        return list(refusals)

    async def _delete(self, target: Target, key: str) -> None:
        stored = target.stored
        if (revision := stored.cache.damaged.get(key)) is not None:
            await self._writes.discard(stored, key, revision)
            return
        namespace, _, name = key.rpartition("/")
        entry = stored.get(namespace, name)
        meta = {} if entry is None else stored.metadata(entry)
        if entry is None or meta.get("deletionTimestamp"):
            return
        write = Write(target=target, namespace=namespace, name=name, user=self._user, admitted=True)
        with suppress(Conflict):  # another object has come in its place: it is counted, or another definition's
            await self._deletion.delete(write, DeleteOptions(precondition_uid=meta.get("uid") or None))
