"""Mapping of the registry's resources to those of clients."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from orchtw.client.interface import Resource, ResourcesChanged
from orchtw.errors import NotFound
from orchtw.registry.target import Target
from orchtw.registry.targets import Path, Targets


class RESTMapper:
    """Resources by path and by kind; all are read on first use, then changes are followed."""

    def __init__(self, targets: Targets) -> None:
        self._targets = targets
        self._by_path: dict[Path, Resource] = {}
        self._by_kind: dict[tuple[str, str], Resource] = {}
        self._home: dict[Resource, Target] = {}
        self._is_read = False
        self._followers: tuple[ResourcesChanged, ...] = ()
        targets.follow(self._changed)

    def resources(self) -> Sequence[Resource]:
        """Return each stored resource that is served in any version."""
        self._read()
        return tuple(self._home)

    def listen(self, changed: ResourcesChanged) -> Callable[[], None]:
        """Call `changed` with the removed and added `resources`. Returns a function that ends it."""
        self._read()
        self._followers = (*self._followers, changed)

        def leave() -> None:
            self._followers = tuple(each for each in self._followers if each is not changed)

        return leave

    def by_path(self, group: str, version: str, plural: str) -> Resource:
        """Return the resource of that path. Raises KeyError if it is not served."""
        self._read()
        return self._by_path[group, version, plural]

    def by_kind(self, api_version: str, kind: str) -> Resource | None:
        """Return the resource that serves that kind, or None."""
        self._read()
        return self._by_kind.get((api_version, kind))

    def target(self, resource: Resource) -> Target:
        """Return the target of a resource found before. Raises NotFound (404) once it is gone."""
        self._read()
        target = self._home.get(resource)
        if target is None:
            raise NotFound.generic()
        return target

    def _read(self) -> None:
        if not self._is_read:
            self._is_read = True
            self._learn(self._targets.served(), {})

    def _changed(self, gone: Sequence[Target], come: Sequence[Target]) -> None:
        """Drop the removed targets and add new ones; notify followers of differences."""
        if not self._is_read:
            return
        before = self._forget(gone)
        after = self._learn(come, before)
        lost = [resource for resource in before if resource not in after]
        found = [resource for resource in after if resource not in before]
        if lost or found:
            for follower in self._followers:
                follower(lost, found)

    def _forget(self, targets: Iterable[Target]) -> dict[Resource, Resource]:
        found: dict[Resource, Resource] = {}
        for target in targets:
            served = target.resource
            resource = self._by_path.pop((served.group, served.version, served.plural), None)
            self._by_kind.pop((served.api_version, served.kind), None)
            if resource is not None:
                found[resource] = resource
                self._home.pop(resource, None)
                self._by_path.pop(_home_path(target), None)
        return found

    def _learn(self, targets: Iterable[Target], same: Mapping[Resource, Resource]) -> dict[Resource, Resource]:
        """Add these targets; one that is the `same` as before keeps its object: comparisons are by identity."""
        found: dict[Resource, Resource] = {}
        for target in sorted(targets, key=_is_away):
            served = target.resource
            known = self._by_path.get(_home_path(target))
            if known is None:
                known = Resource(
                    group=served.group, version=served.version, plural=served.plural, kind=served.kind,
                    namespaced=served.namespaced, verbs=served.verbs,
                )  # fmt: skip
                known = same.get(known, known)
                self._home[known] = target
                self._by_path[_home_path(target)] = found[known] = known
            self._by_path[served.group, served.version, served.plural] = known
            self._by_kind[served.api_version, served.kind] = known
        return found


def _home_path(target: Target) -> Path:
    home = target.stored.resource
    return home.group, home.version, home.plural


def _is_away(target: Target) -> bool:
    """Report whether a target is not of the stored version; stored versions sort first."""
    return (target.resource.group, target.resource.version) != _home_path(target)[:2]
