"""Cost of the web client in a server that calls no others (reference HOOK-27)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

import orchtw

CHECK = """
import sys
import orchtw.server
print([each for each in ("treq", "twisted.web.client") if each in sys.modules])
"""


class StartTests(SynchronousTestCase):
    """A start without webhooks."""

    def test_not_imported(self) -> None:
        """The client library is not read before it is needed."""
        root = Path(orchtw.__file__).parent.parent
        environment = {**os.environ, "PYTHONPATH": str(root)}
        done = subprocess.run([sys.executable, "-c", CHECK], capture_output=True, text=True, env=environment)
        self.assertEqual((done.stdout, done.stderr), ("[]\n", ""))
