"""The rows of custom kinds (reference CRD-19, CRD-60)."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.schema.declarations import Column
from orchtw.schema.tables.convertor import custom_layout, write_table
from orchtw.schema.tables.custom import MAX_COLUMNS

NAMING = Naming.orch()
NOW = 1_700_000_000.0
CREATED = "2023-11-14T21:13:20Z"
OBJ: dict[str, Any] = {
    "metadata": {"name": "a", "creationTimestamp": CREATED},
    "values": {
        "text": "x", "whole": 7, "float": 1.5, "round": 2.0, "large": 1e6, "small": 1e-7, "flag": True, "null": None,
        "map": {"b": 1.0, "a": "<&>"}, "list": [1, "two", None], "empty": "", "date": CREATED,
    },
}  # fmt: skip


def column(name: str, kind: str = "string", **more: Any) -> Column:
    return Column(**{"name": name, "type": kind, "format": "", "priority": 0, "cell": "", "path": name, **more})


class CellTests(SynchronousTestCase):
    def cell(self, path: str, kind: str) -> Any:
        row = custom_layout([column(path, kind)], NAMING).row(OBJ, NOW)
        return row["cells"][1]

    def test_types(self) -> None:
        """A cell is null if there is no value or one of another type; text shows any (reference CRD-60)."""
        expected: dict[str, dict[str, Any]] = {
            "string": {
                "text": "x", "whole": "7", "float": "1.5", "round": "2", "large": "1e+06", "small": "1e-07",
                "flag": "true", "null": "<no value>", "map": '{"a":"\\u003c\\u0026\\u003e","b":1}',
                "list": '[1,"two",null]', "empty": "", "absent": None,
            },
            "integer": {"text": None, "whole": 7, "float": 1, "round": 2, "flag": None, "null": None, "absent": None},
            "number": {"text": None, "whole": 7, "float": 1.5, "round": 2, "flag": None, "list": None},
            "boolean": {"text": None, "whole": None, "flag": True, "absent": None},
            "date": {"date": "60m", "text": "<invalid>", "empty": "<unknown>", "whole": None, "absent": None},
            "colour": {"text": None},
        }  # fmt: skip
        for kind, cells in expected.items():
            found = {name: self.cell(f".values.{name}", kind) for name in cells}
            self.assertEqual(repr(found), repr(cells))

    def test_dates(self) -> None:
        """Ages are as of when the Table is written; a date that means nothing says so (reference CRD-60)."""
        layout = custom_layout([], NAMING)
        self.assertEqual(layout.row(OBJ, NOW)["cells"], ["a", "60m"])
        cells, lasts = layout.lasting_cells(OBJ, NOW) or ([], False)
        self.assertTrue(lasts)
        self.assertEqual(write_table({"cells": cells}, NOW + 3600), b'{"cells":["a","120m"]}')
        for text, age in (("0001-01-01T00:00:00Z", "<unknown>"), ("2023-13-01T00:00:00Z", "<invalid>")):
            obj = {"metadata": {"name": "a", "creationTimestamp": text}}
            self.assertEqual(layout.row(obj, NOW)["cells"], ["a", age])


class ColumnTests(SynchronousTestCase):
    def test_definitions(self) -> None:
        """The name comes first; without columns of the definition the age follows (reference CRD-19)."""
        layout = custom_layout([column(".a", "integer", format="int32", priority=1, cell="How many.")], NAMING)
        name, own = layout.definitions
        self.assertEqual((name["name"], name["type"], name["format"]), ("Name", "string", "name"))
        self.assertEqual(
            own, {"name": ".a", "type": "integer", "format": "int32", "description": "How many.", "priority": 1}
        )
        self.assertEqual([each["name"] for each in custom_layout([], NAMING).definitions], ["Name", "Age"])

    def test_unreadable(self) -> None:
        """The columns from the first unreadable path on are left out, and no more than 256 shown (CRD-60)."""
        layout = custom_layout([column(".a"), column(".b["), column(".c")], NAMING)
        self.assertEqual([each["name"] for each in layout.definitions], ["Name", ".a"])
        self.assertEqual(layout.row(OBJ, NOW)["cells"], ["a", None])
        self.assertEqual(len(custom_layout([column(".a")] * 1000, NAMING).definitions), MAX_COLUMNS + 1)

    def test_costs(self) -> None:
        """A row that would take too long to make leaves cells out (reference CRD-60)."""
        obj = {**OBJ, "big": [[["x" * 10] * 10] * 10] * 30}
        row = custom_layout([column(".big")] * 200, NAMING).row(obj, NOW)
        filled = sum(cell is not None for cell in row["cells"])
        self.assertTrue(1 < filled < 100, filled)
