"""Treatment of nulls and undeclared keys, by the keywords of a schema (reference CRD-15, CRD-16)."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.schema.custom.extensions import extensions
from orchtw.schema.custom.treatment import Null, Unknown, list_item, null_in, unknown_key
from tests.schema.custom.made import spec_codec, widget_of

KEYS = extensions(Naming.orch())
STRING: dict[str, Any] = {"type": "string"}
DEFAULTED: dict[str, Any] = {"type": "string", "default": "d"}


def treatments(schema: dict[str, Any]) -> list[Null]:
    """The treatments of a null as a declared member, under an undeclared key, and in a list."""
    return [null_in("member", schema), null_in("value", schema), null_in("item", schema)]


class NullTests(SynchronousTestCase):
    def test_nullable(self) -> None:
        """A null stays wherever it is allowed, whatever the default."""
        found = treatments({**DEFAULTED, "nullable": True})
        self.assertEqual(found, [Null.STAYS, Null.STAYS, Null.STAYS])

    def test_default(self) -> None:
        """A default replaces a null; under an undeclared key and in a list the null waits for it."""
        self.assertEqual(treatments(DEFAULTED), [Null.DEFAULT, Null.WAITS, Null.WAITS])

    def test_neither(self) -> None:
        """Without either a null is dropped from an object, and is of a wrong type in a list."""
        self.assertEqual(treatments(STRING), [Null.GOES, Null.GOES, Null.UNFIT])


class UnknownTests(SynchronousTestCase):
    def test_keys(self) -> None:
        """Undeclared keys have a schema, stay bare, stay, or are pruned."""
        table: tuple[tuple[dict[str, Any], Unknown], ...] = (
            ({"additionalProperties": STRING, KEYS.preserve: True}, Unknown.SHAPED),
            ({"additionalProperties": True}, Unknown.BARE),
            ({KEYS.preserve: True}, Unknown.STAYS),
            ({}, Unknown.PRUNED),
        )
        for schema, treatment in table:
            self.assertIs(unknown_key(schema, KEYS), treatment)
        self.assertIs(unknown_key({}, KEYS, keeps=True), Unknown.STAYS)

    def test_items(self) -> None:
        """Items have a schema, stay, or stay bare."""
        self.assertIs(list_item({"items": STRING, KEYS.preserve: True}, KEYS), Unknown.SHAPED)
        self.assertIs(list_item({KEYS.preserve: True}, KEYS), Unknown.STAYS)
        self.assertIs(list_item({}, KEYS), Unknown.BARE)


class BothWaysTests(SynchronousTestCase):
    def test_alike(self) -> None:
        """The direct way and the compiled one treat nulls and undeclared keys alike."""
        codec = spec_codec(
            a=DEFAULTED,
            b={"type": "array", "items": DEFAULTED},
            c={"type": "object", "additionalProperties": DEFAULTED},
            d={"type": "object", KEYS.preserve: True},
            e={"type": "object"},
        )
        sent = widget_of(spec={"a": None, "b": [None, "x"], "c": {"k": None}, "d": {"k": {"z": 1}}, "e": {"k": 1}})
        codec.direct_looks = 10
        direct = codec.fit(sent, "Warn")
        codec.direct_looks = 0
        self.assertEqual(codec.fit(sent, "Warn"), direct)
        expected = {"a": "d", "b": ["d", "x"], "c": {"k": "d"}, "d": {"k": {"z": 1}}, "e": {}}
        self.assertEqual((direct[0]["spec"], direct[1]), (expected, ['unknown field "spec.e.k"']))
