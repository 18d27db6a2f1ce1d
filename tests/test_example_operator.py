"""Tests of the example operator, in a pytest of their own."""

from __future__ import annotations

import os
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from orchtw.testing.process import environment
from tests.testing.api_servers import run_python

OPERATOR = Path(__file__).resolve().parent.parent / "examples" / "operator"


class OperatorTests(SynchronousTestCase):
    def test_all(self) -> None:
        """All of them pass, on one server that is reset between them."""
        # The plugin of this checkout, whatever is installed.
        path = os.pathsep.join((str(OPERATOR), environment()["PYTHONPATH"]))
        variables = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
        options = ("-q", "-p", "orchtw.testing.pytest_plugin", "-p", "no:cacheprovider")
        command = ("-m", "pytest", *options, str(OPERATOR / "tests"))
        done = run_python(*command, folder=self.mktemp(), variables=variables)
        self.assertIn("25 passed", done.stdout, done.stdout + done.stderr)
