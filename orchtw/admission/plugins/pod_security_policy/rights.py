"""Rights to use policies: of a pod's creator, or of its service account (reference PLUG-104)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from orchtw.authz.decision import Authorizer, Decision
from orchtw.request import RequestInfo, UserInfo

_GROUPS: Final = ("policy", "extensions")
_ACCOUNTS: Final = "system:serviceaccounts"


class Rights:
    """Authorization of verb `use` on policies, in their API group or in their former one."""

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    async def allow(self, users: Sequence[UserInfo], namespace: str, policy: str) -> bool:
        """Report whether one of the users may use the policy in the namespace."""
        for user in users:
            for group in _GROUPS:
                if await self._allows(user, namespace, policy, group):
                    return True
        return False

    async def _allows(self, user: UserInfo, namespace: str, policy: str, group: str) -> bool:
        asked = RequestInfo(
            is_resource=True,
            verb="use",
            path="",
            group=group,
            version="*",
            resource="podsecuritypolicies",
            namespace=namespace,
            name=policy,
        )
        decision = self._authorizer.authorize(user, asked)
        if not isinstance(decision, Decision):
            decision = await decision
        return bool(decision.allowed)


def users_of(user: UserInfo, namespace: str, account: str) -> Sequence[UserInfo]:
    """Return the users whose rights count: the pod's account first, which most pods rely on."""
    if not account:
        return (user,)
    groups = (_ACCOUNTS, f"{_ACCOUNTS}:{namespace}")
    return UserInfo(name=f"system:serviceaccount:{namespace}:{account}", groups=groups), user
