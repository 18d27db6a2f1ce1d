"""Compiler of expressions to closures: each part is checked against the types inside it (reference CRD-28).

A closure takes a frame. Steps are counted where work repeats or depends on the size of values: in macros for each
element, in functions by their cost. The steps of parts that run once are counted when the expression begins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, reduce
from typing import Any, Final

import attrs
import msgspec

from orchtw.schema.cel import operations
from orchtw.schema.cel.cost import Estimate, Estimator
from orchtw.schema.cel.faults import Failure, Fault
from orchtw.schema.cel.frames import FIRST_VARIABLE, Frame, Run, charge
from orchtw.schema.cel.generic import generic
from orchtw.schema.cel.library import lists, moments, operators, patterns, texts, urls
from orchtw.schema.cel.macros import MACROS, Macro
from orchtw.schema.cel.overloads import Overload, matching
from orchtw.schema.cel.parser import parse
from orchtw.schema.cel.syntax import CallExpression, Entries, Expression, Items, Literal, Name, Select
from orchtw.schema.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DYN,
    INT,
    NAMED,
    NOTHING,
    NULL,
    STRING,
    TYPE,
    UINT,
    Type,
    holds_objects,
    join,
    list_of,
    map_of,
    substitute,
)
from orchtw.schema.cel.values import Unsigned, extent

_LITERALS: Final = {
    bool: BOOL,
    int: INT,
    Unsigned: UINT,
    float: DOUBLE,
    str: STRING,
    bytes: BYTES,
    type(None): NULL,
}
_KEYS: Final = (INT, UINT, BOOL, STRING, DYN)


class Code(msgspec.Struct, frozen=True):
    """A part that is compiled: its type, its closure, and the steps of one run.

    `steps` are by the number of macros around them: `(3, 5)` are three steps, and five for each byte of an element.
    `estimate`: its cost by the release's rules, for values as large as their schemas let them be.
    """

    type: Type
    run: Run
    estimate: Estimate
    steps: tuple[float, ...] = (1,)


class Compiled(msgspec.Struct, frozen=True):
    """An expression that is compiled; `names`: the variables that it mentions; `places`: those of its frame.

    `matchers`: of the patterns that are written out in it.
    """

    code: Code
    names: frozenset[str]
    places: int
    matchers: Mapping[str, Any]

    def frame(self, new: Any, old: Any, steps: int) -> Frame:
        """Make a frame for values of `self` and `oldSelf`, with at most so many steps."""
        return [new, old, steps, self.matchers, *[None] * (self.places - FIRST_VARIABLE)]

    def run(self, frame: Frame) -> Any:
        """Return the value. Raises Failure, CostExceeded; the frame holds the remaining steps."""
        charge(frame, int(self.code.steps[0]))
        return self.code.run(frame)


def compiled(source: str, variables: Mapping[str, Type]) -> Compiled:
    """Return the closure of an expression about `self` and `oldSelf`, as far as in `variables`. Raises Fault."""
    compiler = _Compiler(variables, len(source))
    code = compiler.code(parse(source))
    return Compiled(code, frozenset(compiler.mentioned), compiler.places, compiler.matchers)


@cache
def _functions() -> dict[str, tuple[Overload, ...]]:
    found: dict[str, tuple[Overload, ...]] = {}
    for module in (operators, moments, texts, lists, patterns, urls):
        for each in module.FUNCTIONS:
            found[each.name] = (*found.get(each.name, ()), each)
    return found


def _added(*steps: tuple[float, ...]) -> tuple[float, ...]:
    """Return the steps of parts that run one after the other."""
    most = max(map(len, steps))
    return tuple(sum(each[order] for each in steps if order < len(each)) for order in range(most))


def _made(kind: Type, run: Run, estimate: Estimate, *parts: Code) -> Code:
    """Make code that runs its parts once, one after the other."""
    return Code(kind, run, estimate, _added((1,), *(each.steps for each in parts)))


def _estimates(parts: Sequence[Code]) -> list[Estimate]:
    return [each.estimate for each in parts]


def _types(parts: Sequence[Code]) -> list[Type]:
    return [each.type for each in parts]


def _written_out(kind: Type, count: int) -> Type:
    """Return the type of a list or map with so many elements in any object."""
    return attrs.evolve(kind, fixed=count, per_byte=0.0)


def _sized(kind: Type, like: Type) -> Type:
    """Return the type of a list with as many elements as another."""
    return attrs.evolve(kind, fixed=like.fixed, per_byte=like.per_byte)


def _sum(kind: Type, one: Type, other: Type) -> Type:
    """Return the type of a list with the elements of two."""
    fixed, per_byte = one.fixed + other.fixed, one.per_byte + other.per_byte
    return attrs.evolve(kind, fixed=fixed, per_byte=per_byte)


def _repeated(steps: tuple[float, ...], over: Type) -> tuple[float, ...]:
    """Return the steps of a part that runs for each element."""
    fixed = tuple(each * over.fixed for each in steps)
    return _added(fixed, (0, *(each * over.per_byte for each in steps)))


class _Compiler:
    """Compiles the parts of one expression; the variables of macros have a place in the frame each."""

    def __init__(self, variables: Mapping[str, Type], characters: int) -> None:
        self._characters = characters
        self._places = {"self": 0, "oldSelf": 1}
        self._types = dict(variables)
        self._estimator = Estimator(variables.get("self"))
        self._elements: dict[str, Estimate] = {}
        self._depth = FIRST_VARIABLE
        self.places = FIRST_VARIABLE
        self.mentioned: set[str] = set()
        self.matchers: dict[str, Any] = {}

    def code(self, part: Expression) -> Code:
        """Compile an expression. Raises Fault."""
        if isinstance(part, CallExpression):
            return self._call(part)
        if isinstance(part, Select):
            return self._select(part)
        if isinstance(part, Literal):
            return self._literal(part.value)
        if isinstance(part, Name):
            return self._name(part)
        return self._items(part) if isinstance(part, Items) else self._entries(part)

    def _literal(self, value: Any) -> Code:
        return Code(_LITERALS[type(value)], lambda frame: value, self._estimator.literal(value))

    def _name(self, part: Name) -> Code:
        kind = self._types.get(part.name)
        if kind is not None:
            self.mentioned.add(part.name)
            estimate = self._elements.get(part.name) or self._estimator.name(part.name, kind)
            return Code(kind, operations.variable(self._places[part.name]), estimate)
        if part.name in NAMED:
            named = NAMED[part.name]
            return Code(TYPE, lambda frame: named, self._estimator.name(part.name, TYPE))
        raise Fault(f"undeclared reference to '{part.name}' (in container '')", part.at)

    def _select(self, part: Select) -> Code:
        operand = self.code(part.operand)
        if operand.type.members is not None:
            member = operand.type.members().get(part.member)
            if member is None:
                raise Fault(f"undefined field '{part.member}'", part.at)
            return self._selected(operand, part, member.type, operations.member(operand.run, member, part.member))
        if operand.type is DYN:
            return self._selected(operand, part, DYN, operations.entry(operand.run, part.member))
        if operand.type.name == "map":
            found = operand.type.parameters[1]
            return self._selected(operand, part, found, operations.entry(operand.run, part.member))
        raise Fault(f"type '{operand.type}' does not support field selection", part.at)

    def _selected(self, operand: Code, part: Select, kind: Type, run: Run) -> Code:
        return _made(kind, run, self._estimator.select(operand.estimate, operand.type, part.member, kind), operand)

    def _items(self, part: Items) -> Code:
        found = [self.code(each) for each in part.items]
        kind = self._common(found, part.items)
        run = operations.items([self._as(each, kind).run for each in found])
        estimate = self._estimator.items(_estimates(found), _types(found))
        return _made(_written_out(list_of(kind), len(found)), run, estimate, *found)

    def _entries(self, part: Entries) -> Code:
        keys, values = ([self.code(entry[side]) for entry in part.entries] for side in (0, 1))
        key = self._common(keys, [entry[0] for entry in part.entries])
        value = self._common(values, [entry[1] for entry in part.entries])
        if key not in (*_KEYS, NOTHING):
            raise Fault(f"unsupported map key type '{key}'", part.at)
        runs = [self._as(each, value).run for each in values]
        run = operations.entries(list(zip((each.run for each in keys), runs, strict=True)))
        kinds = _types((*keys, *values))
        estimate = self._estimator.entries(_estimates(keys), _estimates(values), kinds)
        return _made(_written_out(map_of(key, value), len(keys)), run, estimate, *keys, *values)

    @staticmethod
    def _common(found: Sequence[Code], parts: Sequence[Expression]) -> Type:
        """Return the type of all elements of what is written out: one, unless some are dynamic. Raises Fault."""
        kind = NOTHING
        for each, part in zip(found, parts, strict=True):
            joined = join(kind, each.type)
            if joined is None:
                raise Fault(f"expected type '{kind}' but found '{each.type}'", part.at)
            kind = joined
        return kind

    @staticmethod
    def _as(code: Code, kind: Type) -> Code:
        """Return the code, in a place of the type: where that is dynamic, values have to tell their type."""
        if holds_objects(kind) or kind is NULL:
            return code
        turn = generic(code.type)
        if turn is None:
            return code
        return msgspec.structs.replace(code, type=DYN, run=operations.charged(code.run, turn, extent))

    def _call(self, part: CallExpression) -> Code:
        special = _SPECIAL.get(part.function) if part.target is None else None
        if special is not None:
            return special(self, part)
        if part.target is not None and (macro := MACROS.get((part.function, len(part.arguments)))) is not None:
            return self._macro(part, macro, part.target)
        arguments = part.arguments if part.target is None else (part.target, *part.arguments)
        if part.function in patterns.TAKING_PATTERNS and len(arguments) > 1:
            self._compile_pattern(arguments[1])
        return self._function(part, [self.code(each) for each in arguments])

    def _compile_pattern(self, part: Expression) -> None:
        """Compile a literal pattern; an invalid one fails when it is used."""
        if isinstance(part, Literal) and isinstance(part.value, str):
            try:
                self.matchers[part.value] = patterns.compiled(part.value)
            except Failure:
                return

    def _macro(self, part: CallExpression, macro: Macro, target: Expression) -> Code:
        """Return a variable stands for each element in turn."""
        variable = part.arguments[0]
        if not isinstance(variable, Name):
            raise Fault("argument must be a simple name", variable.at)
        over = self.code(target)
        place, types, places, elements = self._depth, self._types, self._places, self._elements
        element = self._element(over.type, part.at)
        self._types = {**types, variable.name: element}
        self._places = {**places, variable.name: place}
        self._elements = {**elements, variable.name: self._estimator.element(over.estimate, over.type, element)}
        self._depth += 1
        self.places = max(self.places, self._depth)
        bodies = [self.code(each) for each in part.arguments[1:]]
        self._depth, self._types, self._places, self._elements = place, types, places, elements
        for each, body in zip(part.arguments[1 : 1 + macro.conditions], bodies, strict=False):
            self._require_bool([body], macro.sign, each.at)
        each_steps = _added((1,), *(body.steps for body in bodies))
        run = macro.make(over.run, place, int(each_steps[0]), [body.run for body in bodies])
        element = self._element(over.type, part.at)
        kind = BOOL if macro.result is None else list_of(macro.result(element, bodies[-1].type))
        sized = [(body.estimate, body.type) for body in bodies]
        estimate = self._estimator.macro(part.function, over.estimate, over.type, sized)
        steps = _added((1,), over.steps, _repeated(each_steps, over.type))
        return Code(_sized(kind, over.type), run, estimate, steps)

    @staticmethod
    def _element(kind: Type, at: int) -> Type:
        if kind.name in ("list", "map"):
            return kind.parameters[0]
        if kind is DYN:
            return DYN
        tail = "cannot be range of a comprehension (must be list, map, or dynamic)"
        raise Fault(f"expression of type '{kind}' {tail}", at)

    @staticmethod
    def _require_bool(found: Sequence[Code], name: str, at: int) -> None:
        if any(each.type not in (BOOL, DYN) for each in found):
            shown = ", ".join(str(each.type) for each in found)
            raise Fault(f"found no matching overload for '{name}' applied to '({shown})'", at)

    def _has(self, part: CallExpression) -> Code:
        tested = part.arguments[0] if len(part.arguments) == 1 else None
        if not isinstance(tested, Select):
            raise Fault("invalid argument to has() macro", part.at)
        found = self._select(tested)  # for its faults
        operand = self.code(tested.operand)
        key = tested.member
        if operand.type.members is not None:
            key = operand.type.members()[key].key
        estimate = self._estimator.junction([operand.estimate])
        return msgspec.structs.replace(found, type=BOOL, run=operations.has(operand.run, key), estimate=estimate)

    def _junction(self, part: CallExpression) -> Code:
        found = [self.code(each) for each in part.arguments]
        for one, other in zip(found, found[1:], strict=False):
            self._require_bool([one, other], part.function, part.at)
        make = operations.all_of if part.function == "_&&_" else operations.any_of
        return _made(
            BOOL, make([each.run for each in found]), self._estimator.junction(_estimates(found)), *found
        )

    def _not(self, part: CallExpression) -> Code:
        found = self.code(part.arguments[0])
        self._require_bool([found], part.function, part.at)
        return _made(BOOL, operations.negated(found.run), self._cost(part, [found], BOOL), found)

    def _condition(self, part: CallExpression) -> Code:
        test, yes, no = (self.code(each) for each in part.arguments)
        kind = join(yes.type, no.type)
        if test.type not in (BOOL, DYN) or kind is None:
            shown = ", ".join(str(each.type) for each in (test, yes, no))
            raise Fault(f"found no matching overload for '_?_:_' applied to '({shown})'", part.at)
        runs = [self._as(each, kind).run for each in (yes, no)]
        if kind.parameters:
            kind = _sum(kind, yes.type, no.type)
        parts = (test, yes, no)
        estimate = self._estimator.condition(_estimates(parts), _types(parts))
        return _made(kind, operations.condition(test.run, *runs), estimate, *parts)

    def _equality(self, part: CallExpression) -> Code:
        one, other = (self.code(each) for each in part.arguments)
        kind = join(one.type, other.type)
        if kind is None:
            shown = f"({one.type}, {other.type})"
            raise Fault(f"found no matching overload for '{part.function}' applied to '{shown}'", part.at)
        runs = [self._as(each, kind).run for each in (one, other)]
        run = operations.comparison(runs[0], runs[1], kind)
        estimate = self._cost(part, [one, other], BOOL)
        return _made(BOOL, run if part.function == "_==_" else operations.negated(run), estimate, one, other)

    def _dynamic(self, part: CallExpression) -> Code:
        if len(part.arguments) != 1:
            return self._function(part, [self.code(each) for each in part.arguments])
        found = self._as(self.code(part.arguments[0]), DYN)
        return msgspec.structs.replace(found, type=DYN, estimate=self._estimator.dynamic(found.estimate))

    def _function(self, part: CallExpression, arguments: list[Code]) -> Code:
        candidates = _functions().get(part.function)
        if candidates is None:
            raise Fault(f"undeclared reference to '{part.function}' (in container '')", part.at)
        method = part.target is not None
        kinds = tuple(each.type for each in arguments)
        found = matching(candidates, method, kinds)
        if not found:
            first = f"{kinds[0]}." if method else ""
            shown = f"{first}({', '.join(map(str, kinds[method:]))})"
            raise Fault(f"found no matching overload for '{part.function}' applied to '{shown}'", part.at)
        results = [substitute(each.result, bound) for each, bound in found]
        kind = reduce(lambda one, other: one if one == other else DYN, results)
        if kind.parameters:
            kind = _sum(kind, *kinds) if part.function == "_+_" else attrs.evolve(kind, fixed=self._characters)
        runs = [(each if _keeps(found, place) else self._as(each, DYN)).run for place, each in enumerate(arguments)]
        estimate = self._cost(part, arguments, kind)
        if len(found) > 1 or any(each is DYN for each in kinds):
            run = operations.dispatch(part.function, [each for each, _ in found], runs)
            return _made(kind, run, estimate, *arguments)
        return _made(kind, operations.function(found[0][0], runs, kinds), estimate, *arguments)

    def _cost(self, part: CallExpression, arguments: Sequence[Code], result: Type) -> Estimate:
        method = part.target is not None
        return self._estimator.call(part.function, method, _estimates(arguments), _types(arguments), result)


def _keeps(found: Sequence[tuple[Overload, dict[str, Type]]], place: int) -> bool:
    """Report whether an argument may keep its type: its type variables do not stand for dynamic ones."""
    if len(found) > 1:
        return False
    each, bound = found[0]
    return not any(name.isupper() and bound.get(name) is DYN for name in _variables(each.parameters[place]))


def _variables(kind: Type) -> list[str]:
    return [kind.name, *(name for each in kind.parameters for name in _variables(each))]


_SPECIAL: Final = {
    "has": _Compiler._has,
    "_&&_": _Compiler._junction,
    "_||_": _Compiler._junction,
    "!_": _Compiler._not,
    "_?_:_": _Compiler._condition,
    "_==_": _Compiler._equality,
    "_!=_": _Compiler._equality,
    "dyn": _Compiler._dynamic,
}
