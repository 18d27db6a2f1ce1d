"""Library function of JSON patches, for policies that write them."""

from __future__ import annotations

from typing import Final

from orchtw.schema.cel.overloads import overload


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


FUNCTIONS: Final = (
    overload("jsonpatch.escapeKey(string) -> string", _escaped, lambda key: len(key) // 4, namespaced=True),
)
