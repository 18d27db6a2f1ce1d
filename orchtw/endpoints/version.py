"""`/version`: the release whose API is served, and what serves it (reference DISC-6)."""

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
_OWN_BUILD = {
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": f"python{platform.python_version()}",
    "compiler": sys.implementation.name,
}
# Release 1.24.0 says this of itself; tools that speak its vocabulary compare and parse it.
_KUBERNETES_BUILD = {
    "gitCommit": "4ce5a8954017644c5420bae81d72b09b735c21f0",
    "gitTreeState": "clean",
    "buildDate": "2022-05-03T13:38:19Z",
    "goVersion": "go1.18.1",
    "compiler": "gc",
}


def version_of(naming: Naming) -> dict[str, str]:
    """The document, in the order of its fields.

    Under Kubernetes' names it is filled as that release fills it; else `goVersion` names the runtime in Go's place.
    """
    major, minor, _ = naming.git_version.removeprefix("v").split(".", 2)
    machine = platform.machine()
    return {
        "major": major,
        "minor": minor,
        "gitVersion": naming.git_version,
        **(_KUBERNETES_BUILD if naming.vocabulary == "kubernetes" else _OWN_BUILD),
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
