"""Runs of test runners on tests that a test writes."""

from __future__ import annotations

from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from tests.testing.api_servers import run_forking, run_python

CREATE = """
def create(server, name, namespace="default"):
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    server.request("POST", path, {"metadata": {"name": name}, "data": {"x": "1"}}).checked(path)
"""


class RunnerCase(SynchronousTestCase):
    """Tests in a file of their own, under a runner."""

    def said(self, text: str, *command: str, cold: bool = False) -> str:
        """Return what a runner says of a file of tests; with `cold`, started as by a user, as are its servers.

        The command is `-m MODULE ARGUMENTS…`, or anything that Python understands if it is cold.
        """
        folder = Path(self.mktemp())
        folder.mkdir()
        (folder / "test_it.py").write_text(text)
        run = run_python if cold else run_forking
        done = run("-W", "error", *command, folder=folder, variables={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"})
        return done.stdout + done.stderr

    def assertReported(self, said: str) -> None:
        """The failure has the writes since its test's reset."""
        self.assertEqual(said.count("orchtw: last writes"), 1 + ("LoopTests" in said), said)
        self.assertIn("ADDED configmaps default/mine at ", said)
        self.assertEqual("LoopTests" in said, "ADDED configmaps default/loop at " in said)
        self.assertNotIn("default/a at", said)
