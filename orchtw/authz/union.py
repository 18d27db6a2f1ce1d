"""Union of authorizers: the first that allows or denies decides (reference AUTHZ-5)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from orchtw.authz import authorizers
from orchtw.authz.decision import Authorizer, AuthzHost, Decision, Lasting, Stands, UserRules, together
from orchtw.authz.masters import Masters
from orchtw.config.authorization import AuthorizationOptions
from orchtw.plugins.entry_points import NO_PLUGINS, Plugins
from orchtw.request import RequestInfo, UserInfo


class AuthorizerUnion:
    """Authorizers asked in order; if all have no opinion, their reasons and errors are joined."""

    def __init__(self, authorizers: Sequence[Authorizer]) -> None:
        self.authorizers = tuple(authorizers)

    def authorize(self, user: UserInfo, info: RequestInfo) -> Decision | Awaitable[Decision]:
        """Return the first decision that allows or denies, else no opinion with the reasons of all.

        The result is an awaitable if it reaches an authorizer that returns one.
        """
        undecided: list[Decision] = []
        for index, authorizer in enumerate(self.authorizers):
            decision = authorizer.authorize(user, info)
            if not isinstance(decision, Decision):
                return self._go_on(user, info, decision, index + 1, undecided)
            if decision.allowed is not None:
                return decision
            undecided.append(decision)
        return _joined(undecided)

    def rules_for(self, user: UserInfo, namespace: str) -> UserRules:
        """Return the rules of all authorizers together."""
        found = [each.rules_for(user, namespace) for each in self.authorizers]
        return UserRules(
            resources=tuple(rule for rules in found for rule in rules.resources),
            paths=tuple(rule for rules in found for rule in rules.paths),
            incomplete=any(rules.incomplete for rules in found),
            error=together([rules.error for rules in found]),
        )

    def lasts(self, user: UserInfo, info: RequestInfo) -> Stands | None:
        """Return what the opinions up to the first decision depend on, see `Lasting`."""
        looks: list[Callable[[], bool]] = []
        for authorizer in self.authorizers:
            stands = authorizer.lasts(user, info) if isinstance(authorizer, Lasting) else None
            decision = None if stands is None else authorizer.authorize(user, info)
            if stands is None or not isinstance(decision, Decision):
                return None
            looks += stands
            if decision.allowed is not None:
                return tuple(looks) if decision.allowed else None
        return None

    async def _go_on(
        self, user: UserInfo, info: RequestInfo, asked: Awaitable[Decision], index: int, undecided: list[Decision]
    ) -> Decision:
        """Await an authorizer's decision, then go on with the authorizers from `index`."""
        decision = await asked
        for authorizer in self.authorizers[index:]:
            if decision.allowed is not None:
                return decision
            undecided.append(decision)
            answer = authorizer.authorize(user, info)
            decision = answer if isinstance(answer, Decision) else await answer
        return decision if decision.allowed is not None else _joined([*undecided, decision])


def _joined(undecided: Sequence[Decision]) -> Decision:
    reason = "\n".join(each.reason for each in undecided if each.reason)
    return Decision(None, reason, together([each.error for each in undecided]))


def chain(host: AuthzHost, options: AuthorizationOptions, installed: Plugins = NO_PLUGINS) -> AuthorizerUnion:
    """Return the union of `system:masters` and the modes of `--authorization-mode`, in this order.

    Raises ConfigError for a mode's file that is unreadable or invalid.
    """
    return AuthorizerUnion((Masters(), *authorizers(host, options, installed)))
