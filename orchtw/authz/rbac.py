"""Mode RBAC: decisions by roles and bindings, and their cache (reference AUTHZ-16 to AUTHZ-19)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import Final

import msgspec

from orchtw.authz.decision import Decision, Stands, UserRules
from orchtw.authz.live_roles import LiveRoles
from orchtw.authz.rbac_index import Grant
from orchtw.naming.naming import Naming
from orchtw.request import RequestInfo, UserInfo

Key = tuple[object, ...]

MAX_KNOWN: Final = 20_000
"""Maximum number of decisions cached until a role or binding changes: some 10 MB."""

MAX_KEY: Final = 512
"""Longest client-chosen part of a cache key, in characters; decisions with a longer one are not cached."""

MAX_REASONS: Final = 32
"""Most missing roles listed in a 403 or a rules review."""

AT_ONCE: Final = 20_000
"""Most rules and names checked on the reactor, which takes some 8 ms; more are checked in a thread."""

MAX_TOLD: Final = 10_000
"""Most rules listed for a user; typical roles have some twenty."""

STEP_BYTES: Final = 256
"""Cost of checking one rule, in bytes of input."""

MAX_ROUNDS: Final = 8
"""Most times a decision waits for roles to be decoded: they may keep changing."""


class _Answer(msgspec.Struct, frozen=True):
    """Cached decisions of a key: by object name in `named`, and for all other names."""

    other: Decision
    named: dict[str, Decision]

    def of(self, info: RequestInfo) -> Decision:
        """Return the decision on the requested object or path."""
        return self.named.get(info.name, self.other) if self.named else self.other


class RBAC:
    """Authorizer by the user's roles; decisions are cached until any role or binding changes.

    A request that would be refused first waits for large roles and bindings that are still being decoded and may
    allow it: earlier writes take effect whatever their size (reference AUTHZ-39).
    """

    def __init__(self, roles: LiveRoles, naming: Naming) -> None:
        self._roles = roles
        self._naming = naming
        self._known: dict[Key, _Answer] = {}
        self._paths: dict[Key, _Answer] = {}
        # Lasting allowances refer to this object, not to the decisions: those of an earlier state may be many.
        self._generation = object()
        roles.listen(self._forget)

    def authorize(self, user: UserInfo, info: RequestInfo) -> Decision | Awaitable[Decision]:
        """Allow the request, or return no opinion; an awaitable if there is much to check or to decode first."""
        decision = self._decide(user, info)
        if decision is None or (not decision.allowed and self._roles.large.busy):
            return self._settle(user, info)
        return decision

    def rules_for(self, user: UserInfo, namespace: str) -> UserRules:
        """Return the rules of the user's roles, at most MAX_TOLD."""
        held, errors = self._roles.held(user, namespace)
        told = held[:MAX_TOLD]
        if len(held) > len(told):
            errors.append(f"there are {len(held) - len(told)} more rules")
        return UserRules(
            resources=tuple(each for each in told if each.resources),
            paths=tuple(each for each in told if each.paths),
            incomplete=len(held) > len(told) or self._roles.reading(user, namespace) is not None,
            error=_together(errors),
        )

    def lasts(self, user: UserInfo, info: RequestInfo) -> Stands | None:
        """Hold an allowance of all names until any role or binding changes, see `Lasting`."""
        known, key = self._place(user, info)
        answer = known.get(key)
        if answer is None or answer.named or not answer.other.allowed or not info.is_resource:
            return None
        generation = self._generation
        return (lambda: self._generation is generation,)

    def _forget(self) -> None:
        """Drop all cached decisions: a user may have gained or lost rights."""
        self._known = {}
        self._paths = {}
        self._generation = object()

    async def _settle(self, user: UserInfo, info: RequestInfo) -> Decision:
        """Return the decision once the roles and bindings that concern it are decoded."""
        namespace = info.namespace if info.is_resource else ""
        for _ in range(MAX_ROUNDS):
            decision = self._decide(user, info) or await self._decide_elsewhere(user, info)
            reading = None if decision.allowed else self._roles.reading(user, namespace)
            if reading is None:
                return decision
            await reading
        return self._decide(user, info) or await self._decide_elsewhere(user, info)

    def _decide(self, user: UserInfo, info: RequestInfo) -> Decision | None:
        """Return a decision that is cached or quick to make; None if there are more than AT_ONCE rules to check."""
        known, key = self._place(user, info)
        answer = known.get(key)
        if answer is None:
            grants = self._grants(user, info)
            answer = _looked_at(grants, info, AT_ONCE, self._refusal(grants, info))
            if answer is None:
                return None
            _keep(known, key, answer, info)
        return answer.of(info)

    async def _decide_elsewhere(self, user: UserInfo, info: RequestInfo) -> Decision:
        """Make the decision in a thread, by the roles as they are now; cache it unless they change meanwhile."""
        known, key = self._place(user, info)
        grants = self._grants(user, info)
        steps = sum(len(each.rules or ()) for each in grants)
        work = partial(_looked_at, grants, info, None, self._refusal(grants, info))
        answer = await self._roles.run(STEP_BYTES * max(steps, AT_ONCE), work)
        assert answer is not None  # without a limit of steps it is found
        if known is self._known or known is self._paths:
            _keep(known, key, answer, info)
        return answer.of(info)

    def _place(self, user: UserInfo, info: RequestInfo) -> tuple[dict[Key, _Answer], Key]:
        """Return the cache of the decision, and its key there."""
        if not info.is_resource:
            return self._paths, (user.name, user.groups, info.verb, info.path)
        key = (user.name, user.groups, info.namespace, info.verb, info.group, info.resource, info.subresource)
        return self._known, key

    def _grants(self, user: UserInfo, info: RequestInfo) -> list[Grant]:
        return list(self._roles.grants(user, info.namespace if info.is_resource else ""))

    def _refusal(self, grants: Iterable[Grant], info: RequestInfo) -> Callable[[], Decision]:
        return partial(self._refused, grants, self._naming.foreign(info.group) if info.is_resource else "")

    def _refused(self, grants: Iterable[Grant], why: str) -> Decision:
        missing = dict.fromkeys(self._roles.missing(each.role) for each in grants if each.rules is None)
        told = f"RBAC: {_together(list(missing))}" if missing else ""
        return Decision(None, "\n".join(text for text in (told, why) if text))


