"""Functions written for one struct each, compiled when they are first called.

A codec that walks schema nodes per object spends most of its time on dispatch. The functions written here have
dispatched once: their source names the struct's own keys. Only schema nodes flow into that source, and strings only
through `repr`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import RLock
from typing import Any

from orchtw.schema.nodes import StructSchema

_NOT_IN_NAMES = re.compile(r"\W|^(?=\d)", re.ASCII)  # of functions: structs may be called anything


class Writer:
    """Collects the source of one function."""

    def __init__(self, functions: Functions, name: str) -> None:
        self.name = name
        self._functions = functions
        self._lines: list[str] = []
        self._indent = ""

    def __call__(self, *lines: str) -> None:
        """Add lines at the current depth."""
        self._lines.extend(self._indent + line for line in lines)

    @contextmanager
    def block(self, header: str) -> Iterator[None]:
        """Add `header`; lines added within the context are indented below it."""
        self(header)
        self._indent += "    "
        yield
        self._indent = self._indent[:-4]

    def function(self, schema: StructSchema) -> str:
        """Return the name under which the source calls the function of another struct (or of its own)."""
        return self._functions.name_of(schema)

    def compiled(self, schema: StructSchema) -> Callable[..., Any]:
        """Return the compiled function of another struct."""
        return self._functions[schema]

    def constant(self, value: object) -> str:
        """Return the name under which the source finds `value`."""
        return self._functions.constant(value)

    @property
    def source(self) -> str:
        """Return all lines as source text."""
        return "\n".join(self._lines)


class Functions:
    """The functions of one purpose, one per struct, in one namespace that starts out with `given`.

    `write` puts the source of a function named `writer.name` into the writer. A struct's function is compiled
    on its first call, so that a recursive struct needs no care and unused ones cost nothing. Thread-safe.
    """

    def __init__(self, write: Callable[[StructSchema, Writer], None], given: Mapping[str, Any]) -> None:
        self._write = write
        self._namespace: dict[str, Any] = dict(given)
        self._names: dict[StructSchema, str] = {}
        self._constants: dict[int, str] = {}
        self._lock = RLock()

    def __getitem__(self, schema: StructSchema) -> Callable[..., Any]:
        """Return the compiled function of `schema`."""
        name = self.name_of(schema)
        found = self._namespace[name]
        return self._compile(schema, name) if isinstance(found, _Stub) else found

    def name_of(self, schema: StructSchema) -> str:
        """Return the global name of a struct's function, which may not be compiled yet."""
        name = self._names.get(schema)
        return self._new_name(schema) if name is None else name

    def _new_name(self, schema: StructSchema) -> str:
        with self._lock:
            name = self._names.get(schema)
            if name is None:
                name = f"{_NOT_IN_NAMES.sub('_', schema.name.rpartition('.')[2])}_{len(self._names)}"
                self._namespace[name] = _Stub(self, schema)
                self._names[schema] = name
            return name

    def constant(self, value: object) -> str:
        """Return the global name of a value that source cannot spell; the same object gets the same name."""
        with self._lock:
            name = self._constants.get(id(value))
            if name is None:
                name = self._constants[id(value)] = f"CONSTANT_{len(self._constants)}"
                self._namespace[name] = value
            return name

    def _compile(self, schema: StructSchema, name: str) -> Callable[..., Any]:
        with self._lock:
            if isinstance(self._namespace[name], _Stub):
                writer = Writer(self, name)
                self._write(schema, writer)
                exec(compile(writer.source, f"<{schema.name}>", "exec"), self._namespace)
            return self._namespace[name]  # type: ignore[no-any-return]


class _Stub:
    """Placeholder of a function until its first call."""

    def __init__(self, functions: Functions, schema: StructSchema) -> None:
        self._functions = functions
        self._schema = schema

    def __call__(self, *args: Any) -> Any:
        return self._functions[self._schema](*args)
