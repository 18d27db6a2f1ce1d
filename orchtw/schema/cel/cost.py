"""Cost of an expression for the largest values that a request has room for (reference CRD-32).

The rules are those of the current release's estimator, to the number: a definition that is accepted there must be
accepted here. What the steps of a run cost is another matter: see `compiler`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from orchtw.schema.cel.sizes import MOST_TEXT_BYTES
from orchtw.schema.cel.types import BOOL, BYTES, DOUBLE, DURATION, DYN, INT, STRING, TIMESTAMP, UINT, Type

UNBOUNDED: Final = 2**64 - 1
"""The largest size and cost; both stop there."""

READ: Final = 1
LIST: Final = 10
MAP: Final = 30
MESSAGE: Final = 40
CHECK: Final = 350_000
"""Cost of a question to an authorizer."""
PER_BYTE: Final = 0.1
PER_PATTERN_BYTE: Final = 0.25

_SCALARS: Final = frozenset({BOOL, DOUBLE, DURATION, INT, TIMESTAMP, UINT})
_TEXTS: Final = (STRING, BYTES)


class Size(msgspec.Struct, frozen=True):
    """The fewest and the most elements of a list or map, or bytes of a text."""

    least: int
    most: int

    def plus(self, other: Size) -> Size:
        """Return the size of both together."""
        return Size(_capped(self.least + other.least), _capped(self.most + other.most))

    def times(self, other: Size) -> Size:
        """Return the product of both sizes."""
        return Size(_capped(self.least * other.least), _capped(self.most * other.most))

    def union(self, other: Size) -> Size:
        """Return the size of either one."""
        return Size(min(self.least, other.least), max(self.most, other.most))


UNKNOWN: Final = Size(0, UNBOUNDED)
ONE: Final = Size(1, 1)

Entries = tuple[Size, Size]
"""The sizes of the keys and values of a map; those of the elements of a list are its values."""


class Estimate(msgspec.Struct, frozen=True):
    """The cost of a part, and what is known of its value's size.

    `path` leads through the schema of `self`, with the variable as its first step. `value` is a literal's.
    """

    cost: int
    size: Size | None = None
    entries: Entries | None = None
    path: tuple[str, ...] = ()
    value: Any = None

    def as_read(self) -> Estimate:
        """Return the estimate of a variable that stands for the value."""
        return msgspec.structs.replace(self, cost=READ)


def _capped(number: int) -> int:
    return min(number, UNBOUNDED)


def _scaled(size: int, factor: float) -> int:
    return _capped(math.ceil(size * factor))


class _Call(msgspec.Struct, frozen=True):
    """A function call: its arguments, the target of a method first, and the size of the first one's elements."""

    method: bool
    arguments: Sequence[Estimate]
    sizes: Sequence[Size]
    kinds: Sequence[Type]
    element: Size


class _Own(msgspec.Struct, frozen=True):
    """Cost of a call beside its arguments, and the size of its result."""

    cost: int
    size: Size | None = None


