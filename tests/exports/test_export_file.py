"""Exports as files, and what they hold."""

from __future__ import annotations

import io

import orjson
from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import ConfigError
from orchtw.exports.export_file import header, line_of, name_of, read, state_at
from orchtw.wire.objects import Object
from tests.exports.records import existing, record

OBJECT = {"metadata": {"name": "x"}}


def written(*lines: Object, revision: int = 3) -> io.BytesIO:
    """An export with these lines."""
    return io.BytesIO(b"".join(map(line_of, (header(revision), *lines))))


class ReadTests(SynchronousTestCase):
    """Reading of exported lines."""

    def test_lines(self) -> None:
        """Objects and records come back as they were written."""
        lines = [existing("pods", "p"), record(object=OBJECT), record("DELETED", previous=OBJECT, object=None)]
        self.assertEqual(list(read(written(*lines), "e")), lines)

    def test_faults(self) -> None:
        """Faults have no object, and change no state."""
        lines = [existing("pods", "p"), record("FAULT", revision=9, changes=[]), record(object=OBJECT)]
        self.assertEqual(list(read(written(*lines), "e")), lines)
        self.assertEqual(state_at(lines, None), [lines[0], lines[2]])

    def test_others(self) -> None:
        """A file that is not an export is refused in one line."""
        for content in (b"", b"\n", b"{}\n", b"no\n", b'[{"orchRecord":1}]\n', b'{"orchRecord":2}\n', b"\xff\n"):
            error = self.assertRaises(ConfigError, list, read(io.BytesIO(content), "e.jsonl"))
            self.assertTrue(str(error).startswith("e.jsonl: is not an export of orch-record"), str(error))

    def test_broken_lines(self) -> None:
        """A broken line is refused with its number."""
        good = existing("pods", "p")
        for bad in (
            {}, {"type": "ERROR"}, record(), record(object=None), record(object=[]), record(object={}),
            record("DELETED", object=OBJECT), record(object=OBJECT, name=5), record(object=OBJECT, revision="7"),
            record(object=OBJECT, time=None), record(object={"metadata": None}),
        ):  # fmt: skip
            error = self.assertRaises(ConfigError, list, read(written(good, bad), "e"))
            self.assertIn("e: line 3 is neither", str(error), orjson.dumps(bad))


class StateTests(SynchronousTestCase):
    """States that exports lead to."""

    def test_end(self) -> None:
        """Writes take the place of what was there; deleted objects are gone, and may come again."""
        lines = [
            existing("pods", "p"), existing("pods", "q"),
            record("ADDED", object=OBJECT, revision=4), record(object=OBJECT, revision=5),
            record("DELETED", resource="pods", namespace="", name="q", previous=OBJECT, revision=6),
            record("DELETED", previous=OBJECT, revision=7), record("ADDED", object=OBJECT, revision=8),
        ]  # fmt: skip
        state = state_at(lines, None)
        self.assertEqual([(name_of(each)[1:], each["revision"]) for each in state],
                         [(("pods", "", "p"), 3), (("configmaps", "a", "x"), 8)])  # fmt: skip
        self.assertEqual([each["revision"] for each in state_at(lines, 5)], [3, 3, 5])
        self.assertEqual([each["revision"] for each in state_at(lines, 0)], [3, 3])
