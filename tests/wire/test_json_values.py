"""`json_values.loads`: texts that are not JSON, and processes that get no memory (reference ERR-41)."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import orjson
from twisted.trial.unittest import SynchronousTestCase

from orchtw.wire import json_values
from orchtw.wire.json_values import alike, loads

REASON = "Not enough memory to allocate buffer for parsing"


class LoadsTests(SynchronousTestCase):
    def test_values(self) -> None:
        """A text becomes its value, and invalid JSON raises orjson's error, which is a ValueError."""
        self.assertEqual(loads(b'{"a":[1,null]}'), {"a": [1, None]})
        error = self.assertRaises(orjson.JSONDecodeError, loads, "{")
        self.assertIsInstance(error, ValueError)

    def test_no_memory(self) -> None:
        """A process that gets no memory learns so, and not that the text is not JSON."""

        def nothing(_text: Any) -> Any:
            raise orjson.JSONDecodeError(REASON, "", 0)

        self.patch(json_values, "orjson", SimpleNamespace(loads=nothing, JSONDecodeError=orjson.JSONDecodeError))
        self.assertRaises(MemoryError, loads, b"{}")

    def test_words(self) -> None:
        """orjson still says it in these words: it cannot be made to say them safely, for it may crash instead."""
        (library,) = Path(orjson.__file__).parent.glob("orjson.*.so")
        self.assertIn(REASON.encode(), library.read_bytes())


class AlikeTests(SynchronousTestCase):
    """Equality of JSON values."""

    def test_types(self) -> None:
        """Values of different types differ at any depth, also where Python takes them for equal."""
        for one, other, expected in (
            (1, 1, True), (1, True, False), (0, False, False), (1, 1.0, False), ("a", "a", True),
            ({"a": [1]}, {"a": [1]}, True), ({"a": [1]}, {"a": [True]}, False), ({"a": 1}, {"b": 1}, False),
            ([1, {"b": 0}], [1, {"b": False}], False), ([1], [1, 2], False), (None, None, True), (None, 0, False),
        ):  # fmt: skip
            self.assertIs(alike(one, other), expected, (one, other))
