"""The `ApiServer` that tests share, and programs that tests run as processes of their own.

Most servers and runners are forked from a process that has imported them; tests of starts take cold ones.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from unittest.mock import patch

from twisted.trial.unittest import SynchronousTestCase

from orchtw.testing.api_server import ApiServer
from orchtw.testing.child_process import environment
from tests.fork_client import ForkedPopen

LIMIT_S = 120.0
_shared: list[ApiServer] = []


class ForkedServersCase(SynchronousTestCase):
    """Tests of servers that run, not of their starts."""

    def setUp(self) -> None:
        self.patch(subprocess, "Popen", ForkedPopen)


def shared() -> ApiServer:
    """Return the server of all tests of this process, in the state after its start; it ends with the process."""
    if not _shared:
        with patch.object(subprocess, "Popen", ForkedPopen):
            _shared.append(ApiServer().start())
    _shared[0].reset()
    return _shared[0]


def run_python(
    *arguments: str, folder: str | os.PathLike[str], variables: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run Python with this orchtw in a folder, which is made."""
    return _run(subprocess.Popen, arguments, folder, variables)


def run_forking(
    *arguments: str, folder: str | os.PathLike[str], variables: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a module likewise, `[-W ACTION] -m MODULE ARGUMENTS…`: a fork, of which the servers are forks as well."""
    return _run(ForkedPopen, ("-m", "tests.forking_main", *arguments), folder, variables)


def _run(
    popen: type[subprocess.Popen[str]],
    arguments: Sequence[str],
    folder: str | os.PathLike[str],
    variables: Mapping[str, str] | None,
) -> subprocess.CompletedProcess[str]:
    Path(folder).mkdir(parents=True, exist_ok=True)
    environ = {**environment(), **(variables or {})}
    pipe = subprocess.PIPE
    with popen((sys.executable, *arguments), cwd=folder, env=environ, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            said, errors = process.communicate(timeout=LIMIT_S)
        except BaseException:
            process.kill()
            raise
        return subprocess.CompletedProcess(process.args, process.wait(), said, errors)


def alive(pid: int) -> bool:
    """Report whether a process runs; one that has ended and waits for its parent does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def wait_for_end(pid: int, within_s: float = LIMIT_S) -> bool:
    """Wait until a process has ended; False: it does not."""
    until = time.monotonic() + within_s
    while alive(pid):
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


def config_map(name: str, **data: str) -> dict[str, object]:
    """Return a ConfigMap with these data."""
    return {"metadata": {"name": name}, "data": data}


CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
