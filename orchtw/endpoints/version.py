"""`/version`: the Kubernetes release that is reported, and the build that serves it (reference DISC-6)."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import orjson

from orchtw import __version__
from orchtw.config.releases import FIRST, Release
from orchtw.request import Request, Response
from orchtw.wire.json_values import loads

PATH = "/version"
_MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}
_NAMES_EMULATION: Release = (1, 33)
_NO_COMMIT = "0" * 40
_PACKAGE = Path(__file__).resolve().parent.parent


def _build() -> dict[str, str]:
    """Return the build's fields from `build.json`, or for a checkout without it those of its commit."""
    try:
        build = loads((_PACKAGE / "build.json").read_bytes())
    except OSError:
        build = {"commit": _checked_out(_PACKAGE.parent / ".git"), "clean": False, "seconds": 0}
    return {
        "gitCommit": build["commit"],
        "gitTreeState": "clean" if build["clean"] else "dirty",
        "buildDate": datetime.fromtimestamp(build["seconds"], UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "goVersion": f"python{platform.python_version()}",
        "compiler": f"orchtw {__version__}",
    }


def _checked_out(repository: Path) -> str:
    """Return the commit of a checkout, or zeros if it cannot be read."""
    try:
        kind, _, place = (repository / "HEAD").read_text().strip().rpartition(" ")
        if not kind or (repository / place).exists():
            return (repository / place).read_text().strip() if kind else place
        packed = (line.rpartition(" ") for line in (repository / "packed-refs").read_text().splitlines())
        return next((commit for commit, _, name in packed if name == place), _NO_COMMIT)
    except OSError:
        return _NO_COMMIT


def version_of(git_version: str, emulated: Release | None = None) -> dict[str, str]:
    """Return the version document of a release such as `v1.24.0`, its fields in kube-apiserver's order.

    `emulated`: the emulated release, which releases since 1.33 name. The fields of the build are this project's:
    `goVersion` is the Python version, `compiler` the project and its version.
    """
    major, minor, _ = git_version.removeprefix("v").split(".", 2)
    machine = platform.machine()
    return {
        "major": major,
        "minor": minor,
        **_emulation((int(major), int(minor)), emulated),
        "gitVersion": git_version,
        **_build(),
        "platform": f"{sys.platform}/{_MACHINES.get(machine, machine)}",
    }


def _emulation(reported: Release, emulated: Release | None) -> dict[str, str]:
    """Return the emulated release, at most the reported one, and the oldest that it is compatible with.

    Releases before 1.33 do not name them (reference DISC-17).
    """
    if emulated is None or reported < _NAMES_EMULATION:
        return {}
    major, minor = min(reported, emulated)
    oldest = max(FIRST, (major, minor - 1))
    return {
        "emulationMajor": str(major),
        "emulationMinor": str(minor),
        "minCompatibilityMajor": str(oldest[0]),
        "minCompatibilityMinor": str(oldest[1]),
    }


class Version:
    """Endpoint of `/version`, always in indented JSON."""

    methods = frozenset({"GET"})

    def __init__(self, git_version: str, emulated: Release | None = None) -> None:
        self._body = orjson.dumps(version_of(git_version, emulated), option=orjson.OPT_INDENT_2)

    def paths(self) -> Iterable[str]:
        """Return the path of the version document."""
        return (PATH,)

    def aliases(self) -> Iterable[tuple[str, str]]:
        """Return the path with a trailing slash."""
        return ((f"{PATH}/", PATH),)

    async def handle(self, request: Request, path: str) -> Response:
        """Return the version document as JSON."""
        return Response(content_type="application/json", body=self._body)