class Estimator:
    """Estimates the parts of one expression, whose `self` or only variable has the type `root`.

    `dynamic_bytes`: the size of the largest value without a type of its own that the root leads to.
    """

    def __init__(self, root: Type | None, dynamic_bytes: int = MOST_TEXT_BYTES) -> None:
        self._root = root
        self._dynamic_bytes = dynamic_bytes

    def literal(self, value: Any) -> Estimate:
        """Estimate a literal of an expression."""
        size = Size(len(value), len(value)) if isinstance(value, str | bytes) else ONE
        return Estimate(0, size, value=value)

    def name(self, name: str, kind: Type) -> Estimate:
        """Estimate a variable of the expression, or the name of a type."""
        return Estimate(READ, self._at((name,), kind), path=(name,))

    def element(self, over: Estimate, kind: Type, found: Type, role: str = "") -> Estimate:
        """Estimate a variable of a macro: the `value` or `place` of a list's element, the `key` or `value` of a map.

        Without a role: the only variable, which stands for a list's values and the keys of a map.
        """
        if role == "place":
            return Estimate(READ, ONE)
        is_value = kind.name == "list" or role == "value"
        path = (*over.path, "@items" if kind.name == "list" else "@values" if is_value else "@keys")
        entry = over.entries and over.entries[is_value]
        return Estimate(READ, self._at(path, found) or entry, path=path)

    def select(self, operand: Estimate, kind: Type, name: str, found: Type) -> Estimate:
        """Estimate the selection of a member."""
        path = (*operand.path, name)
        cost = operand.cost if kind is DYN else operand.cost + READ
        return Estimate(cost, self._at(path, found), path=path)

    def bound(self, value: Estimate, body: Estimate) -> Estimate:
        """Estimate an expression about a value that has a name: it is a fold over an empty list."""
        return msgspec.structs.replace(body, cost=_sum((value, body)) + LIST)

    def items(self, parts: Sequence[Estimate], kinds: Sequence[Type]) -> Estimate:
        """Estimate a list literal."""
        sizes = [self._size(*pair) for pair in zip(parts, kinds, strict=True)]
        return Estimate(_sum(parts) + LIST, Size(len(parts), len(parts)), (ONE, _any(sizes)))

    def entries(self, keys: Sequence[Estimate], values: Sequence[Estimate], kinds: Sequence[Type]) -> Estimate:
        """Estimate a map literal; `kinds` are of the keys, then of the values."""
        sizes = [self._size(*pair) for pair in zip((*keys, *values), kinds, strict=True)]
        entries = (_any(sizes[: len(keys)]), _any(sizes[len(keys) :]))
        return Estimate(_sum((*keys, *values)) + MAP, Size(len(keys), len(keys)), entries)

    def message(self, parts: Sequence[Estimate]) -> Estimate:
        """Estimate a message literal."""
        return Estimate(_sum(parts) + MESSAGE)

    def alternative(self, one: Estimate, other: Estimate, kind: Type) -> Estimate:
        """Estimate an optional value with another one, of type `kind`, in case that it is absent."""
        cost = _capped(one.cost + other.cost + 1)
        size = None if one.size is None else one.size.union(self._size(other, kind))
        return Estimate(cost, size, _either(one, other), path=one.path)

    def mapped(self, over: Estimate, body: Estimate) -> Estimate:
        """Estimate an expression that is applied to an optional value."""
        return Estimate(_capped(over.cost + 2 + body.cost), body.size, body.entries, path=body.path)

    def junction(self, parts: Sequence[Estimate]) -> Estimate:
        """Estimate `&&` and `||`, of which only the parts cost."""
        return Estimate(_sum(parts), ONE)

    def condition(self, parts: Sequence[Estimate], kinds: Sequence[Type]) -> Estimate:
        """Estimate the condition `test ? yes : no`."""
        test, yes, no = parts
        size = self._size(yes, kinds[1]).union(self._size(no, kinds[2]))
        return Estimate(_capped(test.cost + max(yes.cost, no.cost)), size, _either(yes, no))

    def dynamic(self, part: Estimate) -> Estimate:
        """Estimate `dyn()`, which only hides a type."""
        return Estimate(_capped(part.cost + 1), part.size, part.entries)

    def macro(self, name: str, over: Estimate, kind: Type, bodies: Sequence[tuple[Estimate, Type]]) -> Estimate:
        """Estimate a macro over a list or map; `bodies` are behind the variable."""
        size = self._size(over, kind)
        body = sum(each.cost for each, _ in bodies)
        start, turn = _TURNS[name, len(bodies)]
        cost = _capped(over.cost + start + size.most * (turn + body))
        if name not in _MAKING:
            return Estimate(cost, ONE)
        value = self._value(over, kind) if name in ("filter", "sortBy") else self._size(*bodies[-1])
        return Estimate(cost, size, (ONE, Size(0, value.most)))

    def call(
        self, function: str, method: bool, arguments: Sequence[Estimate], kinds: Sequence[Type], result: Type
    ) -> Estimate:
        """Estimate a call of a function, operator or method, whose target is the first argument."""
        cost = _sum(arguments)
        if function == "_[_]":
            return self._index(cost + 1, arguments[0], kinds[0], result)
        sizes = [self._size(*pair) for pair in zip(arguments, kinds, strict=True)]
        path = arguments[0].path if arguments else ()
        element = (path and self._declared((*path, "@items"))) or UNKNOWN
        own = _FUNCTIONS.get(function, _constant)(_Call(method, arguments, sizes, kinds, element))
        size = own.size or (ONE if result in _SCALARS else None)
        if function in _KEEPING:
            first = arguments[0]
            return Estimate(_capped(cost + own.cost), size or first.size, first.entries, path=first.path)
        entries = _either(*arguments) if function == "_+_" else None
        return Estimate(_capped(cost + own.cost), size, entries)

    def _index(self, cost: int, over: Estimate, kind: Type, result: Type) -> Estimate:
        path = (*over.path, "@values" if kind.name == "map" else "@items")
        return Estimate(_capped(cost), (over.entries and over.entries[1]) or self._at(path, result), path=path)

    def _value(self, over: Estimate, kind: Type) -> Size:
        """Return the size of what a macro's variable stands for."""
        element = kind.parameters[0] if kind.parameters else DYN
        return self._size(self.element(over, kind, element), element)

    def _size(self, part: Estimate, kind: Type) -> Size:
        return part.size or (ONE if kind in _SCALARS else UNKNOWN)

    def _at(self, path: tuple[str, ...], kind: Type) -> Size | None:
        """Return the size of what the schema says a path leads to, else what the type says."""
        return self._declared(path) or (ONE if kind in _SCALARS else None)

    def _declared(self, path: tuple[str, ...]) -> Size | None:
        """Return the size that the schema gives to what a path leads to.

        A path that begins behind a function's result is followed from `self`, as the release does.
        """
        found = self._root
        for step in path[1:]:
            found = None if found is None else _step(found, step)
        if found is None:
            return None
        return Size(0, self._dynamic_bytes if found is DYN else found.most)


