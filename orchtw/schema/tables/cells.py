"""Which function makes the cells of which kind's Table, by the first word of the group and kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from orchtw.objects import Object
from orchtw.schema.tables.cells_cluster import CLUSTER_CELLS
from orchtw.schema.tables.cells_core import CORE_CELLS
from orchtw.schema.tables.cells_pod import pod
from orchtw.schema.tables.cells_workloads import WORKLOAD_CELLS
from orchtw.schema.tables.text import View

Cells = Callable[[Object, View], list[Any]]

CELLS: dict[tuple[str, str], Cells] = {("", "Pod"): pod, **CORE_CELLS, **WORKLOAD_CELLS, **CLUSTER_CELLS}
