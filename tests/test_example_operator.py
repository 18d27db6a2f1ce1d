"""Tests of the example operator, in a pytest of their own."""

from __future__ import annotations

import os
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from orchtw.commands.envtest.assets import write_assets
from orchtw.testing.process import environment
from tests.testing.api_servers import run_forking

OPERATOR = Path(__file__).resolve().parent.parent / "examples" / "operator"


class OperatorTests(SynchronousTestCase):
    def run_tests(self, folder: str, *options: str, **more: str) -> str:
        """Run a folder of tests; returns what pytest says."""
        path = os.pathsep.join((str(OPERATOR), environment()["PYTHONPATH"]))
        variables = {
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTHONPATH": path,
            "PYTHONDONTWRITEBYTECODE": "1",
            **more,
        }
        command = ("-m", "pytest", "-q", "-p", "no:cacheprovider", *options, str(OPERATOR / folder))
        done = run_forking(*command, folder=self.mktemp(), variables=variables)
        return done.stdout + done.stderr

    def test_all(self) -> None:
        """All of them pass, on one server that is reset between them."""
        # The plugin of this checkout, whatever is installed.
        said = self.run_tests("tests", "-p", "orchtw.testing.pytest_plugin")
        self.assertIn("25 passed", said, said)

    def test_envtest(self) -> None:
        """In envtest's shape they pass on the two drop-ins, which are not reset."""
        assets = write_assets(Path(self.mktemp()).absolute())
        said = self.run_tests("envtest", KUBEBUILDER_ASSETS=str(assets))
        self.assertIn("23 passed", said, said)
