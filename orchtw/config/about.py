"""Metadata of a setting beside its name, type and default: flag, help, section."""

from __future__ import annotations

from typing import Any

from orchtw.flags.flag import FlagKind


def about(section: str, help: str, kind: FlagKind, short: str = "") -> dict[str, Any]:
    """The metadata of a field of Config: the section and text of `--help`, how values are read, a short name."""
    return {"section": section, "help": help, "kind": kind, "short": short}
