"""Rules of messages, collected from the modules that have them."""

from __future__ import annotations

from collections.abc import Mapping

from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import Cause
from orchtw.naming.naming import Naming
from orchtw.registry import checks
from orchtw.schema.validation.validators import Check
from orchtw.values.causes import required
from orchtw.wire.objects import Object


def part(field: str) -> Mapping[str, Check]:
    """A rule that finds a field missing."""

    def check(new: Object, old: Object | None) -> list[Cause]:
        return [required(field)]

    return {"example.Message": check}


class CheckTests(SynchronousTestCase):
    def test_several(self) -> None:
        """The causes of several rules of one message add up."""
        self.patch(checks, "_PARTS", (lambda naming: part("a"), lambda naming: part("b")))
        check = checks.checks(Naming.orch())["example.Message"]
        self.assertEqual([cause.field for cause in check({}, None)], ["a", "b"])
