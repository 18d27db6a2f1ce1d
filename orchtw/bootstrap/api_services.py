"""APIServices of this server's own group versions, as these come and go (reference AGG-2, AGG-14)."""

from __future__ import annotations

from collections.abc import Coroutine, Iterable, Sequence
from typing import Any, Final

from twisted.internet.defer import Deferred, DeferredList
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from orchtw.bootstrap.ensurer import Ensurer
from orchtw.errors import StatusError
from orchtw.registry.aggregation.services import (
    GROUP,
    PLURAL,
    VERSION,
    ApiService,
    ApiServices,
    GroupVersion,
    managed_label,
)
from orchtw.registry.target import Target
from orchtw.registry.targets import Targets
from orchtw.schema.catalogue import ADDED_VERSION_PRIORITY, GroupInfo
from orchtw.wire.objects import Object

ON_START, ALWAYS = "onstart", "true"

SETTLE_S: Final = 30.0
"""Delay after the start before APIServices of unserved custom group versions are removed.

Their definitions may be yet to come.
"""

GATHER_S: Final = 0.1
"""Delay after a change, so that further changes are handled together with it."""

RETRY_S: Final = 1.0


class Registration:
    """Creator and remover of APIServices.

    Those of the release are made once, at the start; those of custom resources are maintained always. Objects without
    the server's label are not touched.
    """

    _log = Logger()

    def __init__(self, ensurer: Ensurer, services: ApiServices, clock: IReactorTime) -> None:
        self._ensurer = ensurer
        self._services = services
        self._clock = clock
        self._label = managed_label(ensurer.naming)
        self._settled_at = 0.0
        self._at_start: frozenset[str] = frozenset()
        self._done: set[str] = set()
        self._ours: set[str] = set()
        self._due: set[GroupVersion] = set()
        self._timer: IDelayedCall | None = None
        self._stopped = False

    def follow(self) -> None:
        """Begin to follow changes; called once the caches are filled."""
        self._settled_at = self._clock.seconds() + SETTLE_S
        self._at_start = frozenset(self._services.all)
        self._services.listen(self._changed)
        self._ensurer.targets.follow(self._resources_changed)

    def stop(self) -> None:
        """Stop following changes, and cancel the timer."""
        self._stopped = True
        if self._timer is not None and self._timer.active():
            self._timer.cancel()

    async def run(self) -> None:
        """Reconcile all of them. Raises the error of the first rejected write."""
        managed = (each.group_version for each in self._services.all.values() if each.managed)
        served = ((info.name, version) for info in self._ensurer.targets.groups for version in info.versions)
        await self._bring_in_line(dict.fromkeys((*served, *managed)))

    async def _bring_in_line(self, group_versions: Iterable[GroupVersion]) -> None:
        """Reconcile the APIServices of some group versions."""
        own, targets = self._ensurer.naming.group(GROUP), self._ensurer.targets
        wanted: dict[str, Object] = {}
        names: list[str] = []
        for group, version in group_versions:
            names.append(f"{version}.{group}")
            if group != own:
                wanted |= wanted_service(targets, group, version, self._label)
        self._ours.update(wanted)
        deeds = [deed for name in names if (deed := self._deed(name, wanted.get(name))) is not None]
        outcomes: Any = await DeferredList([Deferred.fromCoroutine(deed) for deed in deeds], consumeErrors=True)
        for done, result in outcomes:
            if not done:
                result.raiseException()
        self._done.update(wanted)

    def _changed(self, old: ApiService | None, new: ApiService | None) -> None:
        if old is None and new is not None and new.name in self._ours:
            return
        freed = new is None and old is not None and old.name in self._ours
        if freed or any(each is not None and each.managed == ALWAYS for each in (old, new)):
            self._due.update(each.group_version for each in (old, new) if each is not None)
            self._soon(GATHER_S)

    def _resources_changed(self, gone: Sequence[Target], come: Sequence[Target]) -> None:
        self._due.update((each.resource.group, each.resource.version) for each in (*gone, *come))
        self._soon(GATHER_S)

    def _soon(self, delay_s: float) -> None:
        if self._stopped:
            return
        if self._timer is not None and self._timer.active():
            if self._timer.getTime() <= self._clock.seconds() + delay_s:
                return
            self._timer.cancel()
        self._timer = self._clock.callLater(delay_s, self._again)

    def _again(self) -> None:
        due, self._due = self._due, set()
        Deferred.fromCoroutine(self._bring_in_line(due)).addErrback(self._failed, due)

    def _failed(self, failure: Failure, due: Iterable[GroupVersion]) -> None:
        self._due.update(due)
        if isinstance(error := failure.value, StatusError):
            self._log.warn("failed to create APIServices: {why}", why=error.message)
        else:
            self._log.failure("failed to create APIServices", failure=failure)
        self._soon(RETRY_S)

    def _deed(self, name: str, wanted: Object | None) -> Coroutine[Any, Any, object] | None:
        """Return the write that one name needs, or None."""
        live = self._services.all.get(name)
        if name in self._done and wanted is not None and self._is_on_start(wanted):
            return None
        if live is None:
            return None if wanted is None else self._ensurer.ensure(GROUP, VERSION, PLURAL, wanted)
        late = live.managed == ON_START and (name not in self._at_start or name in self._done)
        if not live.managed or late:
            return None
        if wanted is not None:
            if _says(live, wanted["spec"]):
                return None
            return self._ensurer.ensure_content(GROUP, VERSION, PLURAL, wanted)
        wait_s = self._settled_at - self._clock.seconds()
        if live.managed == ALWAYS and name not in self._ours and wait_s > 0:
            self._due.add(live.group_version)
            self._soon(wait_s)
            return None
        return self._ensurer.remove(GROUP, VERSION, PLURAL, name, self._is_ours)

    def _is_on_start(self, wanted: Object) -> bool:
        return bool(wanted["metadata"]["labels"][self._label] == ON_START)

    def _is_ours(self, obj: Object) -> bool:
        return self._label in (obj["metadata"].get("labels") or {})


def wanted_service(targets: Targets, group: str, version: str, label: str) -> dict[str, Object]:
    """Return the APIService of a served group version, by name; empty: it is not served here."""
    if (group, version) not in targets.versions:
        return {}
    labels = {label: ON_START if (group, version) in targets.release_versions else ALWAYS}
    return _service(targets.group(group, version), version, labels)


def _service(info: GroupInfo, version: str, labels: dict[str, str]) -> dict[str, Object]:
    name = f"{version}.{info.name}"
    spec = {
        "group": info.name,
        "version": version,
        "groupPriorityMinimum": info.group_priority_minimum,
        "versionPriority": info.version_priority.get(version, ADDED_VERSION_PRIORITY),
    }
    return {name: {"metadata": {"name": name, "labels": labels}, "spec": spec}}


def _says(live: ApiService, spec: Object) -> bool:
    priorities = live.group_priority, live.version_priority
    return live.backend is None and priorities == (spec["groupPriorityMinimum"], spec["versionPriority"])
