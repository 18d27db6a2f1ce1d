"""Discovery of plugins by the entry points of installed packages (reference EXT-1, EXT-3, EXT-4)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import metadata
from typing import Any, Final, TypeVar

import attrs
import msgspec

from orchtw.flags.flag import Flag
from orchtw.plugins.records import RECORDS, Plugin

_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9.-]{0,62}", re.ASCII)


class EntryPoint(msgspec.Struct, frozen=True):
    """An entry point in a package's metadata; `package` is the package's name and version."""

    group: str
    name: str
    value: str
    package: str

    def __str__(self) -> str:
        return f"plugin {self.name} of {self.group} ({self.package})"


Record = TypeVar("Record", bound=Plugin)


@attrs.frozen(slots=True)
class Plugins:
    """Plugins of a set of entry points; `problems` has a line for each that cannot be used."""

    entry_points: tuple[EntryPoint, ...] = ()
    problems: tuple[str, ...] = ()
    _records: Mapping[tuple[str, str], Plugin] = attrs.field(factory=dict)
    _given: Mapping[str, Any] = attrs.field(factory=dict)

    def of(self, record: type[Record]) -> dict[str, Record]:
        """Return the plugins of one type of record, by name."""
        return {name: found for (_, name), found in self._records.items() if isinstance(found, record)}

    @classmethod
    def of_records(cls, records: Mapping[str, Plugin]) -> Plugins:
        """Return plugins of records by name, without entry points, for tests of a plugin in an in-process server."""
        groups = {record: group for group, record in RECORDS.items()}
        return cls(records={(groups[type(each)], name): each for name, each in records.items()})

    @property
    def flags(self) -> tuple[Flag, ...]:
        """Return the flags of all plugins."""
        return tuple(flag for record in self._records.values() for flag in record.flags)

    @property
    def values(self) -> Mapping[str, Any]:
        """Return the values of all plugins' flags, by flag name."""
        return {flag.name: self._given.get(flag.name, flag.default) for flag in self.flags}

    def with_values(self, given: Mapping[str, Any]) -> Plugins:
        """Return the same plugins with these values of flags, by flag name."""
        return attrs.evolve(self, given={**self._given, **given})

    @property
    def notes(self) -> tuple[str, ...]:
        """Return a log line for each plugin."""
        return tuple(f"Found {each}" for each in self.entry_points)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the entry points as text; another process loads them again, so factories need not be picklable."""
        return _loaded_with, (self.entry_points, self._given)


NO_PLUGINS: Final = Plugins()


@cache
def installed() -> Plugins:
    """Return the plugins of all installed packages, loaded once per process."""
    every = metadata.entry_points()
    found = {
        EntryPoint(each.group, each.name, each.value, _package(each.dist))
        for group in RECORDS
        for each in every.select(group=group)
    }
    return load(sorted(found, key=lambda each: (each.group, each.name, each.package))) if found else NO_PLUGINS


def _package(distribution: metadata.Distribution | None) -> str:
    return "unknown package" if distribution is None else f"{distribution.name} {distribution.version}"


def load(entry_points: Sequence[EntryPoint]) -> Plugins:
    """Import the objects that entry points name; one that fails to load becomes a line in `problems`."""
    records: dict[tuple[str, str], Plugin] = {}
    problems: list[str] = []
    for each in entry_points:
        record = _record(each)
        if isinstance(record, str):
            problems.append(f"{each}: {record}")
        elif (each.group, each.name) in records:
            problems.append(f"{each}: another package has a plugin of that name")
        else:
            records[each.group, each.name] = record
    return Plugins(tuple(entry_points), tuple(problems), records)


def _loaded_with(entry_points: Sequence[EntryPoint], given: Mapping[str, Any]) -> Plugins:
    return load(entry_points).with_values(given)


def _record(each: EntryPoint) -> Plugin | str:
    """Return the record that an entry point names, or the reason why it cannot be used."""
    wanted = RECORDS[each.group]
    if not _NAME.fullmatch(each.name):
        return "a name has at most 63 letters, digits, dots and dashes, the first one a letter"
    try:
        found = metadata.EntryPoint(each.name, each.value, each.group).load()
    except Exception as error:  # a foreign module may raise anything while it is imported
        return f"cannot be loaded: {type(error).__name__}: {' '.join(str(error).split())}"
    if type(found) is not wanted:
        return f"{each.value} is not an instance of orchtw.plugins.{wanted.__name__}"
    return found


def clashes(plugins: Plugins, built_in: Mapping[type[Plugin], Iterable[str]], flags: Iterable[Flag]) -> list[str]:
    """Return a line for each plugin whose name is built in, and for each plugin's flag whose name is taken."""
    taken = {record: frozenset(names) for record, names in built_in.items()}
    problems = [
        f"{each}: the server has a built-in one of that name"
        for each in plugins.entry_points
        if each.name in taken[RECORDS[each.group]]
    ]
    names = {name for flag in flags for name in flag.names}
    for flag in plugins.flags:
        if names.intersection(flag.names):
            problems.append(f"a plugin's flag --{flag.name}: there is already a flag of that name")
        names.update(flag.names)
    return problems
