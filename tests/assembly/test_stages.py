"""The table of stages."""

from __future__ import annotations

from typing import Any, cast

from twisted.application.service import MultiService
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.assembly.stages import StageHost, stages
from orchtw.authn.union import AuthenticatorUnion as Authenticators
from orchtw.authz.union import AuthorizerUnion as Authorizers
from orchtw.config import Config
from orchtw.endpoints.checks import Checks
from orchtw.endpoints.health import Health
from orchtw.errors import StatusError
from orchtw.filters.chain import ORDER, line
from orchtw.filters.max_in_flight import MaxInFlight
from orchtw.filters.shutting_down import Doors
from orchtw.flowcontrol.stats import InFlight
from orchtw.logs.verbosity import Verbosity
from orchtw.metrics.authentication import Attempts
from orchtw.metrics.registry import Registry
from orchtw.metrics.requests import RequestMetrics
from orchtw.naming.naming import Naming
from orchtw.request import Request, Response
from orchtw.rules.origins import AllowedOrigins
from orchtw.server import STAGES


async def handler(_request: Request) -> Response:
    return Response()


class TableTests(SynchronousTestCase):
    def places(self, **settings: Any) -> list[str]:
        """Where stages stand with these flags; the line accepts them."""

        def refuse(_request: Request, error: StatusError) -> Response:
            raise error

        config = Config.of(**settings)
        host = StageHost(
            naming=Naming.orch(),
            clock=Clock(),
            targets=cast(Any, None),
            services=MultiService(),
            authenticator=Authenticators([], anonymous=True),
            authorizer=Authorizers([]),
            origins=AllowedOrigins(config.serving.cors_allowed_origins),
            doors=Doors(),
            verbosity=Verbosity(),
            limiting=MaxInFlight(0, 0, "", InFlight(), Clock().seconds),
            refuse=refuse,
            requests=RequestMetrics(Registry(), lambda *_names: None),
            attempts=Attempts(Registry(), ()),
            health=Health(Checks(Naming.orch()), Clock()),
        )
        made = stages(STAGES, host, config)
        line(made, handler)
        return [placed.place for placed in made]

    def test_order(self) -> None:
        """The table stands in the order of the places (reference AUTHN-2)."""
        positions = [ORDER.index(place) for place, _ in STAGES]
        self.assertEqual(positions, sorted(positions))

    def test_flags(self) -> None:
        """Stages that the flags do without are not there."""
        least = set(self.places())
        self.assertEqual(set(self.places(goaway_chance=0.01)) - least, {"goaway"})
        self.assertEqual(set(self.places(shutdown_send_retry_after=True)) - least, {"shutdown"})
        self.assertEqual(set(self.places(cors_allowed_origins=("//a$",))) - least, {"cors"})
