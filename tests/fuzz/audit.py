"""Looks at the whole server now and then: do list pages add up, is there a traceback in the log?"""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote

import orjson

from bench.http1 import Connection, Endpoint
from tests.fuzz.surface import Surface

_PAGE_ITEMS = 3
_TROUBLE = ("Traceback (most recent call last)", "Unhandled Error", "Unhandled error")


class Log:
    """The server's log file, read as it grows."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = 0

    @property
    def text(self) -> str:
        """All of it."""
        return self._path.read_text(errors="replace") if self._path.exists() else ""

    def trouble(self) -> str:
        """The new part from its first traceback on; empty if there is none."""
        text = self.text
        new, self._read = text[self._read :], len(text)
        starts = [at for word in _TROUBLE if (at := new.find(word)) >= 0]
        return new[max(0, min(starts) - 300) : min(starts) + 3000] if starts else ""


class Auditor:
    """Asks over a connection of its own."""

    def __init__(self, endpoint: Endpoint, surface: Surface) -> None:
        self._endpoint = endpoint
        self._surface = surface

    def pages(self, random: Random) -> list[str]:
        """What is wrong with the pages of a few collections: together they are the list at their revision."""
        stored = [each for each in self._surface.resources if each.storage_version]
        connection = Connection(self._endpoint)
        found = []
        for resource in random.sample(stored, 5):
            found += self._paged(connection, self._surface.collection(resource, ""))
        connection.close()
        return found

    def _paged(self, connection: Connection, path: str) -> list[str]:
        first = self._list(connection, f"{path}?limit={_PAGE_ITEMS}")
        if first is None:
            return []
        items, page = list(first["items"]), first
        while token := page["metadata"].get("continue"):
            following = self._list(connection, f"{path}?limit={_PAGE_ITEMS}&continue={quote(token)}")
            if following is None:
                return [f"{path}: a page is missing"]
            items += following["items"]
            page = following
        version = first["metadata"]["resourceVersion"]
        whole = self._list(connection, f"{path}?resourceVersion={version}&resourceVersionMatch=Exact")
        if whole is None or whole["items"] == items:
            return []
        return [f"{path}: pages of {len(items)} objects do not add up to {len(whole['items'])}"]

    def everything(self) -> dict[str, list[Any]]:
        """All stored objects by the path of their collection."""
        connection = Connection(self._endpoint)
        out = {}
        for resource in self._surface.resources:
            if resource.storage_version:
                path = self._surface.collection(resource, "")
                found = self._list(connection, path)
                if found is not None:
                    out[path] = found["items"]
        connection.close()
        return out

    def _list(self, connection: Connection, target: str) -> Any:
        answer = connection.call(self._endpoint.request("GET", target))
        return orjson.loads(answer.content) if answer.status == 200 else None
