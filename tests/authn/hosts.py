"""Fixture of the host that authentication methods are given."""

from __future__ import annotations

from random import Random
from typing import Any, cast

import msgspec
from twisted.application.service import MultiService
from twisted.internet.task import Clock

from orchtw.authn.method import AuthnHost
from orchtw.authn.metrics import AuthenticationMetrics
from orchtw.authn.service_accounts.issuer import AccountTokens
from orchtw.config.reloads import Reloads
from orchtw.naming.naming import Naming
from orchtw.registry.targets import Targets
from tests.admission.asked import CATALOGUE, CODECS


def a_host(**settings: Any) -> AuthnHost:
    """A host with a clock that stands still and nothing stored, but for what is given."""
    clock = settings.get("clock") or Clock()
    naming = settings.get("naming") or Naming.orch()
    made = AuthnHost(
        naming=naming,
        seconds=clock.seconds,
        clock=clock,
        random=Random(1),
        key=bytes(32),
        reloads=Reloads(),
        targets=Targets(CATALOGUE, CODECS, CATALOGUE.resources),
        accounts=AccountTokens.default(naming),
        caller=cast(Any, None),
        services=MultiService(),
        metrics=AuthenticationMetrics(),
    )
    return msgspec.structs.replace(made, **settings)
