"""`python -m tests.fork_server FD`: imports the server once, then forks a process for each request on the socket.

A request is the command, environment, folder and limits of a process, with its three standard files; the answer is
its id.
There must be no reactor and no thread here: neither outlives a fork well.
"""

from __future__ import annotations

import gc
import os
import pkgutil
import resource
import runpy
import socket
import sys
import time
from importlib import import_module

import orjson
import twisted.scripts.twistd

import orchtw

LIMIT_BYTES = 200_000
REACTOR = "twisted.internet.reactor"


def main() -> None:
    """Serve until the other end closes; in a child, be the program that was asked for."""
    _import_everything()
    assert REACTOR not in sys.modules
    gc.collect()
    gc.freeze()
    with socket.socket(fileno=int(sys.argv[1])) as requests:
        requests.set_inheritable(False)
        command = _serve(requests)
    if command:
        _run(command)


def _import_everything() -> None:
    """Import all modules that a server may use, so that it finds them loaded."""
    for module in pkgutil.walk_packages(orchtw.__path__, "orchtw."):
        if not module.name.endswith("__main__") and ".testing" not in module.name:
            import_module(module.name)


def _serve(requests: socket.socket) -> list[str]:
    """Fork for each request; returns the command in each child, nothing at the end."""
    while True:
        request, files, _, _ = socket.recv_fds(requests, LIMIT_BYTES, 3)
        if not request:
            return []
        asked = orjson.loads(request)
        if (number := _forked()) == 0:
            _become(asked["environ"], asked["folder"], files)
            for number, soft, hard in asked["limits"]:
                resource.setrlimit(number, (soft, hard))
            return list(asked["command"])
        for file in files:
            os.close(file)
        requests.send(b"%d" % number)


def _forked() -> int:
    """Fork a process whose parent is gone, so that the nearest subreaper is it; 0 in it, its id here."""
    read, write = os.pipe()
    between = os.fork()
    if between == 0:
        if (number := os.fork()) == 0:
            os.close(read)
            os.close(write)
            return 0
        os.write(write, b"%d" % number)
        os._exit(0)
    os.close(write)
    os.waitpid(between, 0)
    number = int(os.read(read, 100))
    os.close(read)
    return number


def _become(environ: dict[str, str], folder: str, files: list[int]) -> None:
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.environ.clear()
    os.environ.update(environ)
    time.tzset()
    os.chdir(folder)


def _run(command: list[str]) -> None:
    """Run the command line as the interpreter would."""
    option, program, *arguments = command
    sys.argv = [option if option == "-c" else program, *arguments]
    if option == "-m":
        runpy.run_module(program, run_name="__main__", alter_sys=True)
    else:
        twisted.scripts.twistd.run()


if __name__ == "__main__":
    main()
