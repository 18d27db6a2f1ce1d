"""Library of formats by name: each has a check that returns the faults of a text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import ClassVar, Final

from orchtw.schema.cel.overloads import Overload, overload
from orchtw.schema.cel.values import ABSENT, Opaque, Optional, units_of
from orchtw.schema.custom import formats
from orchtw.values import names

Check = Callable[[str], tuple[str, ...]]


class NamedFormat(Opaque, frozen=True):
    """A format, by its name."""

    type_name: ClassVar[str] = "format"

    name: str


def _prefix(check: Check) -> Check:
    """Return the check of a name's beginning: it may end with a hyphen."""
    return lambda text: check(f"{text[:-2]}a" if len(text) > 1 and text.endswith("-") else text)


def _form(name: str, why: str) -> Check:
    holds = formats.find(name)
    assert holds is not None
    return lambda text: () if holds(text) else (why,)


_CHECKS: Final[Mapping[str, Check]] = {
    "dns1123Label": names.dns_label,
    "dns1123Subdomain": names.dns_subdomain,
    "dns1035Label": names.dns_1035_label,
    "dns1123LabelPrefix": _prefix(names.dns_label),
    "dns1123SubdomainPrefix": _prefix(names.dns_subdomain),
    "dns1035LabelPrefix": _prefix(names.dns_1035_label),
    "qualifiedName": names.qualified_name,
    "labelValue": names.label_value,
    "uri": _form("uri", "invalid URI for request"),
    "uuid": _form("uuid", "does not match the UUID format"),
    "byte": _form("byte", "invalid base64"),
    "date": _form("date", "invalid date"),
    "datetime": _form("datetime", "invalid datetime"),
}


def _named(name: str) -> Optional:
    return Optional(NamedFormat(name)) if name in _CHECKS else ABSENT


def _validated(found: NamedFormat, text: str) -> Optional:
    """Return the faults of a text; absent: it has the format."""
    faults = _CHECKS[found.name](text)
    return Optional(list(faults)) if faults else ABSENT


def _functions() -> Iterator[Overload]:
    yield overload("format.named(string) -> optional_type(format)", _named, namespaced=True)
    yield overload(
        "format.validate(string) -> optional_type(list(string))", _validated, lambda _, text: 10 + units_of(text)
    )
    for name in _CHECKS:

        def constant(name: str = name) -> NamedFormat:
            return NamedFormat(name)

        yield overload(f"format.{name}() -> format", constant, namespaced=True)


FUNCTIONS: Final = tuple(_functions())
