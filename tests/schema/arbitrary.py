"""Arbitrary JSON-shaped values that fit a schema, in whatever spelling the API accepts."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from orchtw.schema.nodes import (
    Alternative,
    EitherSchema,
    Field,
    ListSchema,
    MapSchema,
    Node,
    NodeForm,
    Scalar,
    StructSchema,
)

_WORDS = ("", "a", "web-1", "über", "\u4e2d\U0001f600", 'quo"te\\', "line\nbreak", "<&>", "k" * 130, "\x00")
_TIMES = ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05.678901+02:00", "0001-01-01T00:00:00Z", "1969-12-31T23:59:59Z")
_QUANTITIES = ("1000m", "0.5", "1024Ki", "1e3", "0", "-1.5Gi", "1.1n", "12E", "3e-7", ".5", 5, 0.25, "1000E")
_DURATIONS = ("1h0m0s", "90s", "-1.5h", "0", "100ms", "1us")
_ANY: tuple[Any, ...] = (None, True, 1, -2.5, "text", [], {}, {"b": [1, {"a": None}], "a": "x"}, [[None]])
_SETS: tuple[object, ...] = ({}, {"f:metadata": {"f:labels": {".": {}}}})
_MAX_DEPTH = 6


class Arbitrary:
    """Values out of one source of randomness; the deeper, the sparser, so that recursive types end.

    Strings and keys are among `words`, values that must be objects among `field_sets`.
    """

    def __init__(self, random: Random, words: Sequence[str] = _WORDS, field_sets: Sequence[object] = _SETS) -> None:
        self._random = random
        self._words = words
        self._depth = 0
        choice = random.choice
        self._leaves: dict[Node, Callable[[], Any]] = {
            Scalar.STRING: lambda: choice(words),
            Scalar.BOOL: lambda: choice((True, False)),
            Scalar.INT32: lambda: choice((0, 1, 127, 128, -1, 2**31 - 1, -(2**31))),
            Scalar.INT64: lambda: choice((0, 1, 300, -1, 2**63 - 1, -(2**63))),
            Scalar.DOUBLE: lambda: choice((0, 1.5, -3, 1e300, 2.0)),
            Scalar.BYTES: lambda: base64.b64encode(random.randbytes(choice((0, 1, 2, 3, 200)))).decode(),
            NodeForm.TIME: lambda: choice(_TIMES),
            NodeForm.MICRO_TIME: lambda: choice(_TIMES),
            NodeForm.DURATION: lambda: choice(_DURATIONS),
            NodeForm.QUANTITY: lambda: choice(_QUANTITIES),
            NodeForm.INT_OR_STRING: lambda: choice((0, 80, -1, "", "http", "50%")),
            NodeForm.ANY: lambda: choice(_ANY),
            NodeForm.OBJECT: lambda: choice(field_sets),
            NodeForm.STRINGS: lambda: self._several(Scalar.STRING),
        }

    def value(self, node: Node) -> Any:
        """A value of `node`, sometimes null."""
        if self._random.random() < 0.02:
            return None
        if isinstance(node, StructSchema):
            return self.struct(node)
        if isinstance(node, ListSchema):
            return self._several(node.element)
        if isinstance(node, MapSchema):
            return {self._random.choice(self._words): self.value(node.value) for _ in range(self._count())}
        if isinstance(node, EitherSchema):
            return self._either(node)
        return self._leaves[node]()

    def struct(self, schema: StructSchema) -> dict[str, Any]:
        """An object with some of its keys in any order, and perhaps one that nobody knows."""
        self._depth += 1
        share = (0.8, 0.6, 0.4)[min(self._depth, 3) - 1] if self._depth < _MAX_DEPTH else 0.0
        fields: list[Field] = [field for field in schema.keys.values() if self._random.random() < share]
        self._random.shuffle(fields)
        out = {field.name: self.value(field.node) for field in fields}
        if self._random.random() < 0.1:
            out["unknownField"] = {"x": [1]}
        self._depth -= 1
        return out

    def _several(self, element: Node) -> list[Any]:
        return [self.value(element) for _ in range(self._count())]

    def _count(self) -> int:
        return self._random.choice((0, 1, 1, 2, 3)) if self._depth < _MAX_DEPTH else 0

    def _either(self, node: EitherSchema) -> Any:
        if self._random.random() < 0.5:
            return self.struct(node.schema)
        if node.alternative is Alternative.BOOL:
            return self._random.random() < 0.5
        return self._several(Scalar.STRING if node.alternative is Alternative.STRINGS else node.schema)
