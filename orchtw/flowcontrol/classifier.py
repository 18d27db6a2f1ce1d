"""Classification of requests into flows: by the schemas in order, with a cache (reference FLOW-3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from orchtw.flowcontrol.levels import KnownFlow, Level
from orchtw.flowcontrol.matching import BY_NAMESPACE, BY_USER, FlowRule, Schema
from orchtw.flowcontrol.stats import Stats
from orchtw.naming.naming import Naming
from orchtw.registry.groups.flowcontrol.mandatory import CATCH_ALL
from orchtw.request import RequestInfo, UserInfo

MAX_REMEMBERED: Final = 4096
"""Limit of cached users, and of cached flows: beyond it the cache is emptied."""

MAX_REMEMBERED_CHARACTERS: Final = 2048
"""Limit of the characters of a user's name and groups: longer ones are not cached, which bounds the memory."""

Candidate = tuple[Schema, Sequence[FlowRule]]


class Classifier:
    """Classifier made from one state of the flow schemas and priority levels.

    Schemas of missing levels are left out. Requests that match no schema belong to the catch-all.
    """

    def __init__(
        self,
        schemas: Iterable[Schema],
        levels: Mapping[str, Level],
        stats: Mapping[tuple[str, str], Stats],
        naming: Naming,
    ) -> None:
        present = (schema for schema in schemas if schema.level in levels)
        self.schemas = sorted(present, key=lambda schema: (schema.precedence, schema.name))
        self._catch_all = next(schema for schema in self.schemas if schema.name == CATCH_ALL)
        self._levels = levels
        self._stats = stats
        self._header_names = naming.flow_schema_header, naming.priority_level_header
        self._users: dict[tuple[str, tuple[str, ...]], Sequence[Candidate]] = {}
        self._flows: dict[tuple[str, str], KnownFlow] = {}

    def flow(self, user: UserInfo, info: RequestInfo) -> KnownFlow:
        """Return the flow of a request."""
        for schema, rules in self._users.get((user.name, user.groups)) or self._candidates(user):
            for rule in rules:
                if rule.everything or rule.matches(info):
                    by = schema.by
                    which = user.name if by == BY_USER else info.namespace if by == BY_NAMESPACE else ""
                    return self._flows.get((schema.name, which)) or self._new_flow(schema, which)
        return self._new_flow(self._catch_all, user.name)

    def keeps(self, flow: KnownFlow) -> bool:
        """Report whether further requests of this flow are given this very one, so that they count together."""
        return self._flows.get((flow.schema.name, flow.distinguisher)) is flow

    def _candidates(self, user: UserInfo) -> Sequence[Candidate]:
        """Return the schemas with rules for the user, up to the first that matches all of the user's requests."""
        found: list[Candidate] = []
        for schema in self.schemas:
            rules = schema.of_user(user)
            if rules:
                found.append((schema, rules))
            if any(rule.everything for rule in rules):
                break
        if len(user.name) + sum(map(len, user.groups)) <= MAX_REMEMBERED_CHARACTERS:
            if len(self._users) >= MAX_REMEMBERED:
                self._users.clear()
            self._users[user.name, user.groups] = found
        return found

    def _new_flow(self, schema: Schema, distinguisher: str) -> KnownFlow:
        level = self._levels[schema.level]
        headers = tuple(zip(self._header_names, (schema.uid, level.uid), strict=True))
        flow = KnownFlow(schema, level, distinguisher, headers, self._stats[level.name, schema.name])
        if len(distinguisher) <= MAX_REMEMBERED_CHARACTERS:
            if len(self._flows) >= MAX_REMEMBERED:
                self._flows = {key: kept for key, kept in self._flows.items() if kept.seats}
            self._flows[schema.name, distinguisher] = flow
        return flow
