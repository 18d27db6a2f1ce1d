"""Gathers the rules of ClusterRoles into those that select them by label (reference CTRL-29)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Final

from orchtw.client.informer import Informer
from orchtw.client.interface import Item
from orchtw.controllers.controller import Controller, Host
from orchtw.errors import BadRequest, NotFound
from orchtw.objects import Object
from orchtw.rules.rbac import Rule, rules_of
from orchtw.rules.selectors import LabelSelector, selector_of_object

CONCURRENCY: Final = 5


class ClusterRoleAggregationController(Controller):
    """Keys are names of ClusterRoles with an aggregationRule, which are all looked at whenever any role changes."""

    name = "clusterrole-aggregation"
    account = "clusterrole-aggregation-controller"

    def __init__(self, host: Host) -> None:
        super().__init__(host, CONCURRENCY)
        group = host.naming.group("rbac.authorization.orch.io")
        self._roles = self.client.resource(group, "v1", "clusterroles")
        self._informer = Informer(self.client, self._roles, host.clock, host.random)
        self._informer.handle(self._seen)
        self._known: dict[str, _Role] = {}
        self._gatherers: set[str] = set()

    @property
    def sources(self) -> Sequence[Informer]:
        """ClusterRoles."""
        return (self._informer,)

    def _seen(self, old: Item | None, new: Item | None) -> None:
        """Note what has changed; those that gather are all due."""
        if new is not None:
            self._known[new.name] = role = _Role(new)
            if role.selectors:
                self._gatherers.add(new.name)
            else:
                self._gatherers.discard(new.name)
        elif old is not None:
            self._known.pop(old.name, None)
            self._gatherers.discard(old.name)
        for name in self._gatherers:
            self.queue.add(name)

    async def reconcile(self, key: str) -> float | None:
        """Give the role the rules of those that it selects, each once, in the order of their names."""
        role = self._known.get(key)
        if role is None or not role.selectors:
            return None
        rules = self._gathered(key, role.selectors)
        if rules == role.rules:
            return None
        try:
            live = await self.client.get(self._roles, "", key)
            if not live.get("aggregationRule"):
                return None
            live["rules"] = [rule.to_json() for rule in rules]
            await self.client.update(self._roles, "", key, live)
        except NotFound:
            return None
        return None

    def _gathered(self, name: str, selectors: Sequence[LabelSelector]) -> tuple[Rule, ...]:
        found: dict[Rule, None] = {}
        others = [self._known[other] for other in sorted(self._known) if other != name]
        for selector in selectors:
            for role in others:
                if selector.matches(role.labels):
                    found.update(dict.fromkeys(role.rules))
        return tuple(found)


class _Role:
    """What is to be known of one role; its rules are read when they are asked for, as most are never gathered."""

    def __init__(self, item: Item) -> None:
        obj = item.load()
        self.labels: Mapping[str, str] = obj["metadata"].get("labels") or {}
        self.selectors = _selectors(obj.get("aggregationRule") or {})
        self._item = item

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """Its rules."""
        return rules_of(self._item.load())


def _selectors(aggregation: Object) -> list[LabelSelector]:
    """Its selectors; of none at all where one cannot be read, as none of them counts then."""
    try:
        return [selector_of_object(each) for each in aggregation.get("clusterRoleSelectors") or ()]
    except BadRequest:
        return []
