"""Errors of bodies: malformed ones, and values that do not fit their schema, with their place."""

from __future__ import annotations

from typing import Any

import orjson

_SHOWN_CHARACTERS = 64  # of an offending value: enough to recognise it, too little to flood a log
_SHOWN_KEY_CHARACTERS = 253  # length of the longest label key


class MalformedBody(ValueError):
    """Body that cannot be parsed in its form."""


class SchemaError(ValueError):
    """Error about a value that cannot be read; the place is filled in on the way out, innermost part first."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._text = text
        self._place: list[str] = []

    def within(self, key: str, container: object = None, item: object = None) -> SchemaError:
        """Add one level to the place: under `key`, and there at the next index of a list or at `item` of a map."""
        if isinstance(container, list):
            self._place.append(f"[{len(container)}]")
        elif isinstance(container, dict) and item is not None:
            self.at(f"[{item}]")
        self._place.append(f".{key}")
        return self

    def at(self, place: str) -> SchemaError:
        """Add one level to the place: `place`, such as "[3]"."""
        self._place.append(shortened(place, _SHOWN_KEY_CHARACTERS))
        return self

    def __str__(self) -> str:
        place = "".join(reversed(self._place)).removeprefix(".")
        return f"{place}: {self._text}" if place else self._text


class Mismatch(SchemaError):
    """Error about a value of another type than expected."""

    def __init__(self, expected: str, value: object) -> None:
        super().__init__(f"expected {expected}, got {describe(value)}")


def describe(value: Any) -> str:
    """Describe a value for an error: `string "x"`, `number 1.5`, `boolean true`, `an object`, `a list`, `null`."""
    if value is None:
        return "null"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    kind = "boolean" if isinstance(value, bool) else "number" if isinstance(value, int | float) else "string"
    return f"{kind} {shortened(_text(value))}"


def _text(value: Any) -> str:
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError:  # an integer beyond 64 bits, a lone surrogate
        return ascii(value)


def shortened(text: str, limit: int = _SHOWN_CHARACTERS) -> str:
    """Shorten a client's text for a message."""
    return text if len(text) <= limit else text[:limit] + "..."
