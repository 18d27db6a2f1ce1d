"""Authentication methods and authorization modes: their construction from flags."""

from __future__ import annotations

import os
import time
from random import SystemRandom
from typing import Any

import attrs
from twisted.application.service import MultiService

from orchtw.assembly.resources import Resources
from orchtw.authn.method import AuthnHost as AuthnHost
from orchtw.authn.metrics import AuthenticationMetrics
from orchtw.authn.refused_log import RefusedLog
from orchtw.authn.service_accounts.issuing import AccountTokens
from orchtw.authn.union import AuthenticatorUnion as Authenticators
from orchtw.authn.union import chain as authenticators
from orchtw.authz.decision import Authorizer
from orchtw.authz.decision import AuthzHost as AuthzHost
from orchtw.authz.live_roles import LiveRoles
from orchtw.authz.union import chain as authorizers
from orchtw.config import Config
from orchtw.config.reloads import Reloads
from orchtw.metrics.authentication import Attempts
from orchtw.outbound.caller import Caller
from orchtw.request import Request


@attrs.frozen(slots=True, kw_only=True, eq=False)
class Access:
    """Common parts of authentication and authorization; their services are children of `services`."""

    config: Config
    resources: Resources
    reactor: Any
    caller: Caller
    services: MultiService
    reloads: Reloads

    def authenticator(
        self, accounts: AccountTokens, metrics: AuthenticationMetrics, attempts: Attempts
    ) -> Authenticators:
        """The methods that the flags ask for; what they refuse is counted and logged."""
        host = AuthnHost(
            naming=self.resources.naming,
            seconds=time.time,
            clock=self.reactor,
            random=SystemRandom(),
            key=os.urandom(32),
            reloads=self.reloads,
            targets=self.resources.targets,
            accounts=accounts,
            caller=self.caller,
            services=self.services,
            metrics=metrics,
        )
        log = RefusedLog(self.reactor)

        def refused(request: Request, reasons: list[str]) -> None:
            attempts.failed(wrong=bool(reasons))
            log.refused(request, reasons)

        return authenticators(host, self.config, refused=refused)

    def authorizer(self, roles: LiveRoles) -> Authorizer:
        """The modes that the flags ask for."""
        host = AuthzHost(
            naming=self.resources.naming,
            clock=self.reactor,
            random=SystemRandom(),
            targets=self.resources.targets,
            roles=roles,
            caller=self.caller,
            services=self.services,
        )
        return authorizers(host, self.config)
