"""Authentication methods and authorization modes: their construction from flags."""

from __future__ import annotations

import os
import time
from random import SystemRandom

import msgspec

from orchtw.assembly.foundation import Foundation
from orchtw.assembly.metrics import Instruments
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
from orchtw.outbound.caller import Caller
from orchtw.request import Request


class Access(msgspec.Struct, frozen=True, eq=False):
    """Common parts of authentication and authorization."""

    base: Foundation
    caller: Caller

    def authenticator(self, accounts: AccountTokens, instruments: Instruments) -> Authenticators:
        """Build the methods that the flags ask for; what they refuse is counted and logged."""
        base, metrics = self.base, AuthenticationMetrics()
        instruments.show(metrics.families)
        host = AuthnHost(
            naming=self.base.resources.naming,
            seconds=time.time,
            clock=self.base.reactor,
            random=SystemRandom(),
            key=os.urandom(32),
            reloads=base.reloads,
            targets=self.base.resources.targets,
            accounts=accounts,
            caller=self.caller,
            services=self.base.services,
            metrics=metrics,
        )
        log = RefusedLog(base.reactor)

        def refused(request: Request, reasons: list[str]) -> None:
            instruments.attempts.failed(wrong=bool(reasons))
            log.refused(request, reasons)

        config = base.config
        return authenticators(host, config.authn, config.plugins, modes=config.authz.mode, refused=refused)

    def authorizer(self, roles: LiveRoles) -> Authorizer:
        """Build the modes that the flags ask for."""
        host = AuthzHost(
            naming=self.base.resources.naming,
            clock=self.base.reactor,
            random=SystemRandom(),
            targets=self.base.resources.targets,
            roles=roles,
            caller=self.caller,
            services=self.base.services,
        )
        return authorizers(host, self.base.config.authz, self.base.config.plugins)
