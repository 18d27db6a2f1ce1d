"""`kubectl` as a function that blocks: the program on the PATH, with a kubeconfig and a home directory of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

LIMIT_S = 60.0
"""Timeout of a command."""


class KubectlFailed(AssertionError):
    """Failure of a command, with its standard error; `status` is its exit status."""

    def __init__(self, arguments: tuple[str, ...], status: int, errors: str) -> None:
        super().__init__(f"kubectl {' '.join(arguments)}: exit status {status}: {errors.strip()}")
        self.status = status
        self.errors = errors


class KubectlCommand:
    """Caller of `kubectl` on one server, in a namespace if one is given: `kubectl("get", "pods")` returns text."""

    def __init__(self, kubeconfig: str | os.PathLike[str], home: str | os.PathLike[str], namespace: str = "") -> None:
        self._kubeconfig = Path(kubeconfig).absolute()
        self._home = Path(home).absolute()
        self._namespace = namespace

    def __call__(self, *arguments: str, stdin: str = "", limit_s: float = LIMIT_S) -> str:
        """Run a command and return its standard output.

        Raises KubectlFailed with its standard error, FileNotFoundError without a `kubectl` on the PATH, and
        subprocess.TimeoutExpired.
        """
        __tracebackhide__ = True
        program = find()
        if program is None:
            raise FileNotFoundError("kubectl is not on the PATH")
        named = (f"--namespace={self._namespace}",) if self._namespace else ()
        line = (program, f"--kubeconfig={self._kubeconfig}", *named, *arguments)
        done = subprocess.run(
            line, input=stdin, capture_output=True, text=True, env=environment(self._home), timeout=limit_s
        )
        if done.returncode:
            raise KubectlFailed(arguments, done.returncode, done.stderr)
        return done.stdout


def find() -> str | None:
    """Return the path of `kubectl`, or None if it is not on the PATH: skip the test then."""
    return shutil.which("kubectl")


def environment(home: Path, variables: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return an environment without the user's settings: no KUBECONFIG, proxies or cache.

    GOGC=400 saves a quarter of the CPU: a command is too short for garbage collection to pay off.
    """
    own = {"HOME": str(home), "PATH": os.environ.get("PATH", ""), "TZ": "UTC", "GOGC": "400"}
    return {**own, **(variables or {})}
