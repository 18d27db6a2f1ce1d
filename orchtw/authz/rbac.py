"""Mode RBAC: what roles and bindings allow (reference AUTHZ-16 to AUTHZ-19)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import Final

import attrs

from orchtw.authz.decision import Decision, UserRules
from orchtw.authz.live_roles import LiveRoles
from orchtw.authz.rbac_index import Grant
from orchtw.naming.names import Naming
from orchtw.request import RequestInfo, UserInfo

Key = tuple[object, ...]

MAX_KNOWN: Final = 20_000
"""Questions whose answers are kept until a role or a binding changes: some 10 MB."""

MAX_KEY: Final = 512
"""Characters of what a client makes up and an answer is kept by."""

MAX_REASONS: Final = 32
"""Missing roles that a refusal tells."""

AT_ONCE: Final = 20_000
"""Rules and names that are looked at on the reactor, which takes some 8 ms; more of them are in a thread."""

MAX_TOLD: Final = 10_000
"""Rules that are told of a user; a role of an installation has some twenty."""

STEP_BYTES: Final = 256
"""As how much input one of them counts there."""

MAX_ROUNDS: Final = 8
"""How often a question waits for what is being read anew: somebody may change it all the time."""


@attrs.frozen(slots=True)
class _Answer:
    """Decisions for objects of the names in `named`, and for all others."""

    other: Decision
    named: dict[str, Decision]

    def of(self, info: RequestInfo) -> Decision:
        """The decision on one object, or path."""
        return self.named.get(info.name, self.other) if self.named else self.other


class RBAC:
    """Answers a question once by looking at the user's roles, then from memory until any of them changes.

    A question that would be refused waits for roles and bindings that are being read, if they may concern it: what
    was written before it counts, however large it is (reference AUTHZ-39).
    """

    def __init__(self, roles: LiveRoles, naming: Naming) -> None:
        self._roles = roles
        self._naming = naming
        self._known: dict[Key, _Answer] = {}
        self._paths: dict[Key, _Answer] = {}
        roles.listen(self._forget)

    def authorize(self, user: UserInfo, info: RequestInfo) -> Decision | Awaitable[Decision]:
        """Allowed, or no opinion; an awaitable of it where much is to be looked at or read first."""
        decision = self._decide(user, info)
        if decision is None or (not decision.allowed and self._roles.large.busy):
            return self._settle(user, info)
        return decision

    def rules_for(self, user: UserInfo, namespace: str) -> UserRules:
        """The rules of the roles that the user has."""
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

    def _forget(self) -> None:
        """Somebody may have got or lost rights."""
        self._known = {}
        self._paths = {}

    async def _settle(self, user: UserInfo, info: RequestInfo) -> Decision:
        """The decision once what concerns it has been read."""
        namespace = info.namespace if info.is_resource else ""
        for _ in range(MAX_ROUNDS):
            decision = self._decide(user, info) or await self._decide_elsewhere(user, info)
            reading = None if decision.allowed else self._roles.reading(user, namespace)
            if reading is None:
                return decision
            await reading
        return self._decide(user, info) or await self._decide_elsewhere(user, info)

    def _decide(self, user: UserInfo, info: RequestInfo) -> Decision | None:
        """Return a decision that is cached or quick to make; None if there is too much to look at."""
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
        """The same, off the reactor; as the roles are now."""
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
        """Where the answer is remembered, and by what."""
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
    """The answer by these roles; None: that takes more than `limit` steps."""
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
    """Several errors as one text; without brackets where there is one."""
    if len(reasons) > MAX_REASONS:
        reasons = [*reasons[:MAX_REASONS], f"and {len(reasons) - MAX_REASONS} more"]
    return f"[{', '.join(reasons)}]" if len(reasons) > 1 else "".join(reasons)


def _keep(known: dict[Key, _Answer], key: Key, answer: _Answer, info: RequestInfo) -> None:
    """Remember an answer, unless the requester has made up something long."""
    texts = (info.verb, info.group, info.resource, info.subresource) if info.is_resource else (info.verb, info.path)
    if sum(map(len, texts)) > MAX_KEY:
        return
    if len(known) >= MAX_KNOWN:
        known.clear()
    known[key] = answer
