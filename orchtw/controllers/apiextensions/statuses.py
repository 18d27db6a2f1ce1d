"""Writer of a definition's status, as the server itself."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

import msgspec

from orchtw.bootstrap.ensurer import system_user
from orchtw.controllers.apiextensions.definition import Definition, Names
from orchtw.controllers.apiextensions.naming import NAMES_ORDER
from orchtw.errors import Conflict, NotFound
from orchtw.naming.naming import Naming
from orchtw.registry.groups.apiextensions.conditions import (
    NAMES_ACCEPTED,
    Finding,
    find,
    is_told,
    with_condition,
)
from orchtw.registry.target import Target
from orchtw.registry.write import Write
from orchtw.wire.objects import Object
from orchtw.writes.write_path import WritePath

_ORDER: Final = ("conditions", "acceptedNames", "storedVersions")


class News(msgspec.Struct, frozen=True, kw_only=True):
    """Status update of a definition: findings, conditions to remove, and accepted names.

    `accepted` None: they stay. `released` is a finalizer to remove.
    """

    findings: Sequence[Finding] = ()
    dropped: Collection[str] = ()
    accepted: Names | None = None
    released: str = ""

    @property
    def accepts(self) -> bool:
        """Report whether all names that the definition asks for are its own."""
        return any(each.type == NAMES_ACCEPTED and each.holds for each in self.findings)

    def concern(self, definition: Definition) -> bool:
        """Report whether the definition's status differs."""
        conditions = definition.conditions
        return (
            any(not is_told(conditions, finding) for finding in self.findings)
            or any(find(conditions, kind) is not None for kind in self.dropped)
            or (self.accepted is not None and self.accepted != definition.accepted)
            or self.released in definition.finalizers
        )


def as_told(definition: Definition, obj: Object, news: News) -> tuple[Definition, Object]:
    """Return a definition, and its object, with the accepted names of an update."""
    if news.accepted is None:
        return definition, obj
    shown = _shown_names(news.accepted)
    accepted = {key: value for key, value in shown.items() if value}
    status = {**(obj.get("status") or {}), "acceptedNames": shown}
    return msgspec.structs.replace(definition, accepted=accepted), {**obj, "status": status}


class Statuses:
    """Writer of status updates; each is repeated from the newer state on a conflict, so that none undoes another."""

    def __init__(self, target: Target, writes: WritePath, naming: Naming) -> None:
        self._target = target
        self._writes = writes
        self._user = system_user(naming)
        self._manager = naming.api_server

    async def tell(self, definition: Definition, news: News) -> bool:
        """Write the news unless there are none; returns whether it did. One that is gone needs no telling.

        Raises what the write path raises; Conflict: there is another definition of that name, or another state of
        its names, which is to be looked at first.
        """
        if not news.concern(definition):
            return False
        write = Write(
            target=self._target,
            namespace="",
            name=definition.name,
            user=self._user,
            subresource="status",
            from_live=True,
            manager=self._manager,
        )
        try:
            await self._writes.update(write, lambda live: self._told(live, definition, news))
        except NotFound:
            return True
        return True

    def _told(self, live: Object | None, definition: Definition, news: News) -> Object:
        resource = self._target.resource
        if live is None:
            raise NotFound.of(resource.plural, resource.group, definition.name)
        meta, status = live["metadata"], live.get("status") or {}
        if meta["uid"] != definition.uid or live["spec"]["names"] != definition.names:
            raise Conflict.modified(resource.plural, resource.group, definition.name)
        meta.pop("resourceVersion", None)
        if news.released:
            meta["finalizers"] = [each for each in meta.get("finalizers") or () if each != news.released]
        status = {**status, "conditions": self._conditions(status, news)}
        if news.accepted is not None:
            status["acceptedNames"] = _shown_names(news.accepted)
        live["status"] = {key: status[key] for key in _ORDER if key in status}
        return live

    def _conditions(self, status: Object, news: News) -> Sequence[object]:
        now = self._writes.timestamp()
        conditions = [each for each in status.get("conditions") or () if each["type"] not in news.dropped]
        for finding in news.findings:
            conditions = with_condition(conditions, finding, now)
        return conditions


def _shown_names(accepted: Names) -> Names:
    """Return the names for a status, with plural and kind even if empty (reference CRD-7)."""
    names = {"plural": "", "kind": "", **accepted}
    return {key: names[key] for key in NAMES_ORDER if key in names}
