"""Authentication methods and authorization modes: their construction from flags."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from random import SystemRandom

import msgspec

from orchtw.assembly.foundation import Foundation
from orchtw.assembly.metrics import Instruments
from orchtw.authn.method import AuthnHost as AuthnHost
from orchtw.authn.metrics import AuthenticationMetrics
from orchtw.authn.refused_log import RefusedLog
from orchtw.authn.service_accounts.issuer import AccountTokens
from orchtw.authn.service_accounts.legacy_uses import LegacyUses
from orchtw.authn.union import AuthenticatorUnion as Authenticators
from orchtw.authn.union import chain as authenticators
from orchtw.authz import makers
from orchtw.authz.decision import Authorizer
from orchtw.authz.decision import AuthzHost as AuthzHost
from orchtw.authz.live_roles import LiveRoles
from orchtw.authz.masters import Masters
from orchtw.authz.union import chain as authorizers
from orchtw.outbound.caller import Caller
from orchtw.request import Request


class Access(msgspec.Struct, frozen=True, eq=False):
    """Common parts of authentication and authorization; `uses` records those of tokens in Secrets."""

    base: Foundation
    caller: Caller
    uses: LegacyUses | None = None

    def authenticator(
        self, accounts: AccountTokens, instruments: Instruments, authorizer: Callable[[], Authorizer]
    ) -> Authenticators:
        """Build the methods that the flags ask for; what they refuse is counted and logged.

        `authorizer` returns the server's, which is built later.
        """
        base, metrics = self.base, AuthenticationMetrics()
        instruments.show(metrics.families)
        if self.uses is not None:
            instruments.show(self.uses.metrics.families)
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
            release=base.config.generic.emulated,
            anonymous_paths=base.config.generic.gates["AnonymousAuthConfigurableEndpoints"],
            uses=self.uses,
        )
        log = RefusedLog(base.reactor)

        def refused(request: Request, reasons: list[str]) -> None:
            instruments.attempts.failed(wrong=bool(reasons))
            log.refused(request, reasons)

        config = base.config
        if config.authz.config_file is None:
            return authenticators(host, config.authn, config.plugins, modes=config.authz.mode, refused=refused)
        from orchtw.authz.configured import Configured

        def allows_all() -> bool:
            found = authorizer()
            return isinstance(found, Configured) and found.allows_all

        return authenticators(host, config.authn, config.plugins, refused=refused, allows_all=allows_all)

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
            reloads=self.base.reloads,
            release=self.base.config.generic.emulated,
            selectors=self.base.config.generic.gates["AuthorizeWithSelectors"],
        )
        options, plugins = self.base.config.authz, self.base.config.plugins
        if options.config_file is None:
            return authorizers(host, options, plugins)
        from orchtw.authz.configured import from_file  # with expressions, which few servers need

        modes = dict(makers(host, options, plugins))
        if options.policy_file is None:
            del modes["ABAC"]
        return from_file(host, options.config_file, (Masters(),), modes)


def legacy_uses(base: Foundation) -> LegacyUses | None:
    """Return the record of the uses of tokens in Secrets, or None: none is kept (reference AUTHN-65)."""
    if not base.config.generic.gates["LegacyServiceAccountTokenTracking"] or not base.config.accounts.lookup:
        return None
    return LegacyUses.of(base.resources.naming, base.resources.targets, time.time)
