"""The test of one file of `tests/fixtures/validation`: each entry has examples, with which the server agrees."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any, ClassVar

import orjson

from orchtw.wire.objects import Object
from tests.validation.examples import Base, Entry, Example, Shown
from tests.verbs.served import ServedCase

FILES = Path(__file__).resolve().parent.parent / "fixtures" / "validation"

Examples = Mapping[int, Example | Shown | Sequence[Example | Shown]]
"""By the number of the entry in its file, from 0."""


class EntryCase(ServedCase):
    """A subclass names the file, has a base for each kind, and at least one example for each entry.

    `kinds` are those of the file that the test is about, none: all; `beyond` are entries about what is not part of a
    kind, such as who may write it. The entries are those of release 1.24, which is emulated.
    """

    more: ClassVar[Mapping[str, Any]] = {"emulated_version": "1.24"}
    file: ClassVar[str] = ""
    kinds: ClassVar[Collection[str]] = ()
    bases: ClassVar[Mapping[str, Base]] = {}
    examples: ClassVar[Examples] = {}
    beyond: ClassVar[Collection[int]] = ()

    def setUp(self) -> None:
        super().setUp()
        self._names = count()

    def fresh_name(self, obj: Object) -> dict[str, Any]:
        """Return the change that gives a copy of `obj` a name of its own; empty if the kind's name is generated."""
        name = obj["metadata"].get("name")
        return {"metadata.name": f"{name}-{next(self._names)}"} if name else {}

    def entries(self) -> list[Entry]:
        """Return the entries of the file that the test is about, each with its number."""
        found = orjson.loads((FILES / self.file).read_bytes())["entries"]
        numbered = [Entry(number, fact) for number, fact in enumerate(found) if number not in self.beyond]
        return [entry for entry in numbered if not self.kinds or entry.fact["kind"] in self.kinds]

    def test_every_entry(self) -> None:
        """No entry is without an example."""
        missing = [f"{each.number}: {dict(each.fact)}" for each in self.entries() if each.number not in self.examples]
        self.assertEqual(missing, [])

    def test_examples(self) -> None:
        """The server does what the examples say."""
        failed: list[str] = []
        for entry in self.entries():
            found = self.examples.get(entry.number, ())
            for example in found if isinstance(found, Sequence) else [found]:
                try:
                    example.run(self, entry)
                except AssertionError as error:
                    failed.append(f"{entry.number} {dict(entry.fact)}\n    {example}\n    {str(error)[:1000]}")
        self.assertEqual(failed, [], f"{len(failed)} examples failed:\n" + "\n".join(failed))
