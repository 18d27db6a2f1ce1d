"""Compiler of expressions to closures: each part is checked against the types inside it (reference CRD-28).

A closure takes a frame. Steps are counted where work repeats or depends on the size of values: in macros for each
element, in functions by their cost. The steps of parts that run once are counted when the expression begins.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any, Final

import attrs
import msgspec

from orchtw.schema.cel import literal_forms, operations, optional_forms, optional_values
from orchtw.schema.cel.binding import BIND, bound
from orchtw.schema.cel.code import (
    Code,
    added,
    as_many,
    as_many_as_both,
    estimates_of,
    made,
    repeated,
    types_of,
    with_steps,
)
from orchtw.schema.cel.cost import Estimate, Estimator
from orchtw.schema.cel.environment import Environment, environment
from orchtw.schema.cel.faults import CostExceeded, Failure, Fault
from orchtw.schema.cel.frames import FIRST_VARIABLE, STEPS, Frame, Run
from orchtw.schema.cel.generic import generic
from orchtw.schema.cel.library import moments, patterns
from orchtw.schema.cel.library.list_changes import ORDERED
from orchtw.schema.cel.macros import Macro
from orchtw.schema.cel.overloads import Overload, matching
from orchtw.schema.cel.parser import parse, qualified
from orchtw.schema.cel.syntax import CallExpression, Expression, Items, Literal, Message, Name, Select
from orchtw.schema.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DYN,
    INT,
    NAMED,
    NOTHING,
    NULL,
    QUALIFIED,
    STRING,
    TYPE,
    UINT,
    Type,
    has_parts,
    holds_objects,
    is_optional,
    join,
    substitute,
)
from orchtw.schema.cel.values import Unsigned, extent
from orchtw.schema.cel.worst_steps import UNBOUNDED, more_steps, with_size

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
_OWN_PLACES: Final = {"self": 0, "oldSelf": 1}
_CHECKED: Final[Mapping[str, Callable[[str], object]]] = {
    "duration": moments.duration_value,
    "timestamp": moments.timestamp_value,
    "matches": patterns.compiled,
}
"""Functions whose literal arguments are checked before they run."""
_FORMAT: Final = "format"
"""Method whose list, written out, may have elements of several types."""


class Compiled(msgspec.Struct, frozen=True):
    """An expression that is compiled; `names`: the variables that it mentions.

    `inputs`: the places of variables beside `self` and `oldSelf`, and `places` the number of all in its frame.
    `matchers`: of the patterns that are written out in it. `once`: the steps of its parts that run once.
    """

    code: Code
    once: int
    names: frozenset[str]
    places: int
    matchers: Mapping[str, Any]
    inputs: Mapping[str, int] = {}

    def frame(self, new: Any, old: Any, steps: int) -> Frame:
        """Make a frame for values of `self` and `oldSelf`, with at most so many steps."""
        return [new, old, steps, self.matchers, *[None] * (self.places - FIRST_VARIABLE)]

    def frame_of(self, values: Mapping[str, Any], steps: int) -> Frame:
        """Make a frame for values of all variables that it mentions, by name, with at most so many steps."""
        frame = self.frame(values.get("self"), values.get("oldSelf"), steps)
        for name, place in self.inputs.items():
            frame[place] = values[name]
        return frame

    def run(self, frame: Frame) -> Any:
        """Return the value. Raises Failure, CostExceeded; the frame holds the remaining steps."""
        frame[STEPS] -= self.once  # as `charge` does, without a call
        if frame[STEPS] < 0:
            raise CostExceeded
        try:
            return self.code.run(frame)
        except RecursionError:  # of a policy's variables: each may be about the one before
            raise Failure("value is nested too deep") from None


def compiled(
    source: str,
    variables: Mapping[str, Type],
    found: Environment | None = None,
    estimator: Estimator | None = None,
) -> Compiled:
    """Return the closure of an expression about variables of these types. Raises Fault.

    `found`: its environment; None: one with everything that is known, but for what only policies have. Types of
    variables may have members, or be DYN: values that tell their types themselves. `estimator`: None: that of `self`.
    """
    known = environment() if found is None else found
    compiler = _Compiler(variables, len(source), known, estimator or Estimator(variables.get("self")))
    code = compiler.code(parse(source, optionals=known.optionals))
    if compiler.shares and compiler.reads:
        code = with_steps(code, (0, UNBOUNDED))
    names = frozenset(compiler.mentioned)
    inputs = {name: place for name, place in compiler.inputs.items() if name in names}
    return Compiled(code, int(code.steps[0]), names, compiler.places, compiler.matchers, inputs)


class _Compiler:
    """Compiles the parts of one expression; the variables of macros have a place in the frame each.

    `reads`: some part of it reads a value to its end. That may be larger than the object if it `shares` its parts.
    """

    shares = reads = False

    def __init__(
        self, variables: Mapping[str, Type], characters: int, known: Environment, estimator: Estimator
    ) -> None:
        self._characters = characters
        self.known = known
        others = [name for name in variables if name not in _OWN_PLACES]
        self.inputs = {name: FIRST_VARIABLE + place for place, name in enumerate(others)}
        self._places = {**_OWN_PLACES, **self.inputs}
        self._types = dict(variables)
        self.estimator = estimator
        self._elements: dict[str, Estimate] = {}
        self.depth = FIRST_VARIABLE + len(others)
        self.places = self.depth
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
        if isinstance(part, Message):
            return literal_forms.message(self, part)
        return literal_forms.items(self, part) if isinstance(part, Items) else literal_forms.entries(self, part)

    def _literal(self, value: Any) -> Code:
        return Code(_LITERALS[type(value)], lambda frame: value, self.estimator.literal(value))

    def _name(self, part: Name) -> Code:
        found = self._variable(part.name)
        if found is not None:
            return found
        named = NAMED.get(part.name) or (QUALIFIED.get(part.name) if self.known.optionals else None)
        if named is not None:
            return Code(TYPE, lambda frame: named, self.estimator.name(part.name, TYPE))
        raise Fault(f"undeclared reference to '{part.name}' (in container '')", part.at)

    def _variable(self, name: str) -> Code | None:
        kind = self._types.get(name)
        if kind is None:
            return None
        self.mentioned.add(name)
        estimate = self._elements.get(name) or self.estimator.name(name, kind)
        place = self._places[name]
        return Code(kind, operations.variable(place), estimate, path=(place, ()))

    def _select(self, part: Select) -> Code:
        found = self._qualified(part)
        return self._select_from(self.code(part.operand), part) if found is None else found

    def _select_from(self, operand: Code, part: Select) -> Code:
        """Compile the selection of a member of a compiled operand."""
        if part.optional or is_optional(operand.type):
            return optional_forms.optional_select(self, operand, part)
        if operand.type.members is not None:
            member = operand.type.members().get(part.member)
            if member is None:
                raise Fault(f"undefined field '{part.member}'", part.at)
            return self._selected(operand, part, member.type, operations.member(operand.run, member, part.member))
        if operand.type in (DYN, NOTHING):
            return self._entry(operand, part, DYN)
        if operand.type.name == "map":
            return self._entry(operand, part, operand.type.parameters[1])
        raise Fault(f"type '{operand.type}' does not support field selection", part.at)

    def _qualified(self, part: Select) -> Code | None:
        """Return the variable or type of a name with dots, if it is the name of one."""
        name = qualified(part)
        if not name or name.partition(".")[0] in self._elements:  # a member of a macro's variable
            return None
        if (found := self._variable(name)) is not None:
            return found
        if name in QUALIFIED and self.known.optionals and name.partition(".")[0] not in self._types:
            named = QUALIFIED[name]
            return Code(TYPE, lambda frame: named, self.estimator.name(name, TYPE))
        return None

    def _entry(self, operand: Code, part: Select, kind: Type) -> Code:
        if operand.path is None:
            return self._selected(operand, part, kind, operations.entry(operand.run, part.member))
        place, keys = operand.path[0], (*operand.path[1], part.member)
        found = self._selected(operand, part, kind, operations.entry_at(place, keys))
        return msgspec.structs.replace(found, path=(place, keys))

    def _selected(self, operand: Code, part: Select, kind: Type, run: Run) -> Code:
        return made(kind, run, self.estimator.select(operand.estimate, operand.type, part.member, kind), operand)

    @staticmethod
    def as_type(code: Code, kind: Type) -> Code:
        """Return the code, in a place of the type: where that is dynamic, values have to tell their type."""
        if holds_objects(kind) or kind is NULL:
            return code
        turn = generic(code.type)
        if turn is None:
            return code
        return msgspec.structs.replace(code, type=DYN, run=operations.charged(code.run, turn, extent), path=None)

    def _call(self, part: CallExpression) -> Code:
        special = _SPECIAL.get(part.function) if part.target is None else None
        if special is not None:
            return special(self, part)
        if part.target is not None:
            return self._method(part, part.target)
        return self._plain(part, part.arguments)

    def _method(self, part: CallExpression, target: Expression) -> Code:
        """Compile a method call: a macro, a method, or a function with a dot in its name."""
        if (macro := self.known.macros.get((part.function, len(part.arguments)))) is not None:
            return self._macro(part, macro, target)
        if (form := _FORMS.get((part.function, len(part.arguments)))) is not None and self.known.optionals:
            return form(self, part, target)
        name = qualified(target)
        if self.known.bindings and (name, part.function) == BIND:
            return bound(self, part)
        if name and name not in self._types and f"{name}.{part.function}" in self.known.functions:
            function = msgspec.structs.replace(part, function=f"{name}.{part.function}", target=None)
            return self._plain(function, part.arguments)
        if part.function == _FORMAT and len(part.arguments) == 1 and isinstance(part.arguments[0], Items):
            return self._function(part, [self.code(target), literal_forms.mixed_items(self, part.arguments[0])])
        return self._plain(part, (target, *part.arguments))

    def _plain(self, part: CallExpression, arguments: Sequence[Expression]) -> Code:
        """Compile a call of a function; its literals may be checked, and patterns compiled, before it runs."""
        if self.known.checked:
            self._check_literal(part, arguments)
        if part.function in patterns.TAKING_PATTERNS and len(arguments) > 1:
            self._compile_pattern(arguments[1])
        return self._function(part, [self.code(each) for each in arguments])

    @staticmethod
    def _check_literal(part: CallExpression, arguments: Sequence[Expression]) -> None:
        check = _CHECKED.get(part.function)
        literal = arguments[-1] if arguments else None
        if check is None or not isinstance(literal, Literal) or type(literal.value) is not str:
            return
        if len(arguments) != (2 if part.function == "matches" else 1):
            return
        try:
            check(literal.value)
        except Failure as failure:
            raise Fault(f"invalid {part.function} argument", literal.at) from failure

    def _compile_pattern(self, part: Expression) -> None:
        """Compile a literal pattern; an invalid one fails when it is used."""
        if isinstance(part, Literal) and isinstance(part.value, str):
            try:
                self.matchers[part.value] = patterns.compiled(part.value)
            except Failure:
                return

    def _macro(self, part: CallExpression, macro: Macro, target: Expression) -> Code:
        """Compile bodies whose variables stand for each element in turn."""
        variables = part.arguments[: macro.variables]
        names = [each.name for each in variables if isinstance(each, Name)]
        if len(names) < len(variables):
            raise Fault("argument must be a simple name", next(e.at for e in variables if not isinstance(e, Name)))
        over = self.code(target)
        kinds = self._elements_of(over.type, part.at, macro.variables)
        place = self.depth
        roles = ("",) if macro.variables == 1 else ("place" if over.type.name == "list" else "key", "value")
        elements = [
            self.estimator.element(over.estimate, over.type, *each) for each in zip(kinds, roles, strict=True)
        ]
        bodies = self.bodies(part.arguments[macro.variables :], names, kinds, elements)
        for each, body in zip(part.arguments[macro.variables :][: macro.conditions], bodies, strict=False):
            self._require_bool([body], macro.sign, each.at)
        last = bodies[-1].type
        self.shares = self.shares or has_parts(last)
        if part.function == "sortBy" and last is not DYN and last.name not in ORDERED:
            shown = f"{over.type}.(list({last}))"
            raise Fault(f"found no matching overload for '@sortByAssociatedKeys' applied to '{shown}'", part.at)
        each_steps = added((1,), *(body.steps for body in bodies))
        run = macro.make(over.run, place, int(each_steps[0]), [body.run for body in bodies])
        kind = BOOL if macro.result is None else macro.result(kinds, last)
        sized = [(body.estimate, body.type) for body in bodies]
        estimate = self.estimator.macro(part.function, over.estimate, over.type, sized)
        steps = added((1,), over.steps, repeated(each_steps, over.type), more_steps(part.function, [over.type], ()))
        return Code(as_many(kind, over.type), run, estimate, steps)

    def bodies(
        self, parts: Sequence[Expression], names: Sequence[str], kinds: Sequence[Type], estimates: Sequence[Estimate]
    ) -> list[Code]:
        """Compile parts with more variables, in the next places of the frame."""
        depth, types, places, elements = self.depth, self._types, self._places, self._elements
        self._types = {**types, **dict(zip(names, kinds, strict=True))}
        self._places = {**places, **{name: depth + order for order, name in enumerate(names)}}
        self._elements = {**elements, **dict(zip(names, estimates, strict=True))}
        self.depth += len(names)
        self.places = max(self.places, self.depth)
        found = [self.code(each) for each in parts]
        self.depth, self._types, self._places, self._elements = depth, types, places, elements
        return found

    @staticmethod
    def _elements_of(kind: Type, at: int, count: int) -> tuple[Type, ...]:
        """Return the types of a macro's variables."""
        if kind.name in ("list", "map"):
            if count == 1:
                return (kind.parameters[0],)
            return (INT, kind.parameters[0]) if kind.name == "list" else kind.parameters
        if kind in (DYN, NOTHING):
            return (DYN,) * count
        tail = "cannot be range of a comprehension (must be list, map, or dynamic)"
        raise Fault(f"expression of type '{kind}' {tail}", at)

    @staticmethod
    def _require_bool(found: Sequence[Code], name: str, at: int) -> None:
        if any(each.type not in (BOOL, DYN) for each in found):
            shown = ", ".join(str(each.type) for each in found)
            raise Fault(f"found no matching overload for '{name}' applied to '({shown})'", at)

    def _has(self, part: CallExpression) -> Code:
        tested = part.arguments[0] if len(part.arguments) == 1 else None
        if not isinstance(tested, Select) or tested.optional:
            raise Fault("invalid argument to has() macro", part.at)
        operand = self.code(tested.operand)  # once: tests in each other would take twice the time for each level
        found = self._qualified(tested) or self._select_from(operand, tested)
        if is_optional(operand.type):
            estimate = self.estimator.junction([operand.estimate])
            run = optional_values.has(found.run)
            return msgspec.structs.replace(found, type=BOOL, run=run, estimate=estimate, path=None)
        key = tested.member
        if operand.type.members is not None:
            key = operand.type.members()[key].key
        estimate = self.estimator.junction([operand.estimate])
        run = operations.has(operand.run, key)
        return msgspec.structs.replace(found, type=BOOL, run=run, estimate=estimate, path=None)

    def _junction(self, part: CallExpression) -> Code:
        found = [self.code(each) for each in part.arguments]
        for one, other in zip(found, found[1:], strict=False):
            self._require_bool([one, other], part.function, part.at)
        make = operations.all_of if part.function == "_&&_" else operations.any_of
        return made(
            BOOL, make([each.run for each in found]), self.estimator.junction(estimates_of(found)), *found
        )

    def _not(self, part: CallExpression) -> Code:
        found = self.code(part.arguments[0])
        self._require_bool([found], part.function, part.at)
        return made(BOOL, operations.negated(found.run), self._cost(part, [found], BOOL), found)

    def _condition(self, part: CallExpression) -> Code:
        test, yes, no = (self.code(each) for each in part.arguments)
        kind = join(yes.type, no.type)
        if test.type not in (BOOL, DYN) or kind is None:
            shown = ", ".join(str(each.type) for each in (test, yes, no))
            raise Fault(f"found no matching overload for '_?_:_' applied to '({shown})'", part.at)
        runs = [self.as_type(each, kind).run for each in (yes, no)]
        if kind.parameters:
            kind = as_many_as_both(kind, yes.type, no.type)
        parts = (test, yes, no)
        estimate = self.estimator.condition(estimates_of(parts), types_of(parts))
        return made(kind, operations.condition(test.run, *runs), estimate, *parts)

    def _equality(self, part: CallExpression) -> Code:
        one, other = (self.code(each) for each in part.arguments)
        kind = join(one.type, other.type)
        if kind is None:
            shown = f"({one.type}, {other.type})"
            raise Fault(f"found no matching overload for '{part.function}' applied to '{shown}'", part.at)
        self.reads = self.reads or has_parts(kind)
        runs = [self.as_type(each, kind).run for each in (one, other)]
        run = operations.comparison(runs[0], runs[1], kind)
        estimate = self._cost(part, [one, other], BOOL)
        return made(BOOL, run if part.function == "_==_" else operations.negated(run), estimate, one, other)

    def _dynamic(self, part: CallExpression) -> Code:
        if len(part.arguments) != 1:
            return self._function(part, [self.code(each) for each in part.arguments])
        found = self.as_type(self.code(part.arguments[0]), DYN)
        return msgspec.structs.replace(found, type=DYN, estimate=self.estimator.dynamic(found.estimate))

    def _function(self, part: CallExpression, arguments: list[Code]) -> Code:
        if part.function in _INDEXES and (part.function == "_[?_]" or is_optional(arguments[0].type)):
            return optional_forms.optional_index(self, part, arguments)
        candidates = self.known.functions.get(part.function)
        if candidates is None:
            raise Fault(f"undeclared reference to '{part.function}' (in container '')", part.at)
        method = part.target is not None
        kinds = tuple(each.type for each in arguments)
        found = matching(candidates, method, kinds)
        if not found:
            first = f"{kinds[0]}." if method else ""
            shown = f"{first}({', '.join(map(str, kinds[method:]))})"
            raise Fault(f"found no matching overload for '{part.function}' applied to '{shown}'", part.at)
        self.reads = self.reads or any(map(has_parts, kinds)) and any(map(_reads_values, found))
        results = [substitute(each.result, bound) for each, bound in found]
        kind = reduce(lambda one, other: one if one == other else DYN, results)
        if kind.parameters:
            is_sum = part.function == "_+_"
            kind = as_many_as_both(kind, *kinds) if is_sum else attrs.evolve(kind, fixed=self._characters)
        literals = [each.estimate.value for each in arguments]
        kind = with_size(part.function, kind, literals)
        more = more_steps(part.function, kinds, literals)
        runs = [
            (each if _keeps(found, place) else self.as_type(each, DYN)).run for place, each in enumerate(arguments)
        ]
        estimate = self._cost(part, arguments, kind)
        if len(found) > 1 or any(each is DYN for each in kinds):
            run = operations.dispatch(part.function, [each for each, _ in found], runs)
        else:
            run = operations.function(found[0][0], runs, kinds)
        return with_steps(made(kind, run, estimate, *arguments), more)

    def _cost(self, part: CallExpression, arguments: Sequence[Code], result: Type) -> Estimate:
        method = part.target is not None
        return self.estimator.call(part.function, method, estimates_of(arguments), types_of(arguments), result)


def _reads_values(found: tuple[Overload, dict[str, Type]]) -> bool:
    return found[0].metered or found[0].cost is not None


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

_INDEXES: Final = ("_[_]", "_[?_]")
_FORMS: Final = {
    ("or", 1): optional_forms.alternative,
    ("orValue", 1): optional_forms.alternative,
    ("optMap", 2): optional_forms.mapped,
    ("optFlatMap", 2): optional_forms.mapped,
}
"""Methods of optional values that are more than functions."""
