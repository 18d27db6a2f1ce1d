"""Functions for the parts of a structural schema, written and compiled when a value first comes to them.

Parts that say the same share a function, wherever they are. The schema itself is not kept: it is parsed again where
it is needed, which is rare after the first objects. Only names, patterns and numbers go from it into the source, and
those through `repr`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from hashlib import blake2b
from threading import RLock
from typing import Any, Final
from weakref import ref

import orjson

from orchtw.schema.custom.extensions import Schema
from orchtw.wire.json_values import loads

Place = tuple[str | int, ...]
"""The steps from the root of a schema to a part."""

_KEPT: Final = 4  # parsed schemas: those whose parts are being compiled

_LINES_AT_ONCE: Final = 500
"""Most lines compiled for a value, some 10 ms: of a schema of thousands of parts later values need the others."""


class Unsure(Exception):
    """A function cannot tell: the part is of a kind too rare for functions, or not compiled yet."""


@lru_cache(maxsize=_KEPT)
def parsed(source: bytes) -> Schema:
    """Return a schema's JSON as value, which nobody changes."""
    found: Schema = loads(source)
    return found


def part_at(schema: Any, place: Place) -> Any:
    """Return the part at a place."""
    for step in place:
        schema = schema[step]
    return schema


class FunctionSource:
    """Collects the lines of one function."""

    def __init__(self, parts: SchemaParts, name: str, place: Place) -> None:
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
        """Add `header`; what is added within stands below it. With nothing within the header goes too."""
        self(header)
        before, self._indent = self.length, self._indent + " "
        yield
        self._indent = self._indent[:-1]
        if self.length == before:
            self._lines.pop()

    def part(self, schema: Schema, *steps: str | int) -> str:
        """Return the name of the function of a part that is these steps below this one."""
        return self._parts.name_of(schema, (*self.place, *steps))

    def constant(self, value: object) -> str:
        """Return the name under which the source finds `value`."""
        return self._parts.constant(value)

    @property
    def length(self) -> int:
        """Return the number of lines."""
        return len(self._lines)

    @property
    def text(self) -> str:
        """Return all lines as source text."""
        return "\n".join(self._lines)


Write = Callable[[Schema, FunctionSource], None]


class SchemaParts:
    """The functions of one purpose for the parts of one schema, in one namespace that starts out with `given`.

    `write` puts the source of a part's function into the collector. Threads may ask at once. Calling them is calling
    the function of the whole; all of them may raise Unsure. Before that `begin` is called.
    """

    def __init__(
        self, source: bytes, write: Write, given: Mapping[str, Any], begin: Callable[[], object] = lambda: None
    ) -> None:
        self._begin = begin
        self._source = source
        self._write = write
        self._namespace: dict[str, Any] = dict(given)
        self._names: dict[bytes, str] = {}
        self._lock = RLock()
        self._lines_left = 0
        self._root: Callable[..., Any] = _Stub(self, "root", ())
        self._namespace["root"] = self._root

    def __call__(self, *args: Any) -> Any:
        if isinstance(self._root, _Stub):
            self._root = self.compiled("root", ())
        self._lines_left = _LINES_AT_ONCE
        self._begin()
        return self._root(*args)

    def __del__(self) -> None:
        self._namespace.clear()  # functions and the namespace that they are in hold each other

    def compiled(self, name: str, place: Place) -> Callable[..., Any]:
        """Return the function of that name, compiled from the part at a place. Raises Unsure after many others."""
        with self._lock:
            if isinstance(self._namespace[name], _Stub):
                if self._lines_left < 0:
                    raise Unsure
                source = FunctionSource(self, name, place)
                self._write(part_at(parsed(self._source), place), source)
                self._lines_left -= source.length
                exec(compile(source.text, "<schema>", "exec", optimize=2), self._namespace)
            return self._namespace[name]  # type: ignore[no-any-return]

    def name_of(self, schema: Schema, place: Place) -> str:
        """Return the global name of the function of the part at a place, which may not be compiled yet."""
        key = blake2b(orjson.dumps(schema), digest_size=16).digest()
        with self._lock:
            name = self._names.get(key)
            if name is None:
                name = self._names[key] = f"p{len(self._names)}"
                self._namespace[name] = _Stub(self, name, place)
            return name

    def constant(self, value: object) -> str:
        """Return the global name of a value that source cannot spell."""
        with self._lock:
            name = f"c{len(self._namespace)}"
            self._namespace[name] = value
            return name


class _Stub:
    """Stands for a function until its first call."""

    __slots__ = ("_name", "_parts", "_place")

    def __init__(self, parts: SchemaParts, name: str, place: Place) -> None:
        self._parts = ref(parts)  # it is there while somebody calls
        self._name = name
        self._place = place

    def __call__(self, *args: Any) -> Any:
        parts = self._parts()
        assert parts is not None
        return parts.compiled(self._name, self._place)(*args)
