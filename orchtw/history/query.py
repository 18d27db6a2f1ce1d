"""Query parameters of the record: filters, positions and options. Unknown and malformed ones are rejected."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

import msgspec

from orchtw.errors import BadRequest
from orchtw.history.resource import RecordedResource
from orchtw.history.ring import Record, RecordedFault, RecordedWrite
from orchtw.values.causes import go_quote
from orchtw.values.times import parse_duration, parse_time

Params = Mapping[str, Sequence[str]]

MOST_VALUES: Final = 100
"""Limit of the values of one filter."""

MOST_LIMIT: Final = 1_000_000
_DIGITS: Final = 18
_SHOWN: Final = 100
_TYPES: Final = frozenset({"ADDED", "MODIFIED", "DELETED", RecordedFault.type})

OBJECT_FILTERS: Final = ("group", "resource", "namespace", "name")
RECORD_FILTERS: Final = (*OBJECT_FILTERS, "user", "manager", "verb", "type")
_EMPTY: Final[Collection[str]] = ()


class Filters(msgspec.Struct, frozen=True, kw_only=True):
    """Wanted values by filter; without any, everything is wanted.

    `resource` holds plural names, with or without their group. `manager` is for the caller, as it may be known to the
    object alone.
    """

    resource: Collection[str] = _EMPTY
    group: Collection[str] = _EMPTY
    namespace: Collection[str] = _EMPTY
    name: Collection[str] = _EMPTY
    user: Collection[str] = _EMPTY
    manager: Collection[str] = _EMPTY
    verb: Collection[str] = _EMPTY
    type: Collection[str] = _EMPTY

    @classmethod
    def of(cls, params: Params, known: Sequence[str]) -> Filters:
        """Return the filters among query parameters; `known` are those that there may be. Raises BadRequest."""
        found = {name: frozenset(params[name]) for name in known if name in params}
        for name, values in found.items():
            if len(values) > MOST_VALUES:
                raise BadRequest(f"{name}: at most {MOST_VALUES} values are allowed")
        for value in found.get("type", frozenset()) - _TYPES:
            raise _wrong("type", value, "must be ADDED, MODIFIED, DELETED or FAULT")
        return cls(**found)

    def wants_resource(self, resource: RecordedResource) -> bool:
        """Report whether objects of a resource may be wanted."""
        return self._wants_plural(resource.group, resource.plural, resource.qualified)

    def _wants_plural(self, group: str, plural: str, qualified: str) -> bool:
        wanted = self.resource
        if wanted and plural not in wanted and qualified not in wanted:
            return False
        return not self.group or group in self.group

    def wants_object(self, namespace: str, name: str) -> bool:
        """Report whether the object of a wanted resource with these names is wanted."""
        return (not self.namespace or namespace in self.namespace) and (not self.name or name in self.name)

    def wants(self, record: Record) -> bool:
        """Report whether a record is wanted, as far as can be told without decoding the object."""
        if isinstance(record, RecordedFault):
            return self._wants_fault(record)
        origin = record.origin
        return (
            (not self.user or origin.user in self.user)
            and (not self.type or record.type in self.type)
            and (not self.verb or verb_of(record) in self.verb)
            and (not self.manager or not origin.manager or origin.manager in self.manager)
            and self.wants_resource(record.resource)
            and self.wants_object(*record.resource.names(record.key))
        )


    def _wants_fault(self, record: RecordedFault) -> bool:
        """Report whether a fault is wanted; it has no field manager."""
        fault = record.fault
        qualified = f"{fault.resource}.{fault.group}" if fault.group else fault.resource
        return (
            (not self.type or record.type in self.type)
            and (not self.user or fault.user in self.user)
            and (not self.verb or fault.verb in self.verb)
            and not self.manager
            and self._wants_plural(fault.group, fault.resource, qualified)
            and self.wants_object(fault.namespace, fault.name)
        )


def verb_of(record: RecordedWrite) -> str:
    """Return the verb of a record's request; for writes without one, the verb that does the same."""
    return record.origin.verb or {"ADDED": "create", "MODIFIED": "update", "DELETED": "delete"}[record.type]


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """Part of the record: after revision `after`, up to `upto`, and between two times in seconds; None: no limit."""

    after: int | None = None
    upto: int | None = None
    from_s: float | None = None
    until_s: float | None = None

    def includes(self, record: Record) -> bool:
        """Report whether a record is in it, `after` aside: records are read from there on."""
        return not self.past(record) and (self.from_s is None or record.time >= self.from_s)

    def past(self, record: Record) -> bool:
        """Report whether neither a record nor later ones are in it."""
        return (self.upto is not None and record.revision > self.upto) or (
            self.until_s is not None and record.time > self.until_s
        )


class RecordQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Query for records. `limit`: only the last ones, None for all. `follow`: those to come as well.

    `objects`: with the object before and after. `generation`: with the changes of `metadata.generation`.
    """

    filters: Filters
    span: Span
    limit: int | None = None
    follow: bool = False
    objects: bool = False
    generation: bool = False

    @classmethod
    def of(cls, params: Params, now_s: float) -> RecordQuery:
        """Return the query of a request at the time `now_s`. Raises BadRequest (400)."""
        check_known(params, (*RECORD_FILTERS, "since", "until", "limit", "follow", "objects", "generation"))
        after, from_s = _bound(params, "since", now_s)
        upto, until_s = _bound(params, "until", now_s)
        limit = number(params, "limit")
        if limit is not None and not 0 < limit <= MOST_LIMIT:
            raise _wrong("limit", str(limit), f"must be between 1 and {MOST_LIMIT}")
        follow = switch(params, "follow")
        if follow and "until" in params:
            raise BadRequest("until: may not be given with follow")
        return cls(
            filters=Filters.of(params, RECORD_FILTERS),
            span=Span(after=after, upto=upto, from_s=from_s, until_s=until_s),
            limit=limit,
            follow=follow,
            objects=switch(params, "objects"),
            generation=switch(params, "generation"),
        )


def check_known(params: Params, known: Collection[str]) -> None:
    """Raise BadRequest (400) for a parameter that is not known: a misspelt filter would let everything pass."""
    for name in params:
        if name not in known:
            raise BadRequest(f"unknown parameter {go_quote(name[:_SHOWN])}; known are {', '.join(sorted(known))}")


def text(params: Params, name: str) -> str:
    """Return the only value of a parameter, empty if it is missing. Raises BadRequest (400) for several."""
    values = params.get(name, ("",))
    if len(values) > 1:
        raise BadRequest(f"{name}: may be given once only")
    return values[0]


def number(params: Params, name: str) -> int | None:
    """Return a parameter that is a whole number, None if it is missing. Raises BadRequest (400)."""
    if name not in params:
        return None
    value = text(params, name)
    if not (value.isascii() and value.isdigit() and len(value) <= _DIGITS):
        raise _wrong(name, value, f"must be a number of at most {_DIGITS} digits")
    return int(value)


def switch(params: Params, name: str) -> bool:
    """Return a parameter that is true or false, false if it is missing. Raises BadRequest (400)."""
    value = text(params, name).lower()
    if value in ("1", "true") or (not value and name in params):
        return True
    if value in ("", "0", "false"):
        return False
    raise _wrong(name, value, "must be true or false")


def _bound(params: Params, name: str, now_s: float) -> tuple[int | None, float | None]:
    """Return a bound as revision or as time in seconds: digits, a time of RFC 3339, or a duration ago."""
    value = text(params, name)
    if name not in params or (value.isascii() and value.isdigit()):
        return number(params, name), None
    for read in _TIMES:
        try:
            return None, read(value, now_s)
        except (ValueError, OverflowError):
            continue
    raise _wrong(name, value, "must be a revision, a time such as 2024-05-01T12:00:00Z or a duration such as 5m")


def _of_time(value: str, now_s: float) -> float:
    seconds, microseconds = parse_time(value)
    return seconds + microseconds / 1e6


def _ago(value: str, now_s: float) -> float:
    return now_s - parse_duration(value) / 1e9


_TIMES: Final[Sequence[Callable[[str, float], float]]] = (_of_time, _ago)


def _wrong(name: str, value: str, why: str) -> BadRequest:
    return BadRequest(f"{name}: {go_quote(value[:_SHOWN])} {why}")