def _step(kind: Type, step: str) -> Type | None:
    if step == "@keys":
        return kind.parameters[0] if kind.name == "map" else None
    if step in ("@items", "@values"):
        return kind.parameters[-1] if kind.parameters else None
    member = None if kind.members is None else kind.members().get(step)
    return None if member is None else member.type


def _sum(parts: Sequence[Estimate]) -> int:
    return _capped(sum(each.cost for each in parts))


def _any(sizes: Sequence[Size]) -> Size:
    """Return the size of any of several values; there may be no value."""
    return Size(min((each.least for each in sizes), default=0), max((each.most for each in sizes), default=0))


def _either(one: Estimate, other: Estimate) -> Entries | None:
    if one.entries is None or other.entries is None:
        return None
    return one.entries[0].union(other.entries[0]), one.entries[1].union(other.entries[1])


_TURNS: Final[Mapping[tuple[str, int], tuple[int, int]]] = {
    # The result is read once. An element costs: the question whether to go on, and the step without its bodies.
    ("all", 1): (1, 2 + 1),
    ("exists", 1): (1, 3 + 1),
    ("exists_one", 1): (2, 2),
    ("filter", 1): (LIST + 1, 13),
    ("map", 1): (LIST + 1, 12),
    ("map", 2): (LIST + 1, 12),
    ("existsOne", 1): (2, 2),
    ("transformList", 1): (LIST + 1, 12),
    ("transformList", 2): (LIST + 1, 12),
    ("transformMap", 1): (MAP + 1, 3),
    ("transformMap", 2): (MAP + 1, 3),
    ("transformMapEntry", 1): (MAP + 1, 2),
    ("transformMapEntry", 2): (MAP + 1, 2),
    ("sortBy", 1): (LIST + 1, 14),
}
"""Cost of a macro, and of each of its iterations, by the macro and the number of its bodies."""

_MAKING: Final = frozenset({"map", "filter", "transformList", "transformMap", "transformMapEntry", "sortBy"})
"""Macros whose results have elements."""