def _looked_at(
    grants: Sequence[Grant], info: RequestInfo, limit: int | None, refused: Callable[[], Decision]
) -> _Answer | None:
    """Return the decisions by these roles, or None if that takes more than `limit` steps."""
    return _resource(grants, info, limit, refused) if info.is_resource else _path(grants, info, limit, refused)


def _resource(
    grants: Sequence[Grant], info: RequestInfo, limit: int | None, refused: Callable[[], Decision]
) -> _Answer | None:
    named: dict[str, Decision] = {}
    steps = 0
    for grant in grants:
        steps += len(grant.rules or ())
        for rule in grant.rules or ():
            if limit is not None and steps > limit:
                return None
            if rule.allows(info.verb, info.group, info.resource, info.subresource):
                if not rule.names:
                    return _Answer(Decision(True, grant.reason), named)
                steps += len(rule.names)
                for name in rule.names:
                    named.setdefault(name, Decision(True, grant.reason))
    return _Answer(refused(), named)


def _path(
    grants: Sequence[Grant], info: RequestInfo, limit: int | None, refused: Callable[[], Decision]
) -> _Answer | None:
    steps = 0
    for grant in grants:
        steps += sum(1 + len(rule.paths) for rule in grant.rules or ())
        if limit is not None and steps > limit:
            return None
        if any(rule.allows_path(info.verb, info.path) for rule in grant.rules or ()):
            return _Answer(Decision(True, grant.reason), {})
    return _Answer(refused(), {})


def _together(reasons: list[str]) -> str:
    """Join errors into one text, in brackets if several."""
    if len(reasons) > MAX_REASONS:
        reasons = [*reasons[:MAX_REASONS], f"and {len(reasons) - MAX_REASONS} more"]
    return f"[{', '.join(reasons)}]" if len(reasons) > 1 else "".join(reasons)


def _keep(known: dict[Key, _Answer], key: Key, answer: _Answer, info: RequestInfo) -> None:
    """Cache an answer, unless the client-chosen part of the key is longer than MAX_KEY."""
    texts = (info.verb, info.group, info.resource, info.subresource) if info.is_resource else (info.verb, info.path)
    if sum(map(len, texts)) > MAX_KEY:
        return
    if len(known) >= MAX_KNOWN:
        known.clear()
    known[key] = answer
