"""Live index of roles and bindings, fed from their caches: it has a change before the writer gets its response."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeVar

import msgspec
from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from orchtw.authz.rbac_index import Binding, Grant, RoleIndex, RoleKey
from orchtw.errors import TooManyRequests
from orchtw.naming.naming import Naming
from orchtw.registry.offload import Compute, at_once
from orchtw.registry.stored import Stored
from orchtw.registry.targets import Targets
from orchtw.request import UserInfo
from orchtw.rules.rbac import PolicyRule, merged, rules_of
from orchtw.storage.cache.freshness import MOST_RECENT
from orchtw.storage.cache.resource import DamagedObject
from orchtw.watch.entry import LARGE_BYTES, Entry
from orchtw.watch.event_log import Event

T = TypeVar("T")

GROUP: Final = "rbac.authorization.orch.io"
ROLES: Final = "roles"
CLUSTER_BINDINGS: Final = "clusterrolebindings"
BINDINGS: Final = "rolebindings"

Place = tuple[str, str, str]
"""Kind, namespace and name of a large object; Roles and ClusterRoles share a kind."""


class LiveRoles:
    """Roles by user, kept up to date from the caches; following them starts with the first lookup at the latest.

    `run` decodes large objects in a thread (None: at once). They grant nothing until that is done; `reading` returns
    a Deferred for those that concern a user.
    """

    def __init__(self, targets: Targets, naming: Naming, run: Compute | None = None) -> None:
        self.group = naming.group(GROUP)
        self.large = Large(run)
        self.run: Compute = at_once if run is None else run
        self._large_roles: dict[RoleKey, tuple[Entry, Sequence[PolicyRule]]] = {}
        self._targets = targets
        self._index = RoleIndex(self._load)
        self._listeners: tuple[Callable[[], None], ...] = ()
        self._follows = False

    def listen(self, changed: Callable[[], None]) -> None:
        """Call `changed`, which must not raise, whenever a user may have gained or lost rights."""
        self._listeners = (*self._listeners, changed)

    def follow(self) -> None:
        """Index the bindings in the caches, which must be filled, and follow changes. Further calls do nothing."""
        if self._follows:
            return
        self._follows = True
        for plural in ("clusterroles", "roles"):
            self._stored(plural).cache.follow(_Changes(self._role_changed))
        for plural in (CLUSTER_BINDINGS, BINDINGS):
            stored = self._stored(plural)
            changes = _BindingChanges(plural, stored, self._index, self._tell, self.large)
            stored.cache.follow(_Changes(changes.take))
            for entry in stored.cache.snapshot():
                changes.put(entry)

    async def settled(self) -> None:
        """Wait until the index has every change acknowledged so far, by any process."""
        self.follow()
        if (wait := self._stored("roles").cache.freshness.due(MOST_RECENT)) is not None:
            await wait
        for plural in ("clusterroles", "roles"):
            stored = self._stored(plural)
            for key in stored.cache.large:
                entry = stored.cache.get(key)
                if entry is not None:
                    self._index.rules((entry.namespace, entry.name))
        await self.large.done()

    def grants(self, user: UserInfo, namespace: str) -> Iterator[Grant]:
        """Return the roles that the user has cluster-wide and in the namespace (empty: only cluster-wide)."""
        self.follow()
        return self._index.grants(user, namespace)

    def rules(self, role: RoleKey) -> Sequence[PolicyRule] | None:
        """Return the rules of a role, or None if there is no such role."""
        self.follow()
        return self._index.rules(role)

    def reading(self, user: UserInfo, namespace: str) -> Deferred[None] | None:
        """Return a Deferred for an object being decoded that may grant the user rights, or None.

        It fires when the object is decoded or changes.
        """
        if not self.large.busy:
            return None
        for plural, scope in ((CLUSTER_BINDINGS, ""), (BINDINGS, namespace)):
            if (waiting := self.large.any_of(plural, scope)) is not None:
                return waiting
        for grant in self.grants(user, namespace):
            if (waiting := self.large.one(_place(grant.role))) is not None:
                return waiting
        return None

    def missing(self, role: RoleKey) -> str:
        """Return the error text for a role that is bound but does not exist."""
        kind = "role" if role[0] else "clusterrole"
        return f'{kind}.{self.group} "{role[1]}" not found'

    def held(self, user: UserInfo, namespace: str) -> tuple[list[PolicyRule], list[str]]:
        """Return all rules of the user's roles, and an error for each role that does not exist."""
        rules: list[PolicyRule] = []
        missing: dict[str, None] = {}
        for grant in self.grants(user, namespace):
            if grant.rules is None:
                missing[self.missing(grant.role)] = None
            else:
                rules += grant.rules
        return rules, list(missing)

    def _load(self, role: RoleKey) -> Sequence[PolicyRule] | None:
        stored = self._stored("roles" if role[0] else "clusterroles")
        try:
            entry: Entry | None = stored.get(*role)
        except DamagedObject:
            return None
        if entry is None:
            self._large_roles.pop(role, None)
            return None
        if not self.large.concerns(entry):
            return rules_of(stored.load(entry))
        known = self._large_roles.get(role)
        if known is not None and known[0] is entry:
            return known[1]
        self._large_roles.pop(role, None)

        def keep(rules: Sequence[PolicyRule]) -> None:
            self._large_roles[role] = entry, rules
            self._index.forget_role(role)
            self._tell()

        self.large.read(_place(role), entry, lambda: merged(rules_of(stored.load(entry))), keep)
        known = self._large_roles.get(role)
        return () if known is None else known[1]

    def _stored(self, plural: str) -> Stored:
        return self._targets.stored_target(self.group, "v1", plural).stored

    def _role_changed(self, event: Event) -> None:
        entry = event.new or event.old
        assert entry is not None
        role = entry.namespace, entry.name
        self._large_roles.pop(role, None)
        self.large.forget(_place(role))
        self._index.forget_role(role)
        self._tell()

    def _tell(self) -> None:
        for changed in self._listeners:
            changed()
        self.large.release()


