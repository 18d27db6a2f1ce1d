"""Options of deletions (reference DEL-1, DEL-2, DEL-3, DEL-21)."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import BadRequest, Invalid
from orchtw.naming.naming import Naming
from orchtw.rules.delete_options import IGNORE_READ_ERRORS, DeleteOptions, delete_options
from orchtw.wire.objects import Object
from tests.rules.queries import params

NAMING = Naming.orch()


class DeleteOptionsTests(SynchronousTestCase):
    """Options of deletions (`delete_options`)."""

    def body(self, **fields: Any) -> DeleteOptions:
        return delete_options({}, {"kind": "DeleteOptions", "apiVersion": "v1", **fields}, NAMING)

    def test_body(self) -> None:
        """The body says everything when there is one (reference DEL-1)."""
        found = self.body(
            gracePeriodSeconds=5,
            propagationPolicy="Foreground",
            dryRun=["All"],
            preconditions={"uid": "u", "resourceVersion": "7"},
        )
        self.assertEqual(
            found,
            DeleteOptions(
                dry_run=True,
                grace_period_s=5,
                propagation="Foreground",
                precondition_uid="u",
                precondition_version="7",
            ),
        )
        self.assertIsNone(
            delete_options(params("gracePeriodSeconds=5"), {"kind": "X"}, NAMING).grace_period_s
        )

    def test_read_errors(self) -> None:
        """To ignore read errors excludes all other options, and is dropped without its gate (reference DEL-21)."""
        name = IGNORE_READ_ERRORS
        body = {name: True}
        self.assertTrue(delete_options({}, body, NAMING, unsafe=True).ignore_read_errors)
        self.assertTrue(delete_options(params(f"{name}=true"), None, NAMING, unsafe=True).ignore_read_errors)
        self.assertFalse(delete_options({}, {name: False}, NAMING, unsafe=True).ignore_read_errors)
        self.assertEqual(delete_options({}, body, NAMING), DeleteOptions())
        for other, value in (
            ("dryRun", ["All"]),
            ("propagationPolicy", "Orphan"),
            ("orphanDependents", False),
            ("gracePeriodSeconds", 0),
            ("preconditions", {}),
        ):
            with self.assertRaises(Invalid) as caught:
                delete_options({}, {**body, other: value}, NAMING, unsafe=True)
            text = f"{name}: Invalid value: true: cannot be set together with .{other}"
            self.assertTrue(caught.exception.message.endswith(text), caught.exception.message)

    def test_query(self) -> None:
        """Without a body the query is read."""
        query = "gracePeriodSeconds=0&propagationPolicy=Orphan&dryRun=All"
        self.assertEqual(
            delete_options(params(query), None, NAMING),
            DeleteOptions(dry_run=True, grace_period_s=0, propagation="Orphan"),
        )
        self.assertIs(delete_options(params("orphanDependents=false"), None, NAMING).orphan_dependents, False)
        self.assertRaises(BadRequest, delete_options, params("gracePeriodSeconds=x"), None, NAMING)

    def test_dry_run_of_the_query_beside_a_body(self) -> None:
        """The query's dryRun counts when the body has none; the body's wins (reference DEL-2)."""
        body = {"propagationPolicy": "Orphan"}
        self.assertTrue(delete_options(params("dryRun=All"), body, NAMING).dry_run)
        self.assertTrue(delete_options(params("dryRun=All"), {}, NAMING).dry_run)
        self.assertTrue(delete_options(params("dryRun=no"), {"dryRun": ["All"]}, NAMING).dry_run)
        self.assertRaises(Invalid, delete_options, params("dryRun=no"), body, NAMING)
        self.assertFalse(delete_options(params("dryRun"), body, NAMING).dry_run)

    def test_negative_grace(self) -> None:
        """A negative grace period is one second (reference DEL-3)."""
        self.assertEqual(self.body(gracePeriodSeconds=-3).grace_period_s, 1)

    def test_refusals(self) -> None:
        """An unknown policy, both ways of saying it, and an unknown dryRun are causes (reference DEL-3)."""
        cases: list[tuple[Object, str]] = [
            (
                {"propagationPolicy": "Orphan", "orphanDependents": True},
                'propagationPolicy: Invalid value: "Orphan": '
                "orphanDependents and deletionPropagation cannot be both set",
            ),
            (
                {"propagationPolicy": "x"},
                'propagationPolicy: Unsupported value: "x": '
                'supported values: "Foreground", "Background", "Orphan", "nil"',
            ),
            ({"dryRun": ["no"]}, 'dryRun: Unsupported value: []string{"no"}: supported values: "All"'),
        ]
        for fields, text in cases:
            error = self.assertRaises(Invalid, self.body, **fields)
            self.assertEqual(error.message, f'DeleteOptions.meta.orch.io "" is invalid: {text}')