def _constant(call: _Call) -> _Own:
    return _Own(1)


def _among(kind: Type, kinds: Sequence[Type]) -> bool:
    return kind is DYN or kind in kinds


def _scan(factor: float = PER_BYTE) -> Callable[[_Call], _Own]:
    """Return one pass over the first argument, which comes out no longer."""
    return lambda call: _Own(_scaled(call.sizes[0].most, factor), call.sizes[0])


def _compared(call: _Call) -> _Own:
    if any(each.name in _OPAQUE for each in call.kinds):
        return _Own(1)
    return _Own(_scaled(min(each.most for each in call.sizes), PER_BYTE))


def _ordered(call: _Call) -> _Own:
    texts = _among(call.kinds[0], _TEXTS) and _among(call.kinds[1], _TEXTS)
    return _Own(max(1, _compared(call).cost)) if texts else _Own(1)


def _added(call: _Call) -> _Own:
    size = call.sizes[0].plus(call.sizes[1])
    if _among(call.kinds[0], _TEXTS) and _among(call.kinds[1], _TEXTS):
        return _Own(_scaled(size.most, PER_BYTE), size)
    return _Own(1, size if call.kinds[0].name == "list" else None)


def _in(call: _Call) -> _Own:
    return _Own(1 if call.kinds[1].name == "map" else call.sizes[1].most)


def _started(call: _Call) -> _Own:
    return _Own(_scaled(call.sizes[1].most, PER_BYTE))


def _contained(call: _Call) -> _Own:
    text, part = (_scaled(each.most, PER_BYTE) for each in call.sizes)
    return _Own(_capped(text * part))


def _matched(call: _Call) -> _Own:
    if not call.method:
        return _Own(1)
    text = _scaled(call.sizes[0].most + 1, PER_BYTE)
    return _Own(_capped(text * _scaled(call.sizes[1].most, PER_PATTERN_BYTE)))


def _found(call: _Call) -> _Own:
    return msgspec.structs.replace(_matched(call), size=Size(0, call.sizes[0].most))


def _walked(call: _Call) -> _Own:
    """Functions that look at each element of a list, or at a text."""
    kind = call.kinds[0]
    if not kind.parameters:
        return _Own(_scaled(call.sizes[0].most, PER_BYTE))
    element = 1
    if kind.parameters[0] in _TEXTS:
        element += _scaled(call.element.most, PER_BYTE)
    return _Own(_capped(call.sizes[0].most * element))


def _split(call: _Call) -> _Own:
    limit = call.arguments[2].value if len(call.arguments) > 2 else None
    text = call.sizes[0].most
    return _Own(_scaled(text, 2 * PER_BYTE), Size(0, limit if type(limit) is int and limit >= 0 else text))


def _replaced(call: _Call) -> _Own:
    text, old, new = call.sizes[:3]
    least = _replaced_size(text.least, old.most, old.most <= new.least, new.least)
    most = _replaced_size(text.most, old.least, new.most <= old.least, new.most)
    return _Own(_scaled(text.most, 2 * PER_BYTE), Size(least, most))


def _replaced_size(text: int, old: int, keeps: bool, new: int) -> int:
    """Return the length of a text in which parts of length `old` are replaced; an empty part is around every
    character.
    """
    if old == 0:
        return _capped((text + 1) * new + text)
    return text if keeps else _capped(math.ceil(text / old) * new)


def _joined(call: _Call) -> _Own:
    count = call.sizes[0]
    size = count.times(call.element)
    if len(call.sizes) > 1:
        size = size.plus(call.sizes[1].times(Size(max(count.least - 1, 0), max(count.most - 1, 0))))
    return _Own(_scaled(size.most, PER_BYTE), size)


