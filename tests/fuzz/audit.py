"""Looks at the whole server now and then: do list pages add up, is there a traceback in the log?"""

from __future__ import annotations

import re
from collections.abc import Container
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote

import orjson

from bench.http1 import Connection, Endpoint
from tests.fuzz.surface import Surface

_PAGE_ITEMS = 3
_SHOWN = 1_000
_ENTRY = re.compile(r"^(?=[IWEF]\d{4} \d\d:)", re.MULTILINE)
_CRITICAL = "F"
_FAILED = re.compile(r"request (\S+) failed: ")
_TROUBLE = ("Traceback (most recent call last)", "Unhandled ")


class Log:
    """The server's log file, read as it grows."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = 0

    @property
    def text(self) -> str:
        """Read the whole collection."""
        return self._path.read_text(errors="replace") if self._path.exists() else ""

    def trouble(self, answered: Container[str]) -> list[str]:
        """The new entries with a traceback, but for those of requests (by audit id) whose client has been told."""
        text = self.text
        new, self._read = text[self._read :], len(text)
        found = []
        for entry in _ENTRY.split(new):
            failed = _FAILED.search(entry)
            trouble = entry.startswith(_CRITICAL) or any(word in entry for word in _TROUBLE)
            if trouble and not (failed and failed[1] in answered):
                found.append(entry)
        return found


class Auditor:
    """Asks over a connection of its own."""

    def __init__(self, endpoint: Endpoint, surface: Surface) -> None:
        self._endpoint = endpoint
        self._surface = surface

    def pages(self, random: Random) -> list[str]:
        """Return the faults of a few collections' pages, which together must be the list at their revision."""
        connection = Connection(self._endpoint)
        found = []
        for resource in random.sample(self._surface.stored, 5):
            found += self._paged(connection, self._surface.collection(resource, ""))
        custom = self._surface.collection(random.choice(self._surface.customs), "")
        # A definition whose writer has hung up may still change between two requests, and its objects with it; a
        # second look tells that from a fault, which stays.
        if self._paged(connection, custom):
            found += self._paged(connection, custom)
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
        odd = [each for each in items if each not in whole["items"]][:1]
        there = [each for each in whole["items"] if each not in items][:1]
        counts = f"pages of {len(items)} objects do not add up to {len(whole['items'])}"
        return [f"{path}: {counts}: {str(odd)[:_SHOWN]} beside {str(there)[:_SHOWN]}"]

    def everything(self) -> dict[str, list[Any]]:
        """All stored objects by the path of their collection."""
        connection = Connection(self._endpoint)
        out = {}
        for resource in (*self._surface.stored, *self._surface.customs):
            path = self._surface.collection(resource, "")
            found = self._list(connection, path)
            if found is not None:
                out[path] = found["items"]
        connection.close()
        return out

    def _list(self, connection: Connection, target: str) -> Any:
        answer = connection.call(self._endpoint.request("GET", target))
        return orjson.loads(answer.content) if answer.status == 200 else None
