"""Parser of shard selectors, which are expressions (reference READ-29). Few requests have one: it is loaded late."""

from __future__ import annotations

from typing import Final

from orchtw.errors import BadRequest
from orchtw.rules.shard_selectors import NAMESPACE, UID, ShardRange, ShardSelector
from orchtw.schema.cel.faults import Fault
from orchtw.schema.cel.parser import parse
from orchtw.schema.cel.syntax import CallExpression, Expression, Literal, Name, Select
from orchtw.values.causes import go_quote

MAX_RANGES: Final = 64
"""Limit of ranges: every object is compared with each."""

_END: Final = 1 << 64
_DIGITS: Final = 16


def parse_shards(text: str) -> ShardSelector:
    """Parse calls of `shardRange` that `||` joins. Raises BadRequest (400)."""
    try:
        found = _ranges(parse(text))
    except Fault as fault:
        raise _invalid(f"CEL parse error: {fault.why}") from fault
    if len(found) > MAX_RANGES:
        raise _invalid(f"more than {MAX_RANGES} ranges")
    field = found[0][0]
    for other, _ in found:
        if other != field:
            raise _invalid(f"all shard ranges must use the same field, got {go_quote(field)} and {go_quote(other)}")
    return ShardSelector(field, tuple(each for _, each in found))


def _invalid(why: str) -> BadRequest:
    return BadRequest(f"invalid shard selector: {why}")


def _ranges(expression: Expression) -> list[tuple[str, ShardRange]]:
    """Return field and range of each call, in their order."""
    if not isinstance(expression, CallExpression):
        raise _invalid("expected shardRange() call or || operator")
    if expression.function == "_||_":
        return [each for part in expression.arguments for each in _ranges(part)]
    if expression.function != "shardRange" or expression.target is not None:
        raise _invalid(f"unsupported function {go_quote(expression.function)}; only shardRange() and || are allowed")
    return [_range(expression)]


def _range(expression: CallExpression) -> tuple[str, ShardRange]:
    arguments = expression.arguments
    if len(arguments) != 3:
        raise _invalid(f"shardRange() requires exactly 3 arguments, got {len(arguments)}")
    field = _field(arguments[0])
    if field not in (UID, NAMESPACE):
        raise _invalid(f"unsupported field path {go_quote(field)}; supported: {UID}, {NAMESPACE}")
    start, end = _bound(arguments[1], "hexStart"), _bound(arguments[2], "hexEnd")
    if start >= end:
        raise _invalid(f"shard range start {start:#018x} must be less than end {end:#018x}")
    return field, ShardRange(start, end)


def _field(expression: Expression) -> str:
    """Return the path of a chain of members of a variable."""
    members: list[str] = []
    while isinstance(expression, Select):
        members.append(expression.member)
        expression = expression.operand
    if not isinstance(expression, Name):
        raise _invalid("shardRange() first argument: expected field path (e.g. object.metadata.uid)")
    return ".".join((expression.name, *reversed(members)))


def _bound(expression: Expression, name: str) -> int:
    """Return the number of a text of `0x` and up to 16 lower-case digits, or 2^64."""
    if not isinstance(expression, Literal) or not isinstance(expression.value, str):
        raise _invalid(f"{name} must be a string literal (e.g. '0xff')")
    text = expression.value
    digits = text.removeprefix("0x")
    if digits == text:
        raise _invalid(f"{name} must have '0x' prefix, got {go_quote(text)}")
    if not digits:
        raise _invalid(f"{name}: hex value is required after '0x'")
    if len(digits) > _DIGITS + 1:
        raise _invalid(f"{name}: hex value too long ({len(digits)} chars, max {_DIGITS + 1}): {go_quote(digits)}")
    odd = next((each for each in digits if each not in "0123456789abcdef"), None)
    if odd is not None:
        raise _invalid(f"{name}: invalid hex character {go_quote(odd)} in {go_quote(text)}")
    bound = int(digits, 16)
    if bound > _END or (len(digits) > _DIGITS and bound != _END):
        why = f"17-digit hex value must be '{_END:#x}' (2^64), got {go_quote(text)}"
        raise _invalid(f"{name}: {why}")
    return bound
