"""Flags without effect and deprecated flags, and the log lines about them (reference FLAG-14, FLAG-15)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from orchtw.config.ignored import REFUSED, SECTION, WITHOUT_EFFECT
from orchtw.flags.flag import Flag
from orchtw.naming.naming import Naming

_DEPRECATED: Final = {
    "admission-control": "Use --enable-admission-plugins or --disable-admission-plugins instead. "
    "Will be removed in a future version.",
    "enable-logs-handler": "This flag will be removed in a future version.",
}
_UNSAFE: Final = {"unsafe-no-fsync": "A crash of the machine may lose or damage the store."}
_OWN, _OTHER = Naming.orch().product, Naming.kubernetes().product


def name_elsewhere(name: str) -> str:
    """Translate a flag's name into the other vocabulary; empty: it is the same there.

    Both names are accepted, since the vocabulary itself is set by a flag.
    """
    if name.startswith(f"{_OWN}-"):
        return f"{_OTHER}{name.removeprefix(_OWN)}"
    other = Naming.kubernetes().translate(name)
    return "" if other == name else other


def flags_without_effect() -> tuple[Flag, ...]:
    """Return the flags without effect for `--help`, with the release's defaults and the reasons."""
    refused = ((name, kind, default, f"Refused: {why.partition(': ')[2]}.") for name, kind, default, why in REFUSED)
    return tuple(
        Flag(name=name, also=name_elsewhere(name), kind=kind, default=default, help=why, section=SECTION)
        for name, kind, default, why in (*WITHOUT_EFFECT, *refused)
    )


def notes_on(given: Iterable[str]) -> tuple[str, ...]:
    """Return the startup log lines about the given flags."""
    names = set(given)
    return (
        *(f"Flag --{name} has no effect: {why}" for name, _, _, why in WITHOUT_EFFECT if name in names),
        *(f"Flag --{name} is for tests only: {why}" for name, why in _UNSAFE.items() if name in names),
        *(f"Flag --{name} has been deprecated, {why}" for name, why in _DEPRECATED.items() if name in names),
    )


def refused_flags(given: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the problems of given flags that are not supported and may only be empty."""
    return [f"--{name}: {why}" for name, _, _, why in REFUSED if any(given.get(name, ()))]
