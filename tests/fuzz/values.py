"""Values that fit a schema, more or less: first as they should be, then spoilt in places."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from orchtw.schema.nodes import (
    Alternative,
    EitherSchema,
    ListSchema,
    MapSchema,
    Node,
    NodeForm,
    Scalar,
    StructSchema,
)
from tests.fuzz import words

MAX_DEPTH = 7
_FEW = (0, 1, 1, 1, 2, 3)
_FIELDS = (0, 1, 1, 2, 2, 3, 4, 6)


class Values:
    """Values out of one source of randomness; the deeper, the sparser."""

    def __init__(self, random: Random, translate: Callable[[str], str]) -> None:
        self._random = random
        self._translate = translate
        choice = random.choice
        self._leaves: dict[Node, Callable[[], Any]] = {
            Scalar.STRING: self._text,
            Scalar.BOOL: lambda: choice((True, False)),
            Scalar.INT32: lambda: choice(words.INT32),
            Scalar.INT64: lambda: choice(words.INT64),
            Scalar.DOUBLE: lambda: choice(words.DOUBLES),
            Scalar.BYTES: lambda: base64.b64encode(random.randbytes(choice((0, 1, 3, 20)))).decode(),
            NodeForm.TIME: lambda: choice(words.TIMES[: choice((5, 5, 5, len(words.TIMES)))]),
            NodeForm.MICRO_TIME: lambda: choice(words.TIMES[: choice((5, 5, 5, len(words.TIMES)))]),
            NodeForm.DURATION: lambda: choice(words.DURATIONS[: choice((6, 6, 6, len(words.DURATIONS)))]),
            NodeForm.QUANTITY: lambda: choice(words.QUANTITIES[: choice((14, 14, 14, len(words.QUANTITIES)))]),
            NodeForm.INT_OR_STRING: lambda: choice((0, 80, -1, "", "http", "50%", 2**31 - 1)),
            NodeForm.ANY: lambda: choice(({}, 1, "x", {"b": [1, {"a": None}]}, [[None]], 2.5, True)),
            NodeForm.OBJECT: self._fields,
            NodeForm.STRINGS: lambda: [self._text() for _ in range(choice(_FEW))],
        }

    def value(self, node: Node, depth: int = 1) -> Any:
        """A value of `node`."""
        if isinstance(node, StructSchema):
            return self.struct(node, depth)
        if isinstance(node, ListSchema):
            return [self.value(node.element, depth + 1) for _ in range(self._count(depth))]
        if isinstance(node, MapSchema):
            return self._map(node.value, depth)
        if isinstance(node, EitherSchema):
            return self._either(node, depth)
        return self._leaves[node]()

    def struct(self, schema: StructSchema, depth: int = 1) -> dict[str, Any]:
        """An object with a few of its fields."""
        fields = list(schema.keys.values())
        count = self._random.choice(_FIELDS) if depth < MAX_DEPTH else 0
        chosen = fields if count >= len(fields) else self._random.sample(fields, count)
        return {field.name: self.value(field.node, depth + 1) for field in chosen}

    def annotations(self) -> dict[str, str]:
        """Annotations, among them those that the server itself reads."""
        choice = self._random.choice
        return {self._key(): choice(words.ANNOTATIONS) for _ in range(choice(_FEW))}

    def labels(self) -> dict[str, str]:
        """Labels that are mostly right."""
        choice = self._random.choice
        return {choice(("app", "x/y", "tier")): choice(("a", "b", "", "web-1")) for _ in range(choice(_FEW))}

    def managed_fields(self, api_version: str) -> list[dict[str, Any]]:
        """Entries of field managers that can mostly be read."""
        choice = self._random.choice
        return [
            {
                "manager": choice(("m0", "m1", "fuzz", "", "\u00fc")),
                "operation": choice(("Apply", "Update", "Update", "x")),
                "apiVersion": choice((api_version, api_version, api_version, "v1", "nope/v1")),
                "time": choice(words.TIMES[:4]),
                "fieldsType": choice(("FieldsV1", "FieldsV1", "FieldsV1", "")),
                "fieldsV1": self._fields(),
                **choice(({}, {}, {"subresource": "status"})),
            }
            for _ in range(choice(_FEW))
        ]

    def owners(self, kinds: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
        """References to owners that are hardly ever there; `kinds` are apiVersion and kind."""
        choice = self._random.choice
        out = []
        for _ in range(choice(_FEW)):
            api_version, kind = choice((choice(kinds), ("v1", "Event"), ("nope/v1", "Nope"), ("a/b/c", "")))
            owner = {"apiVersion": api_version, "kind": kind, "name": choice(words.NAMES)}
            owner["uid"] = choice(("u1", "u2", "u3"))
            out.append(owner | choice(({}, {"controller": True}, {"blockOwnerDeletion": True})))
        return out

    def _fields(self, depth: int = 1) -> dict[str, Any]:
        """FieldsV1, more or less."""
        choice = self._random.choice
        return {
            choice(words.STEPS): self._fields(depth + 1) if depth < MAX_DEPTH else choice(({}, {}, {}, None, 1, []))
            for _ in range(choice(_FEW))
        }

    def _key(self) -> str:
        return self._translate(self._random.choice(words.KEYS))

    def _text(self) -> str:
        draw = self._random.random()
        if draw < 0.5:
            return self._translate(self._random.choice(words.MEANT))
        return self._random.choice(words.NAMES if draw < 0.8 else words.TEXTS)

    def _count(self, depth: int) -> int:
        return self._random.choice(_FEW) if depth < MAX_DEPTH else 0

    def _map(self, value: Node, depth: int) -> dict[str, Any]:
        return {self._key(): self.value(value, depth + 1) for _ in range(self._count(depth))}

    def _either(self, node: EitherSchema, depth: int) -> Any:
        if self._random.random() < 0.5:
            return self.struct(node.schema, depth)
        if node.alternative is Alternative.BOOL:
            return True
        element: Node = Scalar.STRING if node.alternative is Alternative.STRINGS else node.schema
        return [self.value(element, depth + 1) for _ in range(self._count(depth))]


def spoilt(value: Any, random: Random) -> Any:
    """`value` with one place changed; containers are changed in place."""
    holder, key = _place(value, random)
    if holder is None:
        return words.wrong(random)
    draw = random.random()
    if draw < 0.5:
        holder[key] = words.wrong(random)
    elif draw < 0.6:
        del holder[key]
    elif draw < 0.65:
        holder[key] = _nested(random)
    elif draw < 0.75 and isinstance(holder, list):
        holder += [holder[key]] * random.choice((1, 2, 50))
    elif draw < 0.85 and isinstance(holder, dict):
        holder[random.choice(("unknownField", "", "kind", "$patch", "é", "metadata"))] = holder[key]
    elif isinstance(holder[key], str):
        holder[key] = random.choice((*words.TEXTS, *words.BAD_NAMES, *words.TIMES, *words.DURATIONS))
    else:
        holder[key] = [holder[key]]
    return value


def _place(value: Any, random: Random) -> tuple[Any, Any]:
    """A container inside `value` and one of its keys; (None, None) where there is none."""
    holder, key = None, None
    while isinstance(value, dict | list) and value:
        if holder is not None and random.random() < 0.25:
            break
        holder, key = value, random.choice(list(value)) if isinstance(value, dict) else random.randrange(len(value))
        value = holder[key]
    return holder, key


def _nested(random: Random) -> Any:
    """A value as deep as parsers do not like it."""
    out: Any = words.wrong(random)
    is_list = random.random() < 0.5
    for _ in range(random.choice((20, 190, 210, 260, 900))):
        out = [out] if is_list else {"a": out}
    return out
