"""All authorizers in their order: the first that allows or denies decides; without any opinion it is a no."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence

from orchtw.authz import MODES
from orchtw.authz.decision import Authorizer, Decision, Host, Rules
from orchtw.authz.masters import Masters
from orchtw.config import Config
from orchtw.request import RequestInfo, UserInfo


class Union:
    """Asks each authorizer; the reasons of those without an opinion are joined into the refusal's."""

    def __init__(self, authorizers: Sequence[Authorizer]) -> None:
        self._authorizers = tuple(authorizers)

    def authorize(self, user: UserInfo, info: RequestInfo) -> Decision | Awaitable[Decision]:
        """Allowed or not (never None), at once unless an authorizer has to ask somebody."""
        reasons: list[str] = []
        for index, authorizer in enumerate(self._authorizers):
            decision = authorizer.authorize(user, info)
            if not isinstance(decision, Decision):
                return self._go_on(user, info, decision, index + 1, reasons)
            if decision.allowed is not None:
                return decision
            reasons.append(decision.reason)
        return _refused(reasons)

    def rules_for(self, user: UserInfo, namespace: str) -> Rules:
        """What all of them together allow."""
        return sum((each.rules_for(user, namespace) for each in self._authorizers), Rules())

    async def _go_on(
        self, user: UserInfo, info: RequestInfo, asked: Awaitable[Decision], index: int, reasons: list[str]
    ) -> Decision:
        """Wait for the first answer that takes time, then go on with the authorizers from `index`."""
        decision = await asked
        for authorizer in self._authorizers[index:]:
            if decision.allowed is not None:
                return decision
            reasons.append(decision.reason)
            answer = authorizer.authorize(user, info)
            decision = answer if isinstance(answer, Decision) else await answer
        return decision if decision.allowed is not None else _refused([*reasons, decision.reason])


def _refused(reasons: Sequence[str]) -> Decision:
    return Decision(False, "\n".join(reason for reason in reasons if reason))


def chain(host: Host, config: Config) -> Union:
    """`system:masters` first, then the modes of `--authorization-mode` in their order."""
    modes = (MODES[mode](host, config) for mode in config.authorization_mode)
    return Union((Masters(), *(mode for mode in modes if mode is not None)))
