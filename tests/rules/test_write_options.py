"""Options of creates, updates and patches (reference WRITE-17, WRITE-20, PATCH-6)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import Invalid
from orchtw.naming.naming import Naming
from orchtw.rules.write_options import WriteOptions, create_options, patch_options, update_options
from tests.rules.queries import params

NAMING = Naming.orch()


class WriteOptionsTests(SynchronousTestCase):
    """`create_options`, `update_options` and `patch_options`."""

    def test_values(self) -> None:
        """Options are read; a bare or empty dryRun is the ordinary request (reference WRITE-20)."""
        found = create_options(params("dryRun=All&fieldManager=m&fieldValidation=Strict"), NAMING)
        self.assertEqual(found, WriteOptions(dry_run=True, field_manager="m", field_validation="Strict"))
        self.assertFalse(create_options(params("dryRun"), NAMING).dry_run)
        self.assertFalse(update_options(params("dryRun="), NAMING).dry_run)
        self.assertEqual(update_options({}, NAMING), WriteOptions())

    def test_refusals(self) -> None:
        """Bad values are a 422 of the options' kind (reference WRITE-17, WRITE-20, WRITE-23)."""
        for query, text in [
            ("dryRun=foo", 'dryRun: Unsupported value: []string{"foo"}: supported values: "All"'),
            ("fieldManager=" + "x" * 129, "fieldManager: Too long: must have at most 128 bytes"),
            (
                "fieldManager=a%07",
                'fieldManager: Invalid value: "a\\a": invalid character U+0007 (at position 1)',
            ),
            (
                "fieldValidation=x",
                'fieldValidation: Unsupported value: "x": supported values: "", "Ignore", "Strict", "Warn"',
            ),
        ]:
            error = self.assertRaises(Invalid, create_options, params(query), NAMING)
            self.assertEqual(error.message, f'CreateOptions.meta.orch.io "" is invalid: {text}')

    def test_apply(self) -> None:
        """Apply needs a field manager and alone may force (reference PATCH-6)."""
        found = patch_options(params("fieldManager=m&force=true"), NAMING, apply=True)
        self.assertTrue(found.force)
        error = self.assertRaises(Invalid, patch_options, {}, NAMING, apply=True)
        self.assertEqual(
            error.message,
            'PatchOptions.meta.orch.io "" is invalid: fieldManager: Required value: is required for apply patch',
        )
        error = self.assertRaises(Invalid, patch_options, params("force=false"), NAMING, apply=False)
        self.assertEqual(
            error.message,
            'PatchOptions.meta.orch.io "" is invalid: force: Forbidden: may not be specified for non-apply patch',
        )

    def test_vocabulary(self) -> None:
        """The options' group is the served one."""
        error = self.assertRaises(Invalid, create_options, params("dryRun=x"), Naming.kubernetes())
        self.assertIn("CreateOptions.meta.k8s.io", error.message)
