"""The package `orchtw.testing` itself: its names, imported when they are used."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from tests.testing.api_servers import run_python


class ScriptTests(SynchronousTestCase):
    def test_quick(self) -> None:
        """`orchtw.testing` names what it has, and imports nothing until that is used."""
        script = "import sys, orchtw.testing as t; print('ApiServer' in dir(t), 'attr' in sys.modules, t.ApiServer)"
        done = run_python("-c", script, folder=self.mktemp())
        self.assertEqual(done.stdout, "True False <class 'orchtw.testing.api_server.ApiServer'>\n")

    def test_unknown_name(self) -> None:
        """Another name is refused as by any module."""
        import orchtw.testing

        self.assertRaises(AttributeError, getattr, orchtw.testing, "Nonsense")
