"""Expressions that are compiled, or why they cannot be; without the compiler, which not every server loads."""

from __future__ import annotations

from typing import Any

import msgspec

from orchtw.schema.cel.types import DYN, Type


class Checked(msgspec.Struct, frozen=True):
    """An expression that is compiled to a `Compiled`, or the `fault` why it cannot be."""

    source: str
    expression: Any
    fault: str = ""

    @property
    def kind(self) -> Type:
        """The type of its values; `dyn` if it does not compile."""
        return DYN if self.expression is None else self.expression.code.type
