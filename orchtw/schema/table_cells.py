"""The cells of each kind's Table, in the order of its columns (facts, printer columns; supplement A10)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from orchtw.schema.table_text import Object, View

Cells = Callable[[Object, View], list[Any]]

CELLS: dict[tuple[str, str], Cells] = {}