def _converted(call: _Call) -> _Own:
    """`string(bytes)` and `bytes(string)`; other conversions take no time that counts."""
    size, limit = call.sizes[0], _SHOWN.get(call.kinds[0].name)
    if limit is not None:
        return _Own(1, Size(0, limit))
    if not _among(call.kinds[0], _TEXTS):
        return _Own(1)
    return _Own(_scaled(size.most, PER_BYTE), Size(size.least // 4, _capped(size.most * 4)))


def _read(call: _Call) -> _Own:
    """Functions that read a text and make something else of it."""
    return _Own(_scaled(call.sizes[0].most, PER_BYTE))


def _read_twice(call: _Call) -> _Own:
    return _Own(_scaled(call.sizes[0].most, 2 * PER_BYTE))


def _formatted(call: _Call) -> _Own:
    """A text with values in it: as long as both together."""
    values = call.arguments[1].entries
    size = None if values is None else call.sizes[0].plus(call.sizes[1].times(Size(0, max(values[1].most, _LONGEST))))
    return _Own(_scaled(call.sizes[0].most, PER_BYTE), size)


def _crossed(call: _Call) -> _Own:
    """Functions that compare each element of a list with each one of another."""
    return _Own(_capped(call.sizes[0].most * call.sizes[1].most))


def _passed(call: _Call) -> _Own:
    """Functions that look at each element of a list once, and make a list of them."""
    return _Own(call.sizes[0].most, Size(0, call.sizes[0].most))


def _ranged(call: _Call) -> _Own:
    count = call.arguments[0].value
    most = count if type(count) is int else UNBOUNDED
    return _Own(most, Size(0, most))


def _validated(call: _Call) -> _Own:
    return _Own(_capped(_scaled(call.sizes[-1].most, PER_BYTE) * _FORMAT_COST))


def _searched(call: _Call) -> _Own:
    """Functions of networks that may have to read a text."""
    return _Own(1 + _scaled(call.sizes[1].most, PER_BYTE)) if call.kinds[1] is STRING else _Own(1)


_LONGEST: Final = 64
"""Longest text of a value that is no text itself."""

_SHOWN: Final = {
    "bool": 5,
    "int": 20,
    "uint": 20,
    "double": 24,
    "duration": 32,
    "timestamp": 32,
    "net.IP": 39,
    "net.CIDR": 43,
}
"""Longest texts of values, by type."""

_FORMAT_COST: Final = 16
"""Cost of the longest pattern of a format."""

_OPAQUE: Final = frozenset({"net.IP", "net.CIDR", "quantity", "semver", "format", "optional_type"})
"""Types whose values are compared at once."""

_KEEPING: Final = frozenset(
    {"value", "optional.of", "optional.ofNonZeroValue", "slice", "distinct", "reverse", "sort"}
)
"""Functions whose results are, or consist of parts of, their first argument."""

_FUNCTIONS: Final[Mapping[str, Callable[[_Call], _Own]]] = {
    **dict.fromkeys(("_==_", "_!=_"), _compared),
    **dict.fromkeys(("_<_", "_<=_", "_>_", "_>=_"), _ordered),
    "_+_": _added,
    "@in": _in,
    **dict.fromkeys(("startsWith", "endsWith"), _started),
    "contains": _contained,
    "matches": _matched,
    **dict.fromkeys(("find", "findAll"), _found),
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _walked),
    **dict.fromkeys(("url", "lowerAscii", "upperAscii", "substring", "trim"), _scan()),
    "split": _split,
    "replace": _replaced,
    "join": _joined,
    **dict.fromkeys(("string", "bytes"), _converted),
    **dict.fromkeys(("sets.contains", "sets.equivalent", "sets.intersects"), _crossed),
    **dict.fromkeys(("slice", "flatten", "distinct", "reverse", "sort"), _passed),
    "lists.range": _ranged,
    **dict.fromkeys(("quantity", "isQuantity", "ip", "isIP", "cidr", "isCIDR"), _read),
    **dict.fromkeys(("semver", "isSemver"), _read),
    **dict.fromkeys(("ip.isCanonical", "strings.quote"), _read_twice),
    **dict.fromkeys(("containsIP", "containsCIDR"), _searched),
    "format": _formatted,
    "validate": _validated,
    "check": lambda call: _Own(CHECK),
}
"""The functions that do not cost 1."""