def _place(role: RoleKey) -> Place:
    return ROLES, *role


class _Reading(msgspec.Struct, frozen=True, eq=False):
    """A large object being decoded, and the waiters for it."""

    entry: Entry
    waiting: list[Deferred[None]] = msgspec.field(default_factory=list)

    def end(self) -> Deferred[None]:
        """Return a Deferred that fires when the object is decoded or changes."""
        waiting: Deferred[None] = Deferred()
        self.waiting.append(waiting)
        return waiting


class Large:
    """Decoder of large objects in a thread; results for objects that have changed meanwhile are dropped."""

    _log = Logger()

    def __init__(self, run: Compute | None) -> None:
        self.run = run
        self._reading: dict[Place, _Reading] = {}
        self._ended: list[Deferred[None]] = []

    @property
    def busy(self) -> bool:
        """Report whether any object is being decoded."""
        return bool(self._reading)

    def concerns(self, entry: Entry) -> bool:
        """Report whether decoding the entry would block the reactor for too long."""
        return self.run is not None and len(entry.raw) > LARGE_BYTES

    def one(self, place: Place) -> Deferred[None] | None:
        """Return a Deferred for the end of decoding that object, or None if it is not being decoded."""
        found = self._reading.get(place)
        return None if found is None else found.end()

    def any_of(self, kind: str, namespace: str) -> Deferred[None] | None:
        """Return a Deferred as `one` does, for any object of a kind in a namespace."""
        for place, found in self._reading.items():
            if place[:2] == (kind, namespace):
                return found.end()
        return None

    def read(self, place: Place, entry: Entry, work: Callable[[], T], keep: Callable[[T], None]) -> None:
        """Run `work` and pass its result to `keep`, unless the object has changed."""
        known = self._reading.get(place)
        if known is not None and known.entry is entry:
            return
        self.forget(place)
        self._reading[place] = _Reading(entry)
        Deferred.fromCoroutine(self._read(place, entry, work, keep)).addErrback(self._failed, place, entry)

    def forget(self, place: Place) -> None:
        """Drop the decoding of an object that has changed or is gone; `release` resumes its waiters."""
        found = self._reading.pop(place, None)
        if found is not None:
            self._ended += found.waiting

    def release(self) -> None:
        """Resume waiters whose object is decoded or dropped; the index must be up to date."""
        ended, self._ended = self._ended, []
        for each in ended:
            each.callback(None)

    async def done(self) -> None:
        """Wait until no object is being decoded."""
        while self._reading:
            await next(iter(self._reading.values())).end()

    async def _read(self, place: Place, entry: Entry, work: Callable[[], T], keep: Callable[[T], None]) -> None:
        assert self.run is not None
        try:
            found = await self.run(len(entry.raw), work)
        except TooManyRequests:  # the thread's queue is full, but the change must take effect
            found = work()
        if self._is_read(place, entry):
            self.forget(place)
            keep(found)
            self.release()

    def _failed(self, failure: Failure, place: Place, entry: Entry) -> None:
        self._log.failure("{place} cannot be read", failure=failure, place="/".join(place))
        if self._is_read(place, entry):
            self.forget(place)
            self.release()

    def _is_read(self, place: Place, entry: Entry) -> bool:
        found = self._reading.get(place)
        return found is not None and found.entry is entry


class _Changes:
    """Cache follower that passes each event to `take`."""

    def __init__(self, take: Callable[[Event], None]) -> None:
        self.take = take

    def closed(self) -> None:
        """Do nothing: the kinds are built in and always served."""


class _BindingChanges:
    """Cache follower that keeps the bindings of one kind in the index; one that cannot be decoded grants nothing."""

    _log = Logger()

    def __init__(self, plural: str, stored: Stored, index: RoleIndex, tell: Callable[[], None], large: Large) -> None:
        self._plural = plural
        self._stored = stored
        self._index = index
        self._tell = tell
        self._large = large

    def take(self, event: Event) -> None:
        """Apply a cache event to the index."""
        if event.new is not None:
            self.put(event.new)
        elif event.old is not None:
            self._gone(event.old)
        self._tell()

    def put(self, entry: Entry) -> None:
        """Put a binding into the index, once it is decoded if it is large."""
        self._gone(entry)
        if self._large.concerns(entry):
            place = self._plural, entry.namespace, entry.name
            self._large.read(place, entry, lambda: self._read(entry), self._keep)
            return
        try:
            self._index.put(self._read(entry))
        except Exception:  # noqa: BLE001 - logged; the other followers of the cache must not miss the event
            self._log.failure("binding {key} cannot be read", key=entry.key)

    def _read(self, entry: Entry) -> Binding:
        return Binding.of(self._stored.load(entry))

    def _keep(self, binding: Binding) -> None:
        self._index.put(binding)
        self._tell()

    def _gone(self, entry: Entry) -> None:
        self._large.forget((self._plural, entry.namespace, entry.name))
        self._index.remove((entry.namespace, entry.name))
