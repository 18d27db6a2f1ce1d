"""Query parameters as options: texts, integers, `timeout` and `includeObject` (reference REQ-17, REQ-18, TABLE-4).

Unknown parameters are ignored. A malformed value raises BadRequest (400); a forbidden value or combination raises
Invalid (422) with a cause for each broken rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from orchtw.errors import BadRequest, Cause, Invalid
from orchtw.naming.naming import Naming
from orchtw.values.causes import go_quote
from orchtw.values.times import parse_duration

Params = Mapping[str, list[str]]
IncludeObject = Literal["Metadata", "Object", "None"]

_INCLUDED: Final[dict[str, IncludeObject]] = {
    "": "Metadata",
    "Metadata": "Metadata",
    "Object": "Object",
    "None": "None",
}


def text(params: Params, name: str) -> str:
    """Return the first value of a parameter, or an empty text without one."""
    values = params.get(name)
    return values[0] if values else ""


def integer(params: Params, name: str) -> int | None:
    """Return a parameter as a signed 64-bit integer, None if it is not given. Raises BadRequest (400)."""
    values = params.get(name)
    return parse_integer(values[0], 64) if values else None


def parse_integer(given: str, bits: int) -> int:
    """Parse a signed decimal of at most `bits` bits. Raises BadRequest (400) in the API's words."""
    digits = given[1:] if given[:1] in ("+", "-") else given
    if not (digits.isascii() and digits.isdigit()):
        raise BadRequest(f"strconv.ParseInt: parsing {go_quote(given)}: invalid syntax")
    # A long text is not converted first: that takes a time that grows with its square.
    if len(digits) > bits or not -(1 << bits - 1) <= (number := int(given)) < 1 << bits - 1:
        raise BadRequest(f"strconv.ParseInt: parsing {go_quote(given)}: value out of range")
    return number


def raise_invalid(kind: str, causes: list[Cause], naming: Naming) -> None:
    """Raise Invalid (422) of a kind of options, such as ListOptions, if there are causes (reference WRITE-17)."""
    if causes:
        raise Invalid.of(kind, naming.meta_group, "", causes)


def include_object(params: Params) -> IncludeObject:
    """Return the part of its object that each Table row includes. Raises BadRequest (400) (reference TABLE-4)."""
    value = text(params, "includeObject")
    found = _INCLUDED.get(value)
    if found is not None:
        return found
    why = f"includeObject: Invalid value: {go_quote(value)}: must be 'Metadata', 'Object', 'None', or empty"
    raise BadRequest(f"Unable to convert to Table as requested: {why}")


def request_timeout_s(params: Params) -> float | None:
    """Return the `timeout` parameter in seconds (`32s` is 32.0), None if unset or not positive (reference REQ-18).

    Raises BadRequest (400) if it is not a duration.
    """
    given = text(params, "timeout")
    if not given:
        return None
    try:
        nanoseconds = parse_duration(given)
    except ValueError:
        raise BadRequest("invalid timeout specified in the request URL") from None
    return nanoseconds / 1e9 if nanoseconds > 0 else None
