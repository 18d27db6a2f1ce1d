"""Functions for the parts of a structural schema, written and compiled when a value first comes to them.

A part is told by its place in the schema. The schema itself is not kept: it is parsed again for those who need it, of
whom there are few after the first objects. Only names go from it into the source, and those through `repr`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from threading import RLock
from typing import Any, Final

import orjson

from orchtw.schema.custom.keywords import Schema

Place = tuple[str | int, ...]
"""The steps from the root of a schema to a part."""

_KEPT: Final = 4  # parsed schemas: those whose parts are being compiled


@lru_cache(maxsize=_KEPT)
def parsed(source: bytes) -> Schema:
    """A schema's JSON as value, which nobody changes."""
    found: Schema = orjson.loads(source)
    return found


def part_at(schema: Any, place: Place) -> Any:
    """The part at a place."""
    for step in place:
        schema = schema[step]
    return schema


class Source:
    """Collects the lines of one function."""

    def __init__(self, parts: Parts, name: str, place: Place) -> None:
        self.name = name
        self.place = place
        self._parts = parts
        self._lines: list[str] = []
        self._indent = ""

    def __call__(self, *lines: str) -> None:
        """Add lines at the current depth."""
        self._lines.extend(self._indent + line for line in lines)

    @contextmanager
    def block(self, header: str) -> Iterator[None]:
        """Add `header`; what is added within stands below it."""
        self(header)
        self._indent += " "
        yield
        self._indent = self._indent[:-1]

    def part(self, *steps: str | int) -> str:
        """The name of the function of a part below this one."""
        return self._parts.name_of((*self.place, *steps))

    def constant(self, value: object) -> str:
        """The name under which the source finds `value`."""
        return self._parts.constant(value)

    @property
    def text(self) -> str:
        """All lines."""
        return "\n".join(self._lines)


Write = Callable[[Schema, Source], None]


class Parts:
    """The functions of one purpose for the parts of one schema, in one namespace that starts out with `given`.

    `write` puts the source of a part's function into the collector. Threads may ask at once.
    """

    def __init__(self, source: bytes, write: Write, given: Mapping[str, Any]) -> None:
        self._source = source
        self._write = write
        self._namespace: dict[str, Any] = dict(given)
        self._names: dict[Place, str] = {}
        self._lock = RLock()

    def function(self, place: Place) -> Callable[..., Any]:
        """The compiled function of a part."""
        name = self.name_of(place)
        with self._lock:
            if isinstance(self._namespace[name], _Stub):
                source = Source(self, name, place)
                self._write(part_at(parsed(self._source), place), source)
                exec(compile(source.text, "<schema>", "exec", optimize=2), self._namespace)
            return self._namespace[name]  # type: ignore[no-any-return]

    def name_of(self, place: Place) -> str:
        """The global name of a part's function, which may not be compiled yet."""
        with self._lock:
            name = self._names.get(place)
            if name is None:
                name = self._names[place] = f"p{len(self._names)}"
                self._namespace[name] = _Stub(self, place)
            return name

    def constant(self, value: object) -> str:
        """The global name of a value that source cannot spell."""
        with self._lock:
            name = f"c{len(self._namespace)}"
            self._namespace[name] = value
            return name


class _Stub:
    """Stands for a function until its first call."""

    __slots__ = ("_parts", "_place")

    def __init__(self, parts: Parts, place: Place) -> None:
        self._parts = parts
        self._place = place

    def __call__(self, *args: Any) -> Any:
        return self._parts.function(self._place)(*args)
