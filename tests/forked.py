"""Child processes of the tests that begin with everything imported.

Two thirds of what a start of the server costs is importing it, and the suite starts some two hundred. With
`ServerProcess(forking, ...)` instead of `ServerProcess(reactor, ...)` a start is a fork of a process that has done
that: see `fork_server`. What runs in the child is the same program with the same arguments, environment, folder,
files and limits; it is a child of this process, with an end and signals as any. Tests of the start itself want a cold
one. `fork_client` has the same for `subprocess`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from twisted.internet import reactor as installed_reactor
from twisted.internet.process import Process

from tests.fork_client import can_fork, fork_server

ENV = "/usr/bin/env"


class ForkingReactor:
    """The reactor, except that servers and modules of Python are forked where the system can (Linux)."""

    def __init__(self, reactor: Any) -> None:
        self._reactor = reactor

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reactor, name)

    def spawnProcess(
        self,
        protocol: Any,
        executable: str,
        args: Sequence[str],
        env: Mapping[str, str],
        path: str | None = None,
        childFDs: Mapping[int, Any] | None = None,
    ) -> Any:
        """Start a child process.

        Twisted forks this process, with all that it has loaded, for a program in another folder: `env` goes there.
        """
        if can_fork(args):
            return _Forked(self._reactor, executable, args, env, path, protocol, childFDs=childFDs)
        if path is not None and sys.platform == "linux":
            executable, args, path = ENV, (ENV, f"--chdir={path}", executable, *args[1:]), None
        return self._reactor.spawnProcess(protocol, executable, args, env, path, childFDs=childFDs)


class _Forked(Process):
    """A process that the fork server makes instead of this process."""

    def _fork(
        self,
        path: str | None,
        uid: None,
        gid: None,
        executable: str,
        args: Sequence[str],
        environment: Mapping[str, str],
        **kwargs: Any,
    ) -> None:
        files = [kwargs["fdmap"][number] for number in range(3)]
        self.pid = fork_server().fork(args, environment, path or os.getcwd(), files)


forking: Any = ForkingReactor(installed_reactor)
