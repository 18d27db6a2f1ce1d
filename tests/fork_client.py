"""The asking side of `fork_server`: processes that begin with everything imported, for programs without a reactor."""

from __future__ import annotations

import atexit
import ctypes
import os
import resource
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from inspect import signature
from typing import Any

import orjson
from twisted.internet.process import Process

from orchtw.testing.process import TWISTD, environment

_MODULE = (sys.executable, "-m")
_LIMITS = (resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE)  # those that tests set
_BECOME_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER: whose parent ends becomes a child of this process
_OURS = ("orchtw", "bench", "tests")
_NONE = -1  # of subprocess: this process's own file


class ForkServer:
    """The process that forks, at the other end of a socket; threads may ask at once."""

    def __init__(self, requests: socket.socket) -> None:
        ctypes.CDLL(None).prctl(_BECOME_SUBREAPER, 1, 0, 0, 0)
        self._socket = requests
        self._lock = threading.Lock()

    def fork(
        self,
        command: Sequence[str],
        environ: Mapping[str, str],
        folder: str,
        files: Sequence[int],
        *,
        session: bool = False,
    ) -> int:
        """Start `python OPTION PROGRAM ARGUMENTS…`, in a session of its own if asked; return the process id."""
        limits = [(each, *resource.getrlimit(each)) for each in _LIMITS]
        asked = {"command": list(command[1:]), "environ": dict(environ), "folder": folder, "limits": limits}
        request = orjson.dumps({**asked, "session": session})
        with self._lock:
            socket.send_fds(self._socket, [request], files)
            answer = self._socket.recv(100)
        if not answer:
            raise OSError("the fork server has ended")
        return int(answer)

    def close(self) -> None:
        """Close the socket, at which the process ends."""
        self._socket.close()


_COLD: Any = subprocess.Popen


class ForkedPopen(subprocess.Popen[Any]):
    """`subprocess.Popen` that forks servers and other modules of this project where the system can (Linux).

    To be patched over `subprocess.Popen` while they are started.
    """

    def _execute_child(self, *arguments: Any) -> None:
        execute = _COLD._execute_child
        asked = signature(execute).bind(self, *arguments).arguments
        if not (can_fork(asked["args"]) and _is_ours(asked["args"])):
            execute(self, *arguments)
            return
        ends = (asked["p2cread"], asked["c2pwrite"], asked["errwrite"])
        files = [number if end == _NONE else end for number, end in enumerate(ends)]
        environ = os.environ if asked["env"] is None else asked["env"]
        folder = os.path.abspath(asked["cwd"] or "")
        self.pid = fork_server().fork(asked["args"], environ, folder, files, session=asked["start_new_session"])
        self._child_created = True
        pipes = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
        self._close_pipe_fds(*(asked[name] for name in pipes))  # type: ignore[attr-defined]


def fork_children() -> None:
    """Have this process fork the modules of this project that it starts, with or without a reactor."""
    subprocess.Popen = ForkedPopen  # type: ignore[misc]
    setattr(Process, "_fork", _fork)  # noqa: B010 (an assignment would need the type that Twisted does not declare)


_cold = Process._fork


def _fork(
    process: Any, path: Any, uid: None, gid: None, executable: Any, args: Any, environment: Any, **more: Any
) -> None:
    """Fork as `twisted.internet.process.Process` does, by the fork server if that can be this program."""
    command, files = [os.fsdecode(each) for each in args], more["fdmap"]
    if not (can_fork(command) and _is_ours(command) and sorted(files) == list(range(len(files)))):
        _cold(process, path, uid, gid, executable, args, environment, **more)
        return
    environ = {os.fsdecode(name): os.fsdecode(value) for name, value in environment.items()}
    folder = os.fsdecode(path) if path else os.getcwd()
    process.pid = fork_server().fork(command, environ, folder, [files[number] for number in sorted(files)])


def can_fork(command: Sequence[str]) -> bool:
    """Report whether the fork server can be this program."""
    start = tuple(command)
    return sys.platform == "linux" and (start[:2] == _MODULE or start[: len(TWISTD)] == TWISTD)


def _is_ours(command: Sequence[str]) -> bool:
    return command[1] != "-m" or command[2].partition(".")[0] in _OURS


_running: list[ForkServer] = []
_starting = threading.Lock()


def fork_server() -> ForkServer:
    """Return this process's fork server, started when it is first wanted and ended with this process."""
    with _starting:
        if not _running:
            _start()
    return _running[0]


def _start() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        number = theirs.fileno()
        command = (sys.executable, "-m", "tests.fork_server", str(number))
        process = _COLD(command, env=environment(), pass_fds=(number,))
    use(ours, process.wait)


def use(requests: socket.socket, wait: Any) -> None:
    """Have the process behind a socket fork for this one; `wait` waits for its end when this one ends."""
    server = ForkServer(requests)
    _running.append(server)
    atexit.register(wait)  # after the next one
    atexit.register(server.close)
