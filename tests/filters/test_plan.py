"""Contract of plans between stages and `Plans`."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.filters.audit_id import AuditIdStage
from orchtw.filters.chain import Proceed
from orchtw.filters.panic_recovery import PanicRecovery
from orchtw.filters.plan import AS_IT_IS, LEFT_OUT, NOTHING, Part, Planning, Shortening
from orchtw.request import Request, Response


class Silent:
    """A stage that offers no part of a plan."""

    async def handle(self, request: Request, proceed: Proceed) -> Response:
        return await proceed(request)


class PlanTests(SynchronousTestCase):
    """Stages that take part in plans, and parts."""

    def test_stages(self) -> None:
        """A stage takes part if it has a method for it."""
        self.assertIsInstance(AuditIdStage(), Planning)
        self.assertNotIsInstance(Silent(), Planning)

    def test_nothing(self) -> None:
        """The part of a stage with nothing to ask stands for ever, and takes no memory."""
        self.assertEqual((NOTHING.stands, NOTHING.free, NOTHING.passed, NOTHING.size), ((), None, None, 0))
        self.assertEqual(Part().stands, NOTHING.stands)

    def test_short(self) -> None:
        """A stage without a method to shorten it stands in short lines as it is, which is not to be left out."""
        self.assertIsInstance(AuditIdStage(), Shortening)
        self.assertNotIsInstance(PanicRecovery(lambda request, error: Response()), Shortening)
        self.assertIsNot(AS_IT_IS, LEFT_OUT)
