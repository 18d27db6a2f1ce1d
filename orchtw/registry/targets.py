"""Registry of resources by group, version and name, and of listeners to its changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import attrs
import msgspec

from orchtw.config.cluster import ClusterOptions
from orchtw.config.releases import LAST, Release
from orchtw.config.storage import StorageOptions
from orchtw.naming.naming import Naming
from orchtw.registry.older_values import OlderValues
from orchtw.registry.reservations import ReservationHost
from orchtw.registry.stored import Stored
from orchtw.registry.strategies import strategy_for
from orchtw.registry.strategy import Strategy
from orchtw.registry.target import Target
from orchtw.registry.versioning import MakeVersioning, VersioningParts
from orchtw.rules.warnings import deprecation
from orchtw.schema.catalogue import Catalogue, GroupInfo, ResourceType, added_group, with_added
from orchtw.schema.codec.codec import Codec
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.nodes import StructSchema
from orchtw.schema.schemas import Kind
from orchtw.storage.cache.watch_cache import Cacher
from orchtw.wire.objects import Object

REGISTRY = "/registry/"
_VERBS_OF_CLOSED = ("delete", "deletecollection", "get", "list", "watch")

Path = tuple[str, str, str]
"""Group, version, plural."""

Home = tuple[str, str]
"""Group and plural under which a resource is stored."""

TargetsChanged = Callable[[Sequence[Target], Sequence[Target]], None]
"""Receives the targets that can no longer be named by requests, and the new ones."""

MakeStrategy = Callable[[ResourceType, Naming, Codec], Strategy]
Made = tuple[ResourceType, Codec]
MakeCodec = Callable[[ResourceType, StructSchema], Codec]


class Replaced(msgspec.Struct, frozen=True):
    """A value that was written past the write path: before and after; None: there was, or is, no object."""

    key: str
    before: bytes | None
    after: bytes | None


class Targets:
    """Resources of this server: those of the catalogue that `served` holds, and those that are added.

    An added resource differs from the others in its source alone. Everything derived from all resources, such as
    discovery, listens and is rebuilt. `codecs` knows the kinds of both.
    """

    def __init__(self, catalogue: Catalogue, codecs: Codecs, served: Iterable[ResourceType]) -> None:
        self._catalogue = catalogue
        self.codecs = codecs
        self._caches: Cacher | None = None
        self._listeners: tuple[Callable[[], None], ...] = ()
        self._followers: tuple[TargetsChanged, ...] = ()
        self._stored: dict[Home, Stored] = {}
        self._targets: dict[Path, Target] = {}
        self._all: dict[Path, Target] = {}
        self._served = {_path(each): each for each in served}
        self._added: dict[Home, Sequence[ResourceType]] = {}
        self._opening: dict[Home, Sequence[ResourceType]] = {}
        self._groups = {each.name: each for each in catalogue.groups}
        self._release = {(each.group, each.plural) for each in catalogue.resources}
        self.versions = Counter(path[:2] for path in self._served)
        self.release_versions = frozenset(self.versions)
        for resource in catalogue.resources:
            if resource.storage_version is not None:
                codec = codecs.kind(resource.api_version, resource.kind)
                target = self._all[_path(resource)] = self._target(resource, codec, self._stored_for(resource))
                if _path(resource) in self._served:
                    self._targets[_path(resource)] = target

    async def open(self, caches: Cacher) -> None:
        """Fill the caches of all stored resources; others can be added from then on.

        Raises as `Cacher.start` does.
        """
        await caches.start(self._stored.values())
        for stored in self._stored.values():
            stored.attach(caches.of(stored))
        self._caches = caches

    async def add(
        self,
        versions: Sequence[Kind],
        make_strategy: MakeStrategy = strategy_for,
        make_codec: MakeCodec | None = None,
        make_versioning: MakeVersioning | None = None,
    ) -> None:
        """Serve an added resource in all of its versions, each with its schema; after `open`.

        One of them is the storage version; requests may name those that are on by default. They can when this
        returns, not before: by then all of its objects in the store are in the cache. Added again, a resource takes
        the place of what it was, which is served until then and whose watches end. Raises ValueError for a path or
        kind that another resource has, and while this one is being added; and what the store raises. Nothing has
        changed then.
        """
        assert self._caches is not None
        resources = [resource for resource, _ in versions]
        home = self._check_free(resources)
        self.codecs.schemas.check(self._added.get(home, ()), versions)
        self._opening[home] = resources
        try:
            make = make_codec or self.codecs.made
            come = [(resource, make(resource, schema)) for resource, schema in versions]
            storage = next(pair for pair in come if pair[0].version == pair[0].storage_version)
            if make_versioning is None:
                stored = self._make_stored(*storage, make_strategy)
                targets = [self._target(resource, codec, stored) for resource, codec in come]
            else:
                stored, targets = self._versioned(storage, come, make_strategy, make_versioning)
            stored.attach(await self._caches.add(stored))
        finally:
            del self._opening[home]
        self._stored[home] = stored
        self._replace(home, targets)

    def configure(
        self,
        host: ReservationHost,
        gates: Mapping[str, bool],
        cluster: ClusterOptions,
        storage: StorageOptions,
        emulated: Release = LAST,
    ) -> None:
        """Give the strategies of the release's kinds what follows from flags; before the first write."""
        for stored in self._stored.values():
            strategy = stored.strategy
            strategy.configure(gates)
            strategy.emulate(emulated)
            if (make := strategy.traits.reservations) is not None:
                strategy.reservations = make(host, cluster)
            if (ttl_s := strategy.traits.ttl_s) is not None:
                strategy.ttl_s = ttl_s(storage)

    async def repair_reservations(self) -> None:
        """Bring all reservations in line with what is stored. Raises what the store raises."""
        for stored in tuple(self._stored.values()):
            if stored.strategy.reservations is not None:
                await stored.strategy.reservations.repair()

    async def replaced(self, values: Iterable[Replaced]) -> None:
        """Bring all reservations in line with values that have been written past them, while no write was begun."""
        changed = tuple(values)
        for stored in tuple(self._stored.values()):
            if stored.strategy.reservations is not None:
                own = [each for each in changed if each.key.startswith(stored.prefix)]
                gone = [_loaded(stored, each.key, each.before) for each in own if each.before is not None]
                come = [_loaded(stored, each.key, each.after) for each in own if each.after is not None]
                await stored.strategy.reservations.replaced(gone, come)

    @property
    def lifetimes(self) -> Mapping[str, float]:
        """Seconds that values live after they were written, by prefix of their keys; all others live on."""
        return {each.prefix: each.strategy.ttl_s for each in self._stored.values() if each.strategy.ttl_s}

    def remove(self, group: str, plural: str) -> None:
        """Serve an added resource no longer, in any version: its watches end in good order.

        Requests under way go on with what they have; its objects stay in the store. Raises KeyError for a resource
        that has not been added, or is being added again.
        """
        assert self._caches is not None
        home = (group, plural)
        if home not in self._added or home in self._opening:
            raise KeyError(f"{plural}.{group}")
        stored = self._stored.pop(home)
        self._replace(home, [])
        self._caches.remove(stored)

    def close(self, stored: Stored, why: str) -> None:
        """Let nothing new into an added resource's collection from now on: 405 with these words.

        Discovery shows what can still be done with what is there.
        """
        if stored.closed == why:
            return
        stored.closed = why
        home = stored.resource.group, stored.resource.plural
        if self._stored.get(home) is stored:
            self._added[home] = [attrs.evolve(each, verbs=_VERBS_OF_CLOSED) for each in self._added[home]]
            self._tell()

    def listen(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed`, which must not raise, whenever resources have been added or removed.

        What comes back ends it.
        """
        self._listeners = (*self._listeners, changed)

        def leave() -> None:
            self._listeners = tuple(each for each in self._listeners if each is not changed)

        return leave

    def follow(self, changed: TargetsChanged) -> None:
        """Call `changed` with the removed and the added targets; such listeners are called first."""
        self._followers = (*self._followers, changed)

    @property
    def resources(self) -> tuple[ResourceType, ...]:
        """Every resource that requests may name, those that are never stored included; those of the release first."""
        return (*self._served.values(), *self._added_and_served())

    @property
    def groups(self) -> tuple[GroupInfo, ...]:
        """Every known group in the order of discovery, also those of which nothing is served."""
        return with_added(self._catalogue.groups, self._added_and_served())

    def group(self, name: str, version: str) -> GroupInfo:
        """Return a group of which that version is served, with its priorities."""
        return self._groups.get(name) or added_group(name, {version})

    def find(self, group: str, version: str, plural: str) -> Target | None:
        """Return the target of a path, or None."""
        return self._targets.get((group, version, plural))

    def stored_target(self, group: str, version: str, plural: str) -> Target:
        """Return a target for the server itself, served or not. Raises KeyError if there is none."""
        return self._all[group, version, plural]

    def stored(self, group: str, version: str, plural: str) -> Stored:
        """Return the stored objects of such a target. Raises KeyError if it does not exist."""
        return self.stored_target(group, version, plural).stored

    def stored_as(self, group: str, plural: str) -> Stored:
        """Return the stored objects of a resource, whichever versions of it there are. Raises KeyError for none."""
        return self._stored[group, plural]

    def served(self) -> Iterator[Target]:
        """Return every target that requests may name."""
        return iter(self._targets.values())

    def homes(self) -> Iterator[Target]:
        """Yield a target of each stored resource, in its storage version."""
        return (self._all[_path(stored.resource)] for stored in tuple(self._stored.values()))

    def versions_of(self, target: Target) -> Mapping[str, Target]:
        """Return the served targets that share `target`'s stored resource, by apiVersion, itself included."""
        home = target.resource.group, target.resource.plural
        added = self._added.get(home)
        among = self._targets.values() if added is None else map(self._targets.get, map(_path, added))
        served = {each.resource.api_version: each for each in among if each and each.stored is target.stored}
        return {target.resource.api_version: target, **served}

    def _added_and_served(self) -> Iterator[ResourceType]:
        return (each for resources in self._added.values() for each in resources if each.default_on)

    def _check_free(self, resources: Sequence[ResourceType]) -> Home:
        """Return the home of a resource that is to be added. Raises ValueError if it is taken or ambiguous."""
        first = resources[0]
        home = first.group, first.plural
        alike = {(each.group, each.plural, each.storage_group, each.storage_version) for each in resources}
        if alike != {(*home, first.group, first.storage_version)} or not any(
            each.version == each.storage_version for each in resources
        ):
            raise ValueError(f"the versions of {first.qualified} do not belong together")
        coming = {name for others in self._opening.values() for each in others for name in _names(each)}
        if home in self._release or home in self._opening or any(coming & _names(each) for each in resources):
            raise ValueError(f"{first.qualified} already exists or is being added")
        self._check_place(home, storage_prefix(first, self._catalogue.naming))
        return home

    def _check_place(self, home: Home, prefix: str) -> None:
        """Check that no other resource's objects lie below `prefix`. Raises ValueError.

        Keys are neutral, so that a group which bears the name of the release's group in the other vocabulary would
        lie where that group's objects do.
        """
        naming = self._catalogue.naming
        kept = [(other, stored.prefix, stored.resource) for other, stored in self._stored.items()]
        coming = [(other, storage_prefix(each[0], naming), each[0]) for other, each in self._opening.items()]
        for other, place, resource in (*kept, *coming):
            if place == prefix and other != home:
                raise ValueError(f"the objects of {resource.qualified} are kept in the same place")

    def _replace(self, home: Home, targets: Sequence[Target]) -> None:
        """Put targets in the place of those that have been added under `home`, and tell everybody."""
        gone = self._added.pop(home, ())
        self.codecs.change(gone, [(each.resource, each.codec) for each in targets])
        left = [target for resource in gone if (target := self._targets.pop(_path(resource), None)) is not None]
        for resource in gone:
            self._all.pop(_path(resource)).kept.clear()  # most of that refers to the target
        if targets:
            self._added[home] = [each.resource for each in targets]
        self._all.update((_path(each.resource), each) for each in targets)
        come = [each for each in targets if each.resource.default_on]
        self._targets.update((_path(each.resource), each) for each in come)
        self._count_versions(left, come)
        for changed in self._followers:
            changed(left, come)
        self._tell()

    def _count_versions(self, left: Iterable[Target], come: Iterable[Target]) -> None:
        self.versions.update(_path(each.resource)[:2] for each in come)
        for each in left:
            version = _path(each.resource)[:2]
            self.versions[version] -= 1
            if not self.versions[version]:
                del self.versions[version]

    def _tell(self) -> None:
        for changed in self._listeners:
            changed()

    def _versioned(
        self,
        storage: Made,
        come: Sequence[Made],
        make_strategy: MakeStrategy,
        make_versioning: MakeVersioning,
    ) -> tuple[Stored, list[Target]]:
        """Return storage and targets of an added resource whose versions each have rules of their own."""
        naming = self._catalogue.naming
        versioning = make_versioning({resource.api_version: codec for resource, codec in come})
        strategies = {resource.version: make_strategy(resource, naming, codec) for resource, codec in come}
        home, codec = storage
        stored = versioning.stored(home, codec, strategies[home.version], storage_prefix(home, naming))
        targets = [
            versioning.target(
                VersioningParts(
                    resource=resource,
                    codec=codec,
                    stored=stored,
                    strategy=strategies[resource.version],
                    deprecation=deprecation(resource, naming.release),
                )
            )
            for resource, codec in come
        ]
        return stored, targets

    def _target(self, resource: ResourceType, codec: Codec, stored: Stored) -> Target:
        target = Target(
            resource=resource,
            codec=codec,
            stored=stored,
            deprecation=deprecation(resource, self._catalogue.naming.release),
        )
        home = stored.resource
        if (resource.group, resource.version) != (home.group, home.version):
            naming, conversions = self._catalogue.naming, stored.strategy.traits.conversions
            target.to_storage = conversions.converter(resource.api_version, home.api_version, naming=naming)
            target.from_storage = conversions.converter(home.api_version, resource.api_version, naming=naming)
            target.same_fields = conversions.same_fields
        return target

    def _stored_for(self, resource: ResourceType) -> Stored:
        """Return the stored resource behind one of the release, shared by its versions."""
        group, plural = resource.storage_group or "", resource.plural
        known = self._stored.get((group, plural))
        if known is None:
            home = self._catalogue.find(group, resource.storage_version or "", plural) or resource
            codec = self.codecs.kind(home.api_version, home.kind)
            known = self._stored[group, plural] = self._make_stored(home, codec, strategy_for)
        return known

    def _make_stored(self, home: ResourceType, codec: Codec, make_strategy: MakeStrategy) -> Stored:
        naming = self._catalogue.naming
        strategy = make_strategy(home, naming, codec)
        older = OlderValues(codec, strategy, self.codecs, naming)
        return Stored(home, codec, strategy, storage_prefix(home, naming), home.field_selectors, older.read)


def _loaded(stored: Stored, key: str, value: bytes) -> Object:
    return stored.load(stored.build(key.removeprefix(stored.prefix), value, 0))


def _path(resource: ResourceType) -> Path:
    return resource.group, resource.version, resource.plural


def _names(resource: ResourceType) -> set[object]:
    """Return the names that no other resource may have."""
    return {(resource.group, resource.kind), resource.message}


def storage_prefix(resource: ResourceType, naming: Naming) -> str:
    """Return the prefix of a resource's objects in the store, the same in every vocabulary."""
    group = naming.neutral(resource.group)
    return f"{REGISTRY}{group}/{resource.plural}/" if group else f"{REGISTRY}{resource.plural}/"
