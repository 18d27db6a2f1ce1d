"""`python -m tests.fork_server FD`: imports the server once, then forks a process for each request on the socket.

A request is the command, environment, folder, limits and session of a process, with its files from 0 on; the answer
is its id.
There must be no reactor and no thread here: neither outlives a fork well. A server that starts processes of its own
leaves a copy of this behind, which forks those.
"""

from __future__ import annotations

import fcntl
import gc
import os
import pkgutil
import resource
import runpy
import socket
import sys
import time
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import orjson
import twisted.scripts.twistd
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

import orchtw
from orchtw.plugins.entry_points import installed
from orchtw.registry.offload import Offload
from orchtw.serving import listener
from orchtw.testing.in_process import InProcessServer
from tests import fork_client
from tests.host_clock import HostClock

LIMIT_BYTES = 200_000
MOST_FILES = 8
REACTOR = "twisted.internet.reactor"
COMM = Path("/proc/self/comm")
NAME = b"forks"
"""Name, in COMM, of a process that serves another one's forks."""
STARTING = ("--workers", "--join-secret-file")
"""Flags of servers that start processes of this project."""
CLIENT = ("orchtw.testing.api_server", "orchtw.testing.async_api_server", "bench.server", "tests.fork_client")
"""Modules of the programs that `forking_main` runs; the rest of `orchtw.testing` is for a reactor."""
CLOSE_S = 0.2
"""Seconds for which a forked server that ends waits until its clients have closed their connections.

Clients of tests never close them first. A server that a test starts as a user does waits for a whole second.
"""


def main() -> None:
    """Serve until the other end closes; in a child, be the program that was asked for."""
    _import_everything()
    _compile_codecs()
    installed()
    listener._CLOSE_S = CLOSE_S
    assert REACTOR not in sys.modules
    gc.collect()
    gc.freeze()
    if command := serve(socket.socket(fileno=int(sys.argv[1]))):
        run(command)


def _import_everything() -> None:
    """Import all modules that a server may use, and the client's, so that a process finds them loaded."""
    for module in pkgutil.walk_packages(orchtw.__path__, "orchtw."):
        if not module.name.endswith("__main__") and ".testing" not in module.name:
            import_module(module.name)
    for name in CLIENT:
        import_module(name)


def _compile_codecs() -> None:
    """Start and stop a server under either vocabulary: forks share the codecs that this compiles.

    On a clock, a store in memory and without the thread for large work: neither reactor nor thread begins.
    """
    for vocabulary in ("orch", "kubernetes"):
        clock = HostClock()
        sys.modules[REACTOR] = clock  # type: ignore[assignment] # a LoopingCall would install one
        with TemporaryDirectory() as folder, patch.object(Offload, "start"):
            server = InProcessServer(clock, folder, vocabulary=vocabulary, storage_backend="memory")
            for work in (server.start(), server.instance.lifecycle.stop()):
                done = Deferred.fromCoroutine(work)
                while not done.called:
                    clock.advance(0)
                done.addErrback(Failure.raiseException)
        del sys.modules[REACTOR]


def serve(requests: socket.socket) -> list[str]:
    """Fork for each request; returns the command in each child, nothing at the end."""
    with requests:
        requests.set_inheritable(False)
        while True:
            request, files, _, _ = socket.recv_fds(requests, LIMIT_BYTES, MOST_FILES)
            if not request:
                return []
            asked = orjson.loads(request)
            if (number := _forked()) == 0:
                requests.close()  # before its number may be that of a file
                _become(asked, files)
                return list(asked["command"])
            for file in files:
                os.close(file)
            requests.send(b"%d" % number)


def _forked() -> int:
    """Fork a process whose parent is gone, so that the nearest subreaper is it; 0 in it, its id here."""
    read, write = os.pipe()
    between = os.fork()
    if between == 0:
        between = os.getpid()
        if (number := os.fork()) == 0:
            os.close(read)
            os.close(write)
            while os.getppid() == between:
                time.sleep(0.0005)
            return 0
        os.write(write, b"%d" % number)
        os._exit(0)
    os.close(write)
    os.waitpid(between, 0)
    number = int(os.read(read, 100))
    os.close(read)
    return number


def _become(asked: dict[str, Any], files: list[int]) -> None:
    copies = [fcntl.fcntl(file, fcntl.F_DUPFD, MOST_FILES) for file in files]
    for file in files:
        os.close(file)
    for number, copy in enumerate(copies):
        os.dup2(copy, number)
        os.close(copy)
    COMM.write_bytes(b"python")
    if asked["session"]:
        os.setsid()
    os.environ.clear()
    os.environ.update(asked["environ"])
    time.tzset()
    os.chdir(asked["folder"])
    for number, soft, hard in asked["limits"]:
        resource.setrlimit(number, (soft, hard))


def run(command: list[str], *, nested: bool = True) -> None:
    """Run the command line as the interpreter would; unless `nested`, a server does not fork its workers."""
    option, program, *arguments = command
    sys.argv = [option if option == "-c" else program, *arguments]
    if option == "-m":
        runpy.run_module(program, run_name="__main__", alter_sys=True)
        return
    if nested and any(each.startswith(STARTING) for each in arguments):
        if child := leave_copy():
            run(child)
            return
        fork_client.fork_children()
    twisted.scripts.twistd.run()


def leave_copy() -> list[str]:
    """Leave a copy of this process behind that forks its children from now on.

    What comes back is a command in each of these, and nothing in this process.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if (number := os.fork()) == 0:
        ours.close()
        COMM.write_bytes(NAME)
        if command := serve(theirs):
            return command
        os._exit(0)  # without what this program registered for its end
    theirs.close()
    ours.set_inheritable(False)
    fork_client.use(ours, lambda: os.waitpid(number, 0))
    return []


if __name__ == "__main__":
    main()
