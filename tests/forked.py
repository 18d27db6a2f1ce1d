"""Child processes of the tests that begin with everything imported.

Two thirds of what a start of the server costs is importing it, and the suite starts some two hundred. With
`ServerProcess(forking, ...)` instead of `ServerProcess(reactor, ...)` a start is a fork of a process that has done
that: see `fork_server`. What runs in the child is the same program with the same arguments, environment, folder,
files and limits; it is a child of this process, with an end and signals as any. Tests of the start itself want a cold
one.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import resource
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from twisted.internet import reactor as installed_reactor
from twisted.internet.process import Process

from orchtw.testing.process import TWISTD, environment

_MODULE = (sys.executable, "-m")
_LIMITS = (resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE)  # those that tests set
_BECOME_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER: whose parent ends becomes a child of this process


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
        """Start a child process."""
        if _can_fork(args):
            return _Forked(self._reactor, executable, args, env, path, protocol, childFDs=childFDs)
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
        self.pid = _fork_server().fork(args, environment, path or os.getcwd(), files)


class _ForkServer:
    """The process that forks, started once and ended with this one."""

    def __init__(self) -> None:
        ctypes.CDLL(None).prctl(_BECOME_SUBREAPER, 1, 0, 0, 0)
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            number = theirs.fileno()
            command = (sys.executable, "-m", "tests.fork_server", str(number))
            self._process = subprocess.Popen(command, env=environment(), pass_fds=(number,))
        atexit.register(self._end)

    def fork(self, command: Sequence[str], environ: Mapping[str, str], folder: str, files: Sequence[int]) -> int:
        """Start `python OPTION PROGRAM ARGUMENTS…`; the id of the process."""
        limits = [(each, *resource.getrlimit(each)) for each in _LIMITS]
        asked = {"command": list(command[1:]), "environ": dict(environ), "folder": folder, "limits": limits}
        request = orjson.dumps(asked)
        socket.send_fds(self._socket, [request], files)
        answer = self._socket.recv(100)
        if not answer:
            raise OSError("the fork server has ended")
        return int(answer)

    def _end(self) -> None:
        self._socket.close()
        self._process.wait()


_running: list[_ForkServer] = []


def _fork_server() -> _ForkServer:
    if not _running:
        _running.append(_ForkServer())
    return _running[0]


def _can_fork(command: Sequence[str]) -> bool:
    start = tuple(command)
    return sys.platform == "linux" and (start[:2] == _MODULE or start[: len(TWISTD)] == TWISTD)


forking: Any = ForkingReactor(installed_reactor)
