"""The index of roles and bindings, fed from their caches: a change is in it before its writer is answered."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from twisted.logger import Logger

from orchtw.authz.rbac_index import Binding, Grant, Index, RoleKey
from orchtw.naming import Naming
from orchtw.registry.stored import Stored
from orchtw.registry.targets import Targets
from orchtw.request import UserInfo
from orchtw.rules.rbac import Rule, rules_of
from orchtw.storage.cache_resource import DamagedObject
from orchtw.watch.entry import Entry
from orchtw.watch.log import Event

GROUP: Final = "rbac.authorization.orch.io"


class LiveRoles:
    """Who has which roles at this moment. It begins to follow with the first question, at the latest."""

    def __init__(self, targets: Targets, naming: Naming) -> None:
        self.group = naming.group(GROUP)
        self._targets = targets
        self._index = Index(self._load)
        self._listeners: tuple[Callable[[], None], ...] = ()
        self._follows = False

    def listen(self, changed: Callable[[], None]) -> None:
        """Call `changed`, which must not raise, whenever somebody may have got or lost rights."""
        self._listeners = (*self._listeners, changed)

    def follow(self) -> None:
        """Take in what is there, then follow what happens; once the caches are filled."""
        if self._follows:
            return
        self._follows = True
        for plural in ("clusterroles", "roles"):
            self._stored(plural).cache.follow(_Changes(self._role_changed))
        for plural in ("clusterrolebindings", "rolebindings"):
            stored = self._stored(plural)
            changes = _BindingChanges(stored, self._index, self._tell)
            stored.cache.follow(_Changes(changes.take))
            for entry in stored.cache.snapshot():
                changes.put(entry)

    def grants(self, user: UserInfo, namespace: str) -> Iterator[Grant]:
        """The roles that the user has in the whole cluster and in the namespace, if any."""
        self.follow()
        return self._index.grants(user, namespace)

    def rules(self, role: RoleKey) -> Sequence[Rule] | None:
        """The rules of a role; None: there is no such role."""
        self.follow()
        return self._index.rules(role)

    def missing(self, role: RoleKey) -> str:
        """What is said of a role that somebody has and that is not there."""
        kind = "role" if role[0] else "clusterrole"
        return f'{kind}.{self.group} "{role[1]}" not found'

    def held(self, user: UserInfo, namespace: str) -> tuple[list[Rule], list[str]]:
        """All rules of the user's roles, and what is said of those that are not there, once each."""
        rules: list[Rule] = []
        missing: dict[str, None] = {}
        for grant in self.grants(user, namespace):
            if grant.rules is None:
                missing[self.missing(grant.role)] = None
            else:
                rules += grant.rules
        return rules, list(missing)

    def _load(self, role: RoleKey) -> Sequence[Rule] | None:
        stored = self._stored("roles" if role[0] else "clusterroles")
        try:
            entry: Entry | None = stored.get(*role)
        except DamagedObject:
            return None
        return None if entry is None else rules_of(stored.load(entry))

    def _stored(self, plural: str) -> Stored:
        return self._targets.stored_target(self.group, "v1", plural).stored

    def _role_changed(self, event: Event) -> None:
        entry = event.new or event.old
        assert entry is not None
        self._index.forget_role((entry.namespace, entry.name))
        self._tell()

    def _tell(self) -> None:
        for changed in self._listeners:
            changed()


class _Changes:
    """Hands on the events of a cache."""

    def __init__(self, take: Callable[[Event], None]) -> None:
        self.take = take

    def closed(self) -> None:
        """The kinds are of the release and do not go away."""


class _BindingChanges:
    """Keeps the bindings of one kind in the index; one that cannot be read gives nobody anything."""

    _log = Logger()

    def __init__(self, stored: Stored, index: Index, tell: Callable[[], None]) -> None:
        self._stored = stored
        self._index = index
        self._tell = tell

    def take(self, event: Event) -> None:
        """Something has happened to a binding."""
        if event.new is not None:
            self.put(event.new)
        elif event.old is not None:
            self._index.remove((event.old.namespace, event.old.name))
        self._tell()

    def put(self, entry: Entry) -> None:
        """The binding is there."""
        try:
            self._index.put(Binding.of(self._stored.load(entry)))
        except Exception:  # noqa: BLE001 - logged; the other followers of the cache must not miss the event
            self._log.failure("binding {key} cannot be read", key=entry.key)
            self._index.remove((entry.namespace, entry.name))
