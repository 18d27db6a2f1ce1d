"""Forms about values that may be absent, compiled (reference CRD-28)."""

from __future__ import annotations

from collections.abc import Sequence

from orchtw.schema.cel import optional_values
from orchtw.schema.cel.code import Code, Compiling, as_many_as_both, estimates_of, made
from orchtw.schema.cel.faults import Fault
from orchtw.schema.cel.syntax import CallExpression, Expression, Name, Select
from orchtw.schema.cel.types import DYN, INT, NOTHING, Type, is_optional, join, optional_of


def optional_select(compiler: Compiling, operand: Code, part: Select) -> Code:
    """Compile the selection of a member that may be absent, or of one of a value that may be."""
    inner = operand.type.parameters[0] if is_optional(operand.type) else operand.type
    key, read, kind = part.member, None, DYN
    if inner.members is not None:
        member = inner.members().get(part.member)
        if member is None:
            raise Fault(f"undefined field '{part.member}'", part.at)
        key, read, kind = member.key, member.read, member.type
    elif inner.name == "map":
        kind = inner.parameters[1]
    elif inner not in (DYN, NOTHING):
        raise Fault(f"type '{inner}' does not support field selection", part.at)
    run = optional_values.select(operand.run, key, read)
    estimate = compiler.estimator.select(operand.estimate, inner, part.member, kind)
    return made(kind if is_optional(kind) else optional_of(kind), run, estimate, operand)


def optional_index(compiler: Compiling, part: CallExpression, arguments: Sequence[Code]) -> Code:
    """Compile an index that may lead nowhere, or into a list or map that may be absent."""
    over, key = arguments
    inner = over.type.parameters[0] if is_optional(over.type) else over.type
    if inner.name == "list" and key.type in (INT, DYN):
        kind = inner.parameters[0]
    elif inner.name == "map" and join(inner.parameters[0], key.type) is not None:
        kind = inner.parameters[1]
    elif inner in (DYN, NOTHING):
        kind = DYN
    else:
        shown = f"({over.type}, {key.type})"
        raise Fault(f"found no matching overload for '{part.function}' applied to '{shown}'", part.at)
    estimate = compiler.estimator.call("_[_]", False, estimates_of(arguments), (inner, key.type), kind)
    run = optional_values.index(over.run, key.run)
    return made(kind if is_optional(kind) else optional_of(kind), run, estimate, *arguments)


def alternative(compiler: Compiling, part: CallExpression, target: Expression) -> Code:
    """Compile `or` and `orValue`, whose argument is only computed if it is needed."""
    one, other = compiler.code(target), compiler.code(part.arguments[0])
    kind, run = _alternative_type(part, one.type, other.type), optional_values.alternative
    if part.function == "orValue":
        run = optional_values.alternative_value
        runs = run(one.run, compiler.as_type(other, kind).run)
    else:
        runs = run(one.run, other.run)
    estimate = compiler.estimator.alternative(one.estimate, other.estimate, other.type)
    if kind.parameters and not is_optional(kind):
        kind = as_many_as_both(kind, one.type.parameters[0] if is_optional(one.type) else kind, other.type)
    return made(kind, runs, estimate, one, other)


def _alternative_type(part: CallExpression, one: Type, other: Type) -> Type:
    if one is DYN:
        return DYN
    if is_optional(one):
        kind = join(one, other) if part.function == "or" else join(one.parameters[0], other)
        if kind is not None:
            return kind
    shown = f"{one}.({other})"
    raise Fault(f"found no matching overload for '{part.function}' applied to '{shown}'", part.at)


def mapped(compiler: Compiling, part: CallExpression, target: Expression) -> Code:
    """Compile `optMap` and `optFlatMap`: an expression about the value of an optional one."""
    variable, flat = part.arguments[0], part.function == "optFlatMap"
    if not isinstance(variable, Name):
        raise Fault("argument must be a simple name", variable.at)
    over = compiler.code(target)
    if not is_optional(over.type) and over.type is not DYN:
        raise Fault(f"found no matching overload for 'hasValue' applied to '{over.type}.()'", part.at)
    kind, place = DYN if over.type is DYN else over.type.parameters[0], compiler.depth
    [body] = compiler.bodies(part.arguments[1:], [variable.name], [kind], [over.estimate.as_read()])
    if flat and not is_optional(body.type) and body.type is not DYN:
        shown = f"bool, {body.type}, optional_type(dyn)"
        raise Fault(f"found no matching overload for '_?_:_' applied to '({shown})'", part.at)
    run = optional_values.mapped(over.run, place, body.run, flat=flat)
    estimate = compiler.estimator.mapped(over.estimate, body.estimate)
    return made(body.type if flat else optional_of(body.type), run, estimate, over, body)
