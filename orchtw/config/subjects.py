"""Option classes: their declaration, and their nesting as subjects, whose fields are flags or further subjects."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeVar, cast, dataclass_transform

import msgspec

_PREFIX: Final = "prefix"
_FLAG: Final = "flag"
_SECONDS: Final = "_s"

T = TypeVar("T")
V = TypeVar("V")


class Declaration(msgspec.Struct, frozen=True, kw_only=True):
    """A field as its option class declares it: its default or what makes it, and `about` or the subject's prefix."""

    default: Any = None
    factory: Callable[[], Any] | None = None
    metadata: Mapping[str, Any] = {}

    def field(self) -> Any:
        """Return the field of a struct."""
        if self.factory is None:
            return msgspec.field(default=self.default)
        return msgspec.field(default_factory=self.factory)


_declared: Final[dict[type, Mapping[str, Declaration]]] = {}
"""The fields of each option class, by name and in their order."""


def setting(*, default: V, metadata: Mapping[str, Any]) -> V:
    """Declare a field that is a flag."""
    return cast(V, Declaration(default=default, metadata=metadata))


def subject(options: Callable[[], T], prefix: str = "") -> T:
    """Declare a field that is a subject, whose flags begin with `prefix` and a dash."""
    return cast(T, Declaration(factory=options, metadata={_PREFIX: prefix, "options": options}))


@dataclass_transform(frozen_default=True, kw_only_default=True)
def options(declared: type[T]) -> type[T]:
    """Make an option class of a class that declares fields: frozen values with keyword arguments.

    A struct of msgspec has no metadata, and a class of attrs, which has, takes a millisecond of each start.
    """
    namespace = dict(vars(declared))
    fields: dict[str, Declaration] = {}
    for name in declared.__annotations__:
        found = namespace.pop(name)
        fields[name] = found if isinstance(found, Declaration) else Declaration(default=found)
    for name in ("__dict__", "__weakref__", "__annotations__"):
        namespace.pop(name)
    made = msgspec.defstruct(
        declared.__name__,
        [(name, declared.__annotations__[name], each.field()) for name, each in fields.items()],
        module=declared.__module__,
        namespace=namespace,
        frozen=True,
        kw_only=True,
    )
    _declared[made] = fields
    return cast(type[T], made)


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """One flag: its attribute path in the options, and the field with its kind, default and help."""

    flag: str
    path: tuple[str, ...]
    field: Declaration

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
    for name, field in _declared[options].items():
        about, here = field.metadata, (*path, name)
        if _PREFIX in about:
            yield from settings_of(about["options"], _joined(prefix, about[_PREFIX]), here)
        elif about:
            own = _joined(prefix, name.removesuffix(_SECONDS).replace("_", "-"))
            yield Setting(flag=about.get(_FLAG) or own, path=here, field=field)


def replaced(options: T, **values: Any) -> T:
    """Return a copy of the options with other `values` of fields."""
    return cast(T, msgspec.structs.replace(cast(Any, options), **values))


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
    return replaced(options, **here)


def _joined(prefix: str, name: str) -> str:
    return "-".join(part for part in (prefix, name) if part)
