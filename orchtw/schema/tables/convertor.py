"""Tables: objects as rows of cells for people to read (reference TABLE-1).

The columns of a kind come with its resource type; the cells, with its record in the registry. A kind without both has
the default columns: name and time of creation. A custom kind's columns also determine the cells (`custom_layout`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import orjson

from orchtw.naming.naming import Naming
from orchtw.schema.declarations import Column
from orchtw.schema.tables.cells import Age, Cells, TableView
from orchtw.schema.tables.custom import cells_of, shown_columns
from orchtw.schema.tables.partial_object_metadata import partial_metadata
from orchtw.wire.objects import Object

IncludeObject = Literal["Metadata", "Object", "None"]

DEFAULT_COLUMNS = (
    Column(name="Name", type="string", format="name", priority=0, cell="metadata.name"),
    Column(name="Created At", type="date", format="", priority=0, cell="metadata.creationTimestamp"),
)


def write_table(table: Object, now_s: float) -> bytes:
    """Encode a Table of lasting rows as JSON, with ages as of `now_s`."""

    def written(value: object) -> str:
        if isinstance(value, Age):
            return value.text(now_s)
        raise TypeError(type(value).__name__)

    return orjson.dumps(table, default=written)


def _default_cells(obj: Object, view: TableView) -> list[Any]:
    meta = obj["metadata"]
    return [meta.get("name", ""), meta.get("creationTimestamp")]


class TableLayout:
    """The rows of one kind: `columns` are the resource type's, `cells` makes their contents."""

    def __init__(self, columns: Sequence[Column], cells: Cells | None, naming: Naming) -> None:
        if not columns or cells is None:
            columns, cells = DEFAULT_COLUMNS, _default_cells
        self._cells = cells
        self._columns = tuple(columns)
        self._naming = naming
        self._version = f"{naming.meta_group}/v1"

    @property
    def definitions(self) -> list[Object]:
        """The columnDefinitions of the Table."""
        return [
            {
                "name": column.name,
                "type": column.type,
                "format": column.format,
                "description": column.cell,
                "priority": column.priority,
            }
            for column in self._columns
        ]

    def row(
        self,
        stored: Object,
        now_s: float,
        *,
        include: IncludeObject = "Metadata",
        served: Object | None = None,
        version: str = "",
    ) -> Object:
        """Return one row for `stored`, a canonical dict in the storage version.

        `now_s` is the time in seconds since 1970 that ages refer to. `served` is the object in the requested version
        (default: `stored`); `include` is the part of it that the row carries. `version` is the Table's apiVersion, by
        default v1 of the meta group.
        """
        view = TableView(time_s=now_s, naming=self._naming)
        row: Object = {"cells": self._cells(stored, view)}
        if view.conditions:
            row["conditions"] = view.conditions
        row["object"] = self._included(stored if served is None else served, include, version)
        return row

    def lasting_cells(self, stored: Object, now_s: float) -> tuple[list[Any], bool] | None:
        """Return cells that `write_table` can write at any time, and whether they stay true as time passes.

        Ages are `Age` values. None for a row that has conditions.
        """
        view = TableView(time_s=now_s, naming=self._naming, lazy=True)
        cells = self._cells(stored, view)
        return None if view.conditions else (cells, not view.passing)

    def table(self, meta: Object, rows: Iterable[Object], *, version: str = "", headed: bool = True) -> Object:
        """Return the Table of `rows`. `meta` is its ListMeta: the list's, or for one object just its resourceVersion.

        `version` is its apiVersion, by default v1 of the meta group.
        `headed` False leaves out the columns, as in all but the first event of a watch.
        """
        return {
            "kind": "Table",
            "apiVersion": version or self._version,
            "metadata": meta,
            "columnDefinitions": self.definitions if headed else None,
            "rows": list(rows),
        }

    def _included(self, obj: Object, include: IncludeObject, version: str) -> Object | None:
        if include == "Object":
            return obj
        return partial_metadata(obj, version or self._version) if include == "Metadata" else None


def custom_layout(asked: Sequence[Column], naming: Naming) -> TableLayout:
    """Return the layout of a custom kind in the version whose columns these are (reference CRD-19)."""
    columns = shown_columns(asked)
    return TableLayout(columns, cells_of(columns), naming)
