"""`/version`: the release whose API is served, and what serves it (supplement C1)."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterable

import orjson

from orchtw.naming import Naming
from orchtw.request import Request, Response

PATH = "/version"
_MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}
# A released package is built from a tagged, clean tree; it does not record which, nor when.
_COMMIT, _TREE_STATE, _BUILD_DATE = "", "clean", "1970-01-01T00:00:00Z"


def version_of(naming: Naming) -> dict[str, str]:
    """The document, in the order of its fields; `goVersion` names the runtime that stands in Go's place."""
    major, minor, _ = naming.git_version.removeprefix("v").split(".", 2)
    machine = platform.machine()
    return {
        "major": major,
        "minor": minor,
        "gitVersion": naming.git_version,
        "gitCommit": _COMMIT,
        "gitTreeState": _TREE_STATE,
        "buildDate": _BUILD_DATE,
        "goVersion": f"python{platform.python_version()}",
        "compiler": sys.implementation.name,
        "platform": f"{sys.platform}/{_MACHINES.get(machine, machine)}",
    }


class Version:
    """Answers `/version`, always in indented JSON."""

    methods = frozenset({"GET"})

    def __init__(self, naming: Naming) -> None:
        self._body = orjson.dumps(version_of(naming), option=orjson.OPT_INDENT_2)

    def paths(self) -> Iterable[str]:
        """The one path."""
        return (PATH,)

    def aliases(self) -> Iterable[tuple[str, str]]:
        """The path with a slash behind it."""
        return ((f"{PATH}/", PATH),)

    async def handle(self, request: Request, path: str) -> Response:
        """The document."""
        return Response(content_type="application/json", body=self._body)
