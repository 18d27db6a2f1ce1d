"""Properties of all structural schemas and values (reference CRD-15, CRD-16, CRD-17)."""

from __future__ import annotations

import contextlib
from typing import Any
from unittest import mock

import orjson
from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import Invalid
from orchtw.schema import known_parts
from orchtw.schema.custom.codec import CustomCodec
from orchtw.schema.custom.keywords import KEYWORDS
from orchtw.schema.custom.parts import Unsure
from orchtw.schema.custom.shape import Shaper
from orchtw.schema.custom.shape_code import Misfit
from tests.properties import examples
from tests.schema.custom.arbitrary import fitting, objects, spiced
from tests.schema.custom.made import codec_of, widget_of
from tests.schema.custom.simple import valid

Case = tuple[CustomCodec, dict[str, Any], dict[str, Any]]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A codec, the schema of its kind's spec, and a widget with any spec."""
    schema = {"type": "object", **draw(objects(2))}
    structure = {"type": "object", "properties": {"spec": schema}}
    return codec_of(structure), structure, widget_of(spec=draw(fitting(schema)))


@st.composite
def spiced_cases(draw: st.DrawFn) -> Case:
    """The same with every keyword that schemas may have."""
    schema = draw(spiced({"type": "object", **draw(objects(2))}))
    structure = {"type": "object", "properties": {"spec": schema}}
    return codec_of(structure), structure, widget_of(spec=draw(fitting(schema)))


def words(schema: Any) -> set[str]:
    """The keys of all objects in a schema."""
    if isinstance(schema, list):
        return set().union(*map(words, schema))
    return set(schema).union(*map(words, schema.values())) if isinstance(schema, dict) else set()


def read(codec: CustomCodec, value: dict[str, Any]) -> dict[str, Any] | None:
    """The object, or None where there is a wrong type in it."""
    try:
        return codec.fit(value, "Ignore")[0]
    except Invalid:
        return None


class ShapeTests(SynchronousTestCase):
    @examples(80)
    @given(cases())
    def test_idempotent(self, case: Case) -> None:
        """Pruning and defaulting are idempotent, and keep the order of keys and validity."""
        codec, _, value = case
        once = codec.refresh(value)
        self.assertEqual(orjson.dumps(codec.refresh(once)), orjson.dumps(once))
        bare = codec.refresh(value)
        codec.set_defaults(bare)
        self.assertEqual(bare, once)

    @examples(80)
    @given(cases())
    def test_known(self, case: Case) -> None:
        """Knowing a member changes no outcome: neither the object, nor its losses, nor the causes."""
        codec, structure, value = case
        with mock.patch.object(known_parts, "SHORTEST", 1):
            for _ in range(4):
                for fill in (False, True):
                    shaper, lost = Shaper(codec._keys, codec._metadata, fill=fill), list[str]()
                    direct = shaper.root(value, structure)
                    with contextlib.suppress(Misfit, Unsure):
                        found = codec._shaped(value, fill, lost)
                        self.assertEqual(orjson.dumps(found), orjson.dumps(direct))
                        self.assertEqual(bool(lost), bool(shaper.lost))
                    with contextlib.suppress(Unsure):
                        if codec._checked(direct):
                            self.assertEqual(codec._direct_causes(direct, structure, ""), [])

    @examples(80)
    @given(cases() | spiced_cases())
    def test_both_ways(self, case: Case) -> None:
        """The quick way comes to what the direct way comes to, with defaults and without, and loses as much."""
        codec, structure, value = case
        for fill in (False, True):
            shaper = Shaper(codec._keys, codec._metadata, fill=fill)
            direct = shaper.root(value, structure)
            lost: list[str] = []
            try:
                quick = codec._shaped(value, fill, lost)
            except (Misfit, Unsure):
                continue
            self.assertEqual(orjson.dumps(quick), orjson.dumps(direct))
            self.assertEqual(bool(lost), bool(shaper.lost))

    @examples(80)
    @given(cases())
    def test_in_two_steps(self, case: Case) -> None:
        """An object that is read without defaults and filled then is as one that is read with them."""
        codec, _, value = case
        obj = read(codec, value)
        if obj is not None:
            later = codec.normalise(value)
            codec.set_defaults(later)
            self.assertEqual(later, obj)

    @examples(80)
    @given(cases())
    def test_strict(self, case: Case) -> None:
        """A valid value without strict findings comes back unchanged but for nulls and defaults."""
        codec, structure, value = case
        obj = read(codec, value)
        if obj is None or codec.strict_findings(value):
            return
        shaper = Shaper(codec._keys, codec._metadata, fill=False)
        self.assertEqual(codec.normalise(value), {**codec.type.fields, **shaper.root(value, structure)})
        again, found = codec.fit(obj, "Strict", orjson.dumps(obj))
        self.assertEqual((again, found), (obj, []))


class ValidationTests(SynchronousTestCase):
    @examples(200)
    @given(cases())
    def test_agrees(self, case: Case) -> None:
        """A value is valid if the plainest reading of its schema says so; types are told when it is read."""
        codec, structure, value = case
        obj = codec.refresh(value)
        expected = valid(obj.get("spec", {}), structure["properties"]["spec"]) if "spec" in obj else True
        self.assertEqual(not codec.check(obj, None), expected)
        self.assertEqual(not codec._direct_causes(obj, structure, ""), expected)
        if read(codec, value) is None:
            self.assertFalse(expected)

    def test_every_keyword(self) -> None:
        """A function finds an object valid exactly where the direct way finds no cause, whatever the keywords: the
        schemas have all that a value can break.
        """
        missing = set(KEYWORDS)

        @examples(200)
        @given(spiced_cases())
        def compare(case: Case) -> None:
            codec, structure, value = case
            missing.difference_update(words(structure))
            obj = codec.refresh(value)
            with contextlib.suppress(Unsure):
                self.assertEqual(bool(codec._checked(obj)), not codec._direct_causes(obj, structure, ""))

        compare()
        self.assertEqual(missing, set())
