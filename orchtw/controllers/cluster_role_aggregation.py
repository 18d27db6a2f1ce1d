"""Aggregation of ClusterRoles: gathers the rules of roles selected by label (reference CTRL-29)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

import msgspec

from orchtw.client.informer import Informer
from orchtw.client.interface import Item
from orchtw.controllers.controller import Controller, ControllerHost, Published
from orchtw.errors import BadRequest, Conflict, NotFound
from orchtw.rules.rbac import PolicyRule, rules_of
from orchtw.rules.selectors import LabelSelector, selector_of_object
from orchtw.wire.objects import Object

CONCURRENCY: Final = 5


class ClusterRoleAggregationController(Controller):
    """Controller keyed by names of ClusterRoles; all with an aggregationRule are processed whenever any role
    changes.
    """

    name = "clusterrole-aggregation"
    account = "clusterrole-aggregation-controller"

    def __init__(self, host: ControllerHost) -> None:
        super().__init__(host, CONCURRENCY)
        group = host.naming.group("rbac.authorization.orch.io")
        self._roles = self.client.resource(group, "v1", "clusterroles")
        self._informer = Informer(self.client, self._roles, host.clock, host.random, host.turns)
        self._informer.handle(self._seen)
        self._known: dict[str, _Role] = {}
        self._gatherers: set[str] = set()

    @property
    def sources(self) -> Sequence[Informer]:
        """Return the informer of ClusterRoles."""
        return (self._informer,)

    def _seen(self, old: Item | None, new: Item | None) -> None:
        """Note what has changed; it is due, and so are those that gather."""
        if new is not None:
            self._known[new.name] = _Role(item=new, labels=new.metadata().get("labels") or {})
            self.queue.add(new.name)
        elif old is not None:
            self._known.pop(old.name, None)
            self._gatherers.discard(old.name)
        for name in self._gatherers:
            self.queue.add(name)

    async def reconcile(self, key: str) -> float | None:
        """Give the role the rules of those that it selects, each once, in the order of their names."""
        role = self._known.get(key)
        if role is None:
            return None
        selectors = await self.host.run(role.item.size_bytes, partial(_selectors, role.item))
        if self._known.get(key) is not role:
            return None
        if not selectors:
            self._gatherers.discard(key)
            return None
        self._gatherers.add(key)
        selected = self._selected(key, selectors)
        size = role.item.size_bytes + sum(item.size_bytes for item in selected)
        rules = await self.host.run(size, partial(_gathered, role.item, selected))
        if rules is not None:
            return await self._apply(role.item, rules, size)
        return None

    def _selected(self, name: str, selectors: Sequence[LabelSelector]) -> list[Item]:
        """Return the selected roles, by selector, then by name; one that several select comes several times."""
        others = [self._known[other] for other in sorted(self._known) if other != name]
        return [role.item for selector in selectors for role in others if selector.matches(role.labels)]

    async def _apply(self, item: Item, rules: Sequence[Object], size_bytes: int) -> float | None:
        """Apply the rules; a role that has changed or gone meanwhile is queued again by its event."""
        roles, name = self._roles, item.name
        wanted = {"metadata": {"name": item.name, "resourceVersion": item.version}, "rules": rules}
        try:
            published = Published("", name, [item.metadata()["uid"], rules])
            return await self.publish(
                roles, published, item.load(),
                lambda: self.client.apply(roles, "", name, wanted, self.account, size_bytes),
            )  # fmt: skip
        except (Conflict, NotFound):
            return None


class _Role(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """One role, and the data on it that is always kept."""

    item: Item
    labels: Mapping[str, str]


def _selectors(item: Item) -> list[LabelSelector]:
    """Return the selectors of a role; none if one of them is malformed."""
    aggregation: Object = item.load().get("aggregationRule") or {}
    try:
        return [selector_of_object(each) for each in aggregation.get("clusterRoleSelectors") or ()]
    except BadRequest:
        return []


def _gathered(own: Item, selected: Sequence[Item]) -> list[Object] | None:
    """Return all their rules, as objects hold them; None: the role has them already."""
    found: dict[PolicyRule, None] = {}
    for item in selected:
        found.update(dict.fromkeys(rules_of(item.load())))
    return None if tuple(found) == rules_of(own.load()) else [rule.to_json() for rule in found]
