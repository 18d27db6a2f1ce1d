"""The server in the foreground, as `twistd -n --pidfile= orch-apiserver` runs it."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def run_in_foreground(flags: Sequence[str]) -> None:
    """Run the server with these flags until a signal ends it."""
    from twisted.scripts.twistd import run

    sys.argv[1:] = ["--nodaemon", "--pidfile=", "orch-apiserver", *flags]
    run()  # type: ignore[no-untyped-call]
