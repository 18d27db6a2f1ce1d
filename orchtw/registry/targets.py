"""The registry of resources: what requests can name, by group, version and name, and who is told of changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from orchtw.naming import Naming
from orchtw.registry.stored import Stored
from orchtw.registry.strategies import strategy_for
from orchtw.registry.strategy import Strategy
from orchtw.registry.target import Target
from orchtw.rules.warnings import deprecation
from orchtw.schema.catalogue import Catalogue, GroupInfo, ResourceType, with_added
from orchtw.schema.codec.codecs import Codecs, KindCodec
from orchtw.schema.conversion.convert import CONVERSIONS, converter
from orchtw.schema.nodes import StructSchema
from orchtw.storage.cache import Cacher

REGISTRY = "/registry/"

Path = tuple[str, str, str]
"""Group, version, plural."""

MakeStrategy = Callable[[ResourceType, Naming, KindCodec], Strategy]


class Targets:
    """The resources of this server: those of the catalogue that `served` holds, and those that are added.

    An added resource differs from the others in its source alone. Whoever makes something of all resources, such as
    discovery, listens and makes it again.
    """

    def __init__(self, catalogue: Catalogue, codecs: Codecs, served: Iterable[ResourceType]) -> None:
        self._catalogue = catalogue
        self._codecs = codecs
        self._caches: Cacher | None = None
        self._listeners: tuple[Callable[[], None], ...] = ()
        self._stored: dict[tuple[str, str], Stored] = {}
        self._targets: dict[Path, Target] = {}
        self._all: dict[Path, Target] = {}
        self._served = {_path(each): each for each in served}
        self._added: dict[Path, ResourceType] = {}
        self.versions = {path[:2] for path in self._served}
        for resource in catalogue.resources:
            if resource.storage_version is not None:
                target = self._all[_path(resource)] = self._target(resource, self._stored_for(resource))
                if _path(resource) in self._served:
                    self._targets[_path(resource)] = target

    async def open(self, caches: Cacher) -> None:
        """Fill the caches of all stored resources; others can be added from then on.

        Raises as `Cacher.start` does.
        """
        await caches.start(self._stored.values())
        for stored in self._stored.values():
            stored.cache = caches.of(stored)
        self._caches = caches

    async def add(
        self, versions: Sequence[tuple[ResourceType, StructSchema]], make_strategy: MakeStrategy = strategy_for
    ) -> None:
        """Serve a resource that is none of the release, in all of its versions, each with its schema; after `open`.

        One of them is the storage version; requests may name those that are on by default. They can when this
        returns, not before: by then all of its objects in the store are in the cache. Raises ValueError for a path or
        kind that is taken, and what the store raises; nothing has been added then.
        """
        assert self._caches is not None
        resources = [resource for resource, _ in versions]
        key = self._new_home(resources)
        try:
            for resource, schema in versions:
                self._codecs.add(resource, schema)
                self._added[_path(resource)] = resource
            home = next(each for each in resources if each.version == each.storage_version)
            stored = self._make_stored(home, make_strategy)
            targets = {_path(each): self._target(each, stored) for each in resources}
            stored.cache = await self._caches.add(stored)
        except BaseException:
            self._forget([each for each in resources if _path(each) in self._added])
            raise
        self._stored[key] = stored
        self._all.update(targets)
        self._targets.update({path: each for path, each in targets.items() if each.resource.default_on})
        self._changed()

    def remove(self, group: str, plural: str) -> None:
        """Serve an added resource no longer, in any version: its watches end in good order.

        Requests under way go on with what they have; its objects stay in the store. Raises KeyError for a resource
        that has not been added.
        """
        assert self._caches is not None
        gone = [resource for path, resource in self._added.items() if (path[0], path[2]) == (group, plural)]
        stored = self._stored.get((group, plural))
        if not gone or stored is None:
            raise KeyError(f"{plural}.{group}")
        del self._stored[group, plural]
        for resource in gone:
            del self._all[_path(resource)]
            self._targets.pop(_path(resource), None)
        self._forget(gone)
        self._changed()
        self._caches.remove(stored)

    def listen(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed`, which must not raise, whenever resources have been added or removed.

        What comes back ends it.
        """
        self._listeners = (*self._listeners, changed)

        def leave() -> None:
            self._listeners = tuple(each for each in self._listeners if each is not changed)

        return leave

    @property
    def resources(self) -> tuple[ResourceType, ...]:
        """Every resource that requests may name, those that are never stored included; those of the release first."""
        added = (each.resource for path, each in self._targets.items() if path in self._added)
        return (*self._served.values(), *added)

    @property
    def groups(self) -> tuple[GroupInfo, ...]:
        """Every known group in the order of discovery, also those of which nothing is served."""
        return with_added(self._catalogue.groups, self.resources[len(self._served) :])

    def find(self, group: str, version: str, plural: str) -> Target | None:
        """The target of a path, or None."""
        return self._targets.get((group, version, plural))

    def stored_target(self, group: str, version: str, plural: str) -> Target:
        """A target that the server itself uses, whether requests may name it or not; KeyError: there is none."""
        return self._all[group, version, plural]

    def served(self) -> Iterator[Target]:
        """Every target that requests may name."""
        return iter(self._targets.values())

    def versions_of(self, target: Target) -> Mapping[str, Target]:
        """The served targets that share `target`'s stored resource, by apiVersion; itself in any case."""
        served = {each.resource.api_version: each for each in self._targets.values() if each.stored is target.stored}
        return {target.resource.api_version: target, **served}

    def _changed(self) -> None:
        self.versions = {_path(each)[:2] for each in self.resources}
        for changed in self._listeners:
            changed()

    def _new_home(self, resources: Sequence[ResourceType]) -> tuple[str, str]:
        """Group and plural of a resource that is to be added. Raises ValueError."""
        first = resources[0]
        known = self._stored.keys() | {(path[0], path[2]) for path in (*self._served, *self._added)}
        versions = {each.version for each in resources}
        alike = {(each.group, each.plural, each.storage_group, each.storage_version) for each in resources}
        if (
            (first.group, first.plural) in known
            or alike != {(first.group, first.plural, first.group, first.storage_version)}
            or first.storage_version not in versions
        ):
            raise ValueError(f"{first.qualified} is there already, or its versions do not belong together")
        return first.group, first.plural

    def _forget(self, resources: Iterable[ResourceType]) -> None:
        for resource in resources:
            self._codecs.remove(resource)
            del self._added[_path(resource)]

    def _target(self, resource: ResourceType, stored: Stored) -> Target:
        target = Target(
            resource=resource,
            codec=self._codecs.kind(resource.api_version, resource.kind),
            stored=stored,
            deprecation=deprecation(resource, self._catalogue.naming.release),
        )
        home = stored.resource
        if (resource.group, resource.version) != (home.group, home.version):
            naming = self._catalogue.naming
            target.to_storage = converter(home.kind, resource.api_version, home.api_version, naming=naming)
            target.from_storage = converter(home.kind, home.api_version, resource.api_version, naming=naming)
            target.same_fields = home.kind not in CONVERSIONS
        return target

    def _stored_for(self, resource: ResourceType) -> Stored:
        """The stored resource behind one of the release, shared by its versions."""
        group, plural = resource.storage_group or "", resource.plural
        known = self._stored.get((group, plural))
        if known is None:
            home = self._catalogue.find(group, resource.storage_version or "", plural) or resource
            known = self._stored[group, plural] = self._make_stored(home, strategy_for)
        return known

    def _make_stored(self, home: ResourceType, make_strategy: MakeStrategy) -> Stored:
        codec, naming = self._codecs.kind(home.api_version, home.kind), self._catalogue.naming
        strategy = make_strategy(home, naming, codec)
        return Stored(home, codec, strategy, storage_prefix(home, naming), home.field_selectors)


def _path(resource: ResourceType) -> Path:
    return resource.group, resource.version, resource.plural


def storage_prefix(resource: ResourceType, naming: Naming) -> str:
    """Where a resource's objects lie in the store: the same in every vocabulary."""
    group = naming.neutral(resource.group)
    return f"{REGISTRY}{group}/{resource.plural}/" if group else f"{REGISTRY}{resource.plural}/"
