"""Resources by the names that people use, from the server's discovery documents."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

import msgspec

Get = Callable[[str], Awaitable[Any]]
"""Returns the JSON of a path, None if there is nothing."""

DEFAULT_NAMESPACE = "default"


class UnknownResource(Exception):
    """Error: the server does not serve such a resource, perhaps not yet."""


class ServedResource(msgspec.Struct, frozen=True):
    """Resource of an API; `root` is its path without namespace, such as `/apis/apps/v1`."""

    root: str
    plural: str
    namespaced: bool

    @property
    def group(self) -> str:
        """Return the API group, empty for the core group."""
        return self.root.split("/")[2] if self.root.startswith("/apis/") else ""

    def collection(self, namespace: str) -> str:
        """Return the path of a namespace's objects, or of all with an empty namespace."""
        inside = f"/namespaces/{quote(namespace)}" if namespace and self.namespaced else ""
        return f"{self.root}{inside}/{self.plural}"

    def object(self, namespace: str, name: str) -> str:
        """Return the path of an object, in namespace `default` if none is given."""
        return f"{self.collection(namespace or DEFAULT_NAMESPACE)}/{quote(name)}"


class ResourceNames:
    """Finder of resources: `pods`, `po`, `Pod`, `deployments.apps`, `deployments.v1.apps`.

    What was found is remembered: a definition that is replaced keeps its paths, except with another scope.
    """

    def __init__(self, get: Get) -> None:
        self._get = get
        self._known: dict[str, ServedResource] = {}

    async def find(self, text: str) -> ServedResource:
        """Return the resource of a text. Raises UnknownResource."""
        name = text.lower()
        if name not in self._known:
            self._known[name] = await self._search(name)
        return self._known[name]

    def forget(self) -> None:
        """Look everything up again: definitions may be others."""
        self._known.clear()

    async def _search(self, name: str) -> ServedResource:
        short, _, group = name.partition(".")
        version, _, after = group.partition(".")
        if group and (found := await self._in_group(short, group, "")):
            return found
        if after and (found := await self._in_group(short, after, version)):
            return found
        if group in ("", "v1") and (found := await self._in_version(short, "/api/v1")):
            return found
        if not group:
            listed = await self._get("/apis") or {}
            for each in listed.get("groups", ()):
                root = f"/apis/{each['preferredVersion']['groupVersion']}"
                if found := await self._in_version(short, root):
                    return found
        raise UnknownResource(f"the server has no resource {name!r}")

    async def _in_group(self, name: str, group: str, version: str) -> ServedResource | None:
        listed = await self._get(f"/apis/{quote(group)}")
        if listed is None:
            return None
        versions = [each["version"] for each in listed["versions"]]
        preferred = listed["preferredVersion"]["version"]
        for each in (version,) if version else sorted(versions, key=lambda other: other != preferred):
            if found := await self._in_version(name, f"/apis/{group}/{each}"):
                return found
        return None

    async def _in_version(self, name: str, root: str) -> ServedResource | None:
        listed = await self._get(root) or {}
        for each in listed.get("resources", ()):
            if "/" not in each["name"] and name in _names(each):
                return ServedResource(root, each["name"], each["namespaced"])
        return None


def _names(resource: Mapping[str, Any]) -> Iterator[str]:
    yield resource["name"]
    yield resource["kind"].lower()
    yield resource.get("singularName", "")
    yield from resource.get("shortNames", ())
