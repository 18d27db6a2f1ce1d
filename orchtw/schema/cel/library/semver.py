"""Library functions of semantic versions."""

from __future__ import annotations

import re
from typing import ClassVar, Final

from orchtw.schema.cel.faults import Failure
from orchtw.schema.cel.overloads import overload
from orchtw.schema.cel.values import LARGEST_UNSIGNED, Opaque
from orchtw.values.semantic_versions import LONGEST, VERSION, order_of

_CORE_END: Final = re.compile(r"[-+]")


class Semver(Opaque, frozen=True):
    """A version: its numbers, and the parts of its pre-release. Build metadata do not count."""

    type_name: ClassVar[str] = "semver"

    numbers: tuple[int, int, int]
    prerelease: tuple[str, ...]

    def order(self) -> tuple[object, ...]:
        """Return a key that sorts versions: a pre-release comes before its release, a number before a text."""
        return order_of(self.numbers, self.prerelease)


def _parsed(text: str) -> Semver:
    match = VERSION.fullmatch(text) if len(text) <= LONGEST else None
    if match is None:
        raise Failure(_why(text))
    major, minor, patch = map(int, match.groups()[:3])
    if max(major, minor, patch) > LARGEST_UNSIGNED:
        raise Failure("Invalid character(s) found in version number")
    return Semver((major, minor, patch), tuple((match[4] or "").split(".")) if match[4] else ())


def _why(text: str) -> str:
    if not text:
        return "Version string empty"
    if _CORE_END.split(text)[0].count(".") < 2:
        return "No Major.Minor.Patch elements found"
    return f'Invalid character(s) found in version "{text[:LONGEST]}"'


def _normalized(text: str) -> str:
    """Return the version of a tolerant text: a `v` before it, missing numbers and leading zeros are forgiven."""
    text = text[:1].replace("v", "") + text[1:]
    end = match.start() if (match := _CORE_END.search(text)) else len(text)
    parts = [part.lstrip("0") or "0" if part.isdecimal() else part for part in text[:end].split(".", 2)]
    if end < len(text) and len(parts) < 3:
        return text  # a short version has no pre-release
    return ".".join(parts + ["0"] * (3 - len(parts))) + text[end:]


def _parse(text: str, normalize: bool = False) -> Semver:
    return _parsed(_normalized(text) if normalize else text)


def _is_semver(text: str, normalize: bool = False) -> bool:
    try:
        _parse(text, normalize)
    except Failure:
        return False
    return True


def _compared(one: Semver, other: Semver) -> int:
    left, right = one.order(), other.order()
    return (left > right) - (left < right)


def _cost(text: str, normalize: bool = False) -> int:
    return 5 + len(text) // 4


FUNCTIONS: Final = (
    overload("semver(string) -> semver", _parse, _cost),
    overload("semver(string, bool) -> semver", _parse, _cost),
    overload("isSemver(string) -> bool", _is_semver, _cost),
    overload("isSemver(string, bool) -> bool", _is_semver, _cost),
    overload("semver.major() -> int", lambda found: found.numbers[0]),
    overload("semver.minor() -> int", lambda found: found.numbers[1]),
    overload("semver.patch() -> int", lambda found: found.numbers[2]),
    overload("semver.isGreaterThan(semver) -> bool", lambda one, other: _compared(one, other) > 0),
    overload("semver.isLessThan(semver) -> bool", lambda one, other: _compared(one, other) < 0),
    overload("semver.compareTo(semver) -> int", _compared),
)
