"""The server in the foreground (`orchtw.assembly.foreground`)."""

from __future__ import annotations

import subprocess
import sys

from twisted.trial.unittest import SynchronousTestCase

from orchtw.assembly import foreground


class ForegroundTests(SynchronousTestCase):
    """Start by the console command, without twistd's search for plugins."""

    SCRIPT = f"""
import sys
from {foreground.__name__} import run_in_foreground
try:
    run_in_foreground(["--version"])
finally:
    print(*sys.modules)
"""

    def test_plugins_of_others(self) -> None:
        """The command imports no plugin but the server's own, and takes its flags."""
        done = subprocess.run([sys.executable, "-c", self.SCRIPT], capture_output=True, text=True, check=True)
        version, imported = done.stdout.splitlines()
        self.assertIn("(orchtw ", version)
        self.assertIn("twisted.plugins.orchtw_plugin", imported.split())
        self.assertNotIn("twisted.plugins.twisted_trial", imported.split())
        self.assertNotIn("unittest", imported.split())
