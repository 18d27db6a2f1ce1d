"""Metadata of a setting's field: flag, help and section."""

from __future__ import annotations

from typing import Any

from orchtw.flags.flag import FlagKind


def about(section: str, help: str, kind: FlagKind, short: str = "", flag: str = "", also: str = "") -> dict[str, Any]:
    """Return the metadata of a field: section and text for `--help`, the kind of its values, a short name.

    The flag's name is derived from the field and its subject unless `flag` is given; `also` is a second one.
    """
    return {"section": section, "help": help, "kind": kind, "short": short, "flag": flag, "also": also}
