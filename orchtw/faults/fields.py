"""Strict reading of a JSON object field by field: types, ranges, and no field that is not known."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import Any, Final

from orchtw.errors import BadRequest

MOST_TEXTS: Final = 32
"""Most values of one field of a selection."""

MOST_CHARACTERS: Final = 1024
"""Most characters of one value: names are shorter, and users may be longer than names."""

_SHOWN: Final = 60


class FaultFields:
    """Fields of a JSON object, each read once. Every method raises BadRequest (400), which names the field."""

    def __init__(self, sent: dict[str, Any], known: Collection[str]) -> None:
        self._sent = sent
        for name in sent:
            if name not in known:
                raise refused(f"unknown field {shown(name)}; known are {', '.join(sorted(known))}")

    def __contains__(self, name: str) -> bool:
        return name in self._sent

    def text(self, name: str, default: str = "") -> str:
        """Return a text that is not empty, or the default."""
        if name not in self._sent:
            return default
        return _text(name, self._sent[name], empty=False)

    def texts(self, name: str, *, pattern: re.Pattern[str] | None = None, empty: bool = False) -> tuple[str, ...]:
        """Return a text, or a list of texts, as a tuple; none if the field is absent.

        Each text has to match the pattern; `empty` ones are allowed on demand.
        """
        if name not in self._sent:
            return ()
        value = self._sent[name]
        values = value if isinstance(value, list) else [value]
        if not 0 < len(values) <= MOST_TEXTS:
            raise refused(f"{name}: must be a string, or a list of 1 to {MOST_TEXTS} strings")
        texts = tuple(_text(name, each, empty=empty) for each in values)
        for each in texts:
            if pattern is not None and each and not pattern.fullmatch(each):
                raise refused(f"{name}: {shown(each)} cannot be a {name}")
        return texts

    def choice(self, name: str, choices: Collection[str], default: str = "") -> str:
        """Return one of the choices, or the default."""
        value = self.text(name, default)
        if name in self._sent and value not in choices:
            raise refused(f"{name}: {shown(value)} is not one of {', '.join(choices)}")
        return value

    def boolean(self, name: str) -> bool:
        """Return a boolean; False if the field is absent."""
        value = self._sent.get(name, False)
        if not isinstance(value, bool):
            raise refused(f"{name}: must be true or false")
        return value

    def integer(self, name: str, least: int, most: int, default: int = 0) -> int:
        """Return an integer in a range, or the default."""
        if name not in self._sent:
            return default
        value = self._sent[name]
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise refused(f"{name}: must be an integer from {least} to {most}")
        return value

    def number(self, name: str, most: float, default: float) -> float:
        """Return a number above 0, or the default."""
        if name not in self._sent:
            return default
        value = self._sent[name]
        # Not a number compares as False, as does what is out of range.
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= most:
            raise refused(f"{name}: must be a number above 0, at most {most:g}")
        return float(value)


def read_object(body: bytes) -> dict[str, Any]:
    """Return the JSON object in a body. Raises BadRequest (400) for anything else, and for repeated fields."""
    try:
        value = json.loads(body.decode(), object_pairs_hook=_without_repeats, parse_constant=_not_a_number)
    except (ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise refused(f"the body is not JSON: {why[:MOST_CHARACTERS]}") from None
    if not isinstance(value, dict):
        raise refused("the body must be a JSON object")
    return value


def refused(why: str) -> BadRequest:
    """Return the error of a rule that cannot be taken."""
    return BadRequest(f"fault rule: {why}")


def shown(text: str) -> str:
    """Return a text in quotes, cut if it is long."""
    return json.dumps(text if len(text) <= _SHOWN else text[:_SHOWN] + "…", ensure_ascii=False)


def _text(name: str, value: object, *, empty: bool) -> str:
    if not isinstance(value, str) or len(value) > MOST_CHARACTERS or not (value or empty):
        kind = "string" if empty else "non-empty string"
        raise refused(f"{name}: must be a {kind} of at most {MOST_CHARACTERS} characters")
    return value


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"field {shown(name)} is repeated")
        found[name] = value
    return found


def _not_a_number(text: str) -> None:
    raise ValueError(f"{text} is not a JSON value")
