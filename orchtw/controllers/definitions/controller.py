"""Looks at each definition that has changed: its names, its conditions, what is served by it, its end."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs

from orchtw.client.informer import Informer
from orchtw.client.interface import Item
from orchtw.client.work_queue import Backoff, Retry
from orchtw.controllers.controller import Controller, Host
from orchtw.controllers.definitions.definition import Definition
from orchtw.controllers.definitions.names import accept
from orchtw.controllers.definitions.serving import Serving
from orchtw.errors import NotFound
from orchtw.objects import Object
from orchtw.registry.bootstrap.maker import system_user
from orchtw.registry.deletion import Deletion
from orchtw.registry.groups.apiextensions.conditions import TERMINATING, Finding, with_condition
from orchtw.registry.groups.apiextensions.definition import CLEANUP_FINALIZER
from orchtw.registry.target import Target
from orchtw.registry.targets import Targets
from orchtw.registry.write import Write
from orchtw.registry.write_path import WritePath
from orchtw.rules.options import DeleteOptions
from orchtw.watch.entry import Entry

CONCURRENCY = 32


@attrs.frozen(slots=True, kw_only=True, eq=False)
class Parts:
    """What definitions are looked after with."""

    targets: Targets
    writes: WritePath
    deletion: Deletion
    serving: Serving


class DefinitionController(Controller):
    """Keys are names of definitions."""

    name = "definitions"
    account = "definitions"
    backoff = Backoff(first_s=0.005, limit_s=5.0)

    def __init__(self, host: Host, parts: Parts) -> None:
        super().__init__(host, CONCURRENCY)
        naming = host.naming
        self._parts = parts
        group = naming.group("apiextensions.orch.io")
        self._target = parts.targets.stored_target(group, "v1", "customresourcedefinitions")
        self._known: dict[str, Definition] = {}
        self._user = system_user(naming)
        self._finalizer = naming.translate(CLEANUP_FINALIZER)
        resource = self.client.resource(group, "v1", "customresourcedefinitions")
        self._informer = Informer(self.client, resource, host.clock, host.random)
        self._informer.handle(self._seen)

    @property
    def sources(self) -> Sequence[Informer]:
        """Definitions alone."""
        return (self._informer,)

    def _seen(self, old: Item | None, new: Item | None) -> None:
        item = new or old
        assert item is not None
        if new is not None and new.owner_metadata().terminating:
            self._parts.serving.close(new.name)
        self.queue.add(item.name)

    async def reconcile(self, key: str) -> float | None:
        """Bring a definition's status and what is served by it in line with it."""
        entry = self._target.stored.get("", key)
        if entry is None:
            self._gone(key)
            return None
        obj = self._target.load(entry)
        definition = self._known[key] = Definition.of(obj)
        if definition.terminating:
            await self._parts.serving.serve(definition, obj)
            await self._end(definition)
        elif not await self._accept(definition):
            await self._parts.serving.serve(definition, obj)
        return None

    def _gone(self, name: str) -> None:
        self._parts.serving.end(name)
        gone = self._known.pop(name, None)
        if gone is not None:
            for other in self._known.values():
                if other.group == gone.group:
                    self.queue.add(other.name)

    async def _accept(self, definition: Definition) -> bool:
        """Give a definition its names; returns whether that changed it."""
        others = [
            each.accepted
            for each in self._known.values()
            if each.group == definition.group and each.name != definition.name
        ]
        names, findings = accept(definition, others)
        if names == definition.accepted and not _news(definition, findings):
            return False

        def change(live: Object) -> None:
            told = _told(live["status"], findings, self._parts.writes.timestamp())
            live["status"] = {**told, "acceptedNames": names}

        await self._write(definition.name, change)
        return True

    async def _end(self, definition: Definition) -> None:
        if self._finalizer not in definition.finalizers:
            return
        target = self._served_target(definition)
        if target is None:
            finding = Finding(TERMINATING, False, "NeverEstablished", "resource was never established")
            await self._finish(definition, finding)
            return
        if not await self._delete_all(definition, target):
            raise Retry("objects remain")
        finding = Finding(TERMINATING, False, "InstanceDeletionCompleted", "removed all instances")
        await self._finish(definition, finding)

    def _served_target(self, definition: Definition) -> Target | None:
        plural = definition.accepted.get("plural", "")
        for target in self._parts.targets.served():
            if target.resource.plural == plural and target.resource.group == definition.group:
                return target
        return None

    async def _delete_all(self, definition: Definition, target: Target) -> bool:
        in_progress = Finding(
            TERMINATING, True, "InstanceDeletionInProgress", "CustomResource deletion is in progress"
        )
        if _news(definition, [in_progress]):
            await self._write(
                definition.name,
                lambda live: live.update(
                    status=_told(live["status"], [in_progress], self._parts.writes.timestamp())
                ),
            )
        for entry in target.stored.cache.snapshot():
            await self._delete(target, entry)
        return not len(target.stored.cache.snapshot())

    async def _delete(self, target: Target, entry: Entry) -> None:
        write = Write(target=target, namespace=entry.namespace, name=entry.name, user=self._user)
        try:
            await self._parts.deletion.delete(write, DeleteOptions())
        except NotFound:
            return

    async def _finish(self, definition: Definition, finding: Finding) -> None:
        def change(live: Object) -> None:
            live["status"] = _told(live["status"], [finding], self._parts.writes.timestamp())
            meta = live["metadata"]
            meta["finalizers"] = [each for each in meta.get("finalizers") or () if each != self._finalizer]

        await self._write(definition.name, change)

    async def _write(self, name: str, change: Callable[[Object], None]) -> None:
        def transform(live: Object | None) -> Object:
            if live is None:
                raise NotFound.generic()
            live["metadata"].pop("resourceVersion", None)
            change(live)
            return live

        write = Write(
            target=self._target,
            namespace="",
            name=name,
            user=self._user,
            subresource="status",
            from_live=True,
            manager=self.host.naming.api_server,
        )
        try:
            await self._parts.writes.update(write, transform)
        except NotFound:
            return


def _news(definition: Definition, findings: Sequence[Finding]) -> bool:
    return any(not _says(definition, finding) for finding in findings)


def _says(definition: Definition, finding: Finding) -> bool:
    found = next((each for each in definition.conditions if each["type"] == finding.type), None)
    return found is not None and (found["status"], found.get("reason", ""), found.get("message", "")) == (
        "True" if finding.holds else "False", finding.reason, finding.message
    )


def _told(status: Object, findings: Sequence[Finding], now: str) -> Object:
    conditions = status.get("conditions") or []
    for finding in findings:
        conditions = with_condition(conditions, finding, now)
    return {**status, "conditions": conditions}
