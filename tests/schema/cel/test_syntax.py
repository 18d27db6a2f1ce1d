"""Syntax tree of an expression."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.schema.cel.parser import parse
from orchtw.schema.cel.syntax import Name, parts_of


class PartsTests(SynchronousTestCase):
    def test_every_part(self) -> None:
        """Parts are found in every form: members, calls, receivers, lists, maps, messages and macros."""
        source = "a.x + b.f(c) + [d][e] + {g: h}[i] + T{x: j} + k.all(l, m) ? has(n.x) : !o"
        names = {part.name for part in parts_of(parse(source)) if isinstance(part, Name)}
        self.assertEqual(names, set("abcdeghijklmno"))
