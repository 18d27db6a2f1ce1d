"""All authorizers in their order: the first that allows or denies decides (reference AUTHZ-5)."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence

from orchtw.authz import factories
from orchtw.authz.decision import Authorizer, AuthzHost, Decision, UserRules, together
from orchtw.authz.masters import Masters
from orchtw.config import Config
from orchtw.request import RequestInfo, UserInfo


class AuthorizerUnion:
    """Asks each authorizer; the reasons of those without an opinion are joined, and so are their errors."""

    def __init__(self, authorizers: Sequence[Authorizer]) -> None:
        self._authorizers = tuple(authorizers)

    def authorize(self, user: UserInfo, info: RequestInfo) -> Decision | Awaitable[Decision]:
        """The first opinion, else None with the reasons of all: at once unless an authorizer has to ask somebody."""
        undecided: list[Decision] = []
        for index, authorizer in enumerate(self._authorizers):
            decision = authorizer.authorize(user, info)
            if not isinstance(decision, Decision):
                return self._go_on(user, info, decision, index + 1, undecided)
            if decision.allowed is not None:
                return decision
            undecided.append(decision)
        return _joined(undecided)

    def rules_for(self, user: UserInfo, namespace: str) -> UserRules:
        """Return what all members together allow."""
        found = [each.rules_for(user, namespace) for each in self._authorizers]
        return UserRules(
            resources=tuple(rule for rules in found for rule in rules.resources),
            paths=tuple(rule for rules in found for rule in rules.paths),
            incomplete=any(rules.incomplete for rules in found),
            error=together([rules.error for rules in found]),
        )

    async def _go_on(
        self, user: UserInfo, info: RequestInfo, asked: Awaitable[Decision], index: int, undecided: list[Decision]
    ) -> Decision:
        """Wait for the first answer that takes time, then go on with the authorizers from `index`."""
        decision = await asked
        for authorizer in self._authorizers[index:]:
            if decision.allowed is not None:
                return decision
            undecided.append(decision)
            answer = authorizer.authorize(user, info)
            decision = answer if isinstance(answer, Decision) else await answer
        return decision if decision.allowed is not None else _joined([*undecided, decision])


def _joined(undecided: Sequence[Decision]) -> Decision:
    reason = "\n".join(each.reason for each in undecided if each.reason)
    return Decision(None, reason, together([each.error for each in undecided]))


def chain(host: AuthzHost, config: Config) -> AuthorizerUnion:
    """`system:masters` first, then the modes of `--authorization-mode` in their order.

    Raises ConfigError for files of a mode that cannot be used.
    """
    return AuthorizerUnion((Masters(), *(make(host, config) for make in factories(config))))
