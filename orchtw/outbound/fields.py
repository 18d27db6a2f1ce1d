"""Fields of a configuration file, with their place for error messages."""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from orchtw.errors import ConfigError

T = TypeVar("T")


class Fields:
    """A mapping in a file. Every method raises ConfigError for a value of another kind, or one that cannot be read.

    A field that is missing or null is empty.
    """

    def __init__(self, path: Path, where: str, value: Any) -> None:
        self.path = path
        self.where = where
        if not isinstance(value, dict):
            raise self.wrong("", "must be a mapping")
        self.value: dict[str, Any] = value

    def wrong(self, name: str, why: str) -> ConfigError:
        """Return the error for a field."""
        place = ".".join(part for part in (self.where, name) if part)
        return ConfigError(f"{self.path}: {place}: {why}" if place else f"{self.path}: {why}")

    def only(self, *names: str) -> None:
        """Raise ConfigError if there are other fields than these."""
        for name in self.value:
            if name not in names:
                raise self.wrong("", f'unknown field "{name}"')

    def text(self, name: str) -> str:
        """Return a string field."""
        return self._of(name, str, "", "must be a string")

    def flag(self, name: str) -> bool:
        """Return a boolean field."""
        return self._of(name, bool, False, "must be true or false")

    def integer(self, name: str) -> int:
        """Return an integer field."""
        if isinstance(self.value.get(name), bool):
            raise self.wrong(name, "must be an integer")
        return self._of(name, int, 0, "must be an integer")

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a field that is a list of strings."""
        found = self._of(name, list, [], "must be a list")
        if not all(isinstance(each, str) for each in found):
            raise self.wrong(name, "must be a list of strings")
        return tuple(found)

    def section(self, name: str) -> Fields:
        """Return a mapping field."""
        found = self._of(name, dict, {}, "must be a mapping")
        return Fields(self.path, f"{self.where}.{name}" if self.where else name, found)

    def sections(self, name: str) -> Iterator[Fields]:
        """Yield the mappings of a list."""
        prefix = f"{self.where}.{name}" if self.where else name
        for at, each in enumerate(self._of(name, list, [], "must be a list")):
            yield Fields(self.path, f"{prefix}[{at}]", each)

    def named(self, name: str, inner: str) -> dict[str, Fields]:
        """Return the entries of a list by their names; of a repeated name the first counts."""
        found: dict[str, Fields] = {}
        for each in self.sections(name):
            found.setdefault(each.text("name"), each.section(inner))
        return found

    def file(self, name: str) -> Path | None:
        """Return a file's path; a relative one is based on the folder of this file."""
        text = self.text(name)
        return self.path.parent / text if text else None

    def content(self, name: str) -> bytes:
        """Return the bytes of `<name>-data`, or of the file that the field names; empty: neither is set."""
        if data := self.text(f"{name}-data"):
            try:
                return b64decode(data, validate=True)
            except (binascii.Error, ValueError):
                raise self.wrong(f"{name}-data", "is not base64") from None
        file = self.file(name)
        if file is None:
            return b""
        try:
            return file.read_bytes()
        except OSError as error:
            raise self.wrong(name, f"{file}: {error.strerror}") from None

    def _of(self, name: str, kind: type[T], empty: T, why: str) -> T:
        found = self.value.get(name)
        if found is None:
            return empty
        if not isinstance(found, kind):
            raise self.wrong(name, why)
        return found
