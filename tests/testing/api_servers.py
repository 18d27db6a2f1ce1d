"""The `ApiServer` that tests share, and programs that tests run as processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from orchtw.testing.api_server import ApiServer
from orchtw.testing.child_process import environment

LIMIT_S = 120.0
_shared: list[ApiServer] = []


def shared() -> ApiServer:
    """Return the server of all tests of this process, in the state after its start; it ends with the process."""
    if not _shared:
        _shared.append(ApiServer().start())
    _shared[0].reset()
    return _shared[0]


def run_python(
    *arguments: str, folder: str | os.PathLike[str], variables: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run Python with this orchtw in a folder, which is made."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    return subprocess.run(
        (sys.executable, *arguments),
        cwd=folder,
        env={**environment(), **(variables or {})},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )


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
