"""Nested option classes (subjects), whose fields are flags or further subjects."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeVar

import attrs

_PREFIX: Final = "prefix"
_FLAG: Final = "flag"
_SECONDS: Final = "_s"

T = TypeVar("T", bound=attrs.AttrsInstance)


def subject(options: Callable[[], T], prefix: str = "") -> T:
    """Return the attrs field of a subject, whose flags begin with `prefix` and a dash."""
    made: T = attrs.field(factory=options, metadata={_PREFIX: prefix, "options": options})
    return made


@attrs.frozen(slots=True, kw_only=True)
class Setting:
    """One flag: its attribute path in the options, and the field with its kind, default and help."""

    flag: str
    path: tuple[str, ...]
    field: attrs.Attribute[Any]

    @property
    def name(self) -> str:
        """Return the flag's name as a keyword: with underscores, for durations with the suffix `_s`."""
        return self.flag.replace("-", "_") + (_SECONDS if self.path[-1].endswith(_SECONDS) else "")

    def of(self, options: Any) -> Any:
        """Return the flag's value in `options`."""
        for name in self.path:
            options = getattr(options, name)
        return options


def settings_of(options: Any, prefix: str = "", path: tuple[str, ...] = ()) -> Iterator[Setting]:
    """Yield the settings of an option class and of its subjects, in field order."""
    for field in attrs.fields(options):
        about, here = field.metadata, (*path, field.name)
        if _PREFIX in about:
            yield from settings_of(about["options"], _joined(prefix, about[_PREFIX]), here)
        elif about:
            own = _joined(prefix, field.name.removesuffix(_SECONDS).replace("_", "-"))
            yield Setting(flag=about.get(_FLAG) or own, path=here, field=field)


def changed(options: T, values: Mapping[tuple[str, ...], Any]) -> T:
    """Return a copy of the options with other `values`, by attribute path."""
    here: dict[str, Any] = {}
    below: dict[str, dict[tuple[str, ...], Any]] = {}
    for (name, *rest), value in values.items():
        if rest:
            below.setdefault(name, {})[tuple(rest)] = value
        else:
            here[name] = value
    here |= {name: changed(getattr(options, name), inner) for name, inner in below.items()}
    evolved: T = attrs.evolve(options, **here)  # type: ignore[misc]  # mypy does not see that T is bound
    return evolved


def _joined(prefix: str, name: str) -> str:
    return "-".join(part for part in (prefix, name) if part)
