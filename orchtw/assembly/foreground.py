"""The server in the foreground, as `twistd -n --pidfile= orch-apiserver` runs it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any


def run_in_foreground(flags: Sequence[str]) -> None:
    """Run the server with these flags until a signal ends it."""
    from twisted.application.app import run
    from twisted.scripts.twistd import ServerOptions, runApp  # type: ignore[attr-defined]

    from twisted.plugins.orchtw_plugin import apiserver

    class OneCommand(ServerOptions):
        """Options of `twistd` with this server as the only command."""

        loadedPlugins: dict[str, Any]

        @property
        def subCommands(self) -> list[tuple[str, None, Any, str]]:
            """Return the command. `twistd` imports the plugins of all packages for it, unittest among them."""
            self.loadedPlugins = {apiserver.tapname: apiserver}
            return [(apiserver.tapname, None, lambda: apiserver.options(), apiserver.description)]

    sys.argv[1:] = ["--nodaemon", "--pidfile=", "orch-apiserver", *flags]
    run(runApp, OneCommand)  # type: ignore[no-untyped-call]
