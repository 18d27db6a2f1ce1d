"""No rule costs more than in proportion to what it looks at, and no refusal is longer than its reader can use."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import MAX_CAUSES, MAX_CAUSES_CHARACTERS, MORE_CAUSES, BadRequest, Cause, Invalid
from orchtw.naming.naming import Naming
from orchtw.rules.field_selectors import MAX_REQUIREMENTS, MAX_SELECTOR_CHARACTERS, parse_fields
from orchtw.rules.selectors import parse_labels, validate_selector_object
from orchtw.schema.validation.metadata import MetadataRules, drop_unstored, validate_create
from orchtw.values.causes import MAX_SHOWN_CHARACTERS, go_quote, go_value, invalid
from orchtw.values.names import SUBDOMAIN_NAME
from orchtw.wire.objects import Object
from tests.effort import MOST, CountedText, calls, growth
from tests.properties import examples

RULES = MetadataRules(
    namespaced=True, name_form=SUBDOMAIN_NAME, free_finalizers=False, naming=Naming.orch()
)
_TEXTS = st.sampled_from("ab")
_OWNERS = st.lists(st.fixed_dictionaries({}, optional={"uid": _TEXTS, "name": _TEXTS, "controller": st.booleans()}))


def create(meta: dict[str, Any]) -> list[Cause]:
    whole = {"name": "a", "namespace": "b", **meta}
    return validate_create(whole, RULES)


def answer(causes: list[Cause], name: str = "a") -> bytes:
    return orjson.dumps(Invalid.of("ConfigMap", "", name, causes).to_status())


class OwnerTests(SynchronousTestCase):
    @examples(200)
    @given(_OWNERS)
    def test_repeated(self, owners: list[dict[str, Any]]) -> None:
        """Each different owner stays, where it came first: what comparing all pairs finds."""
        kept = [owner for place, owner in enumerate(owners) if owner not in owners[:place]]
        meta = {"ownerReferences": list(owners)}
        warnings = drop_unstored(meta)
        self.assertEqual(meta["ownerReferences"], kept)
        self.assertEqual(bool(warnings), len(kept) < len(owners))
        for uid in {owner.get("uid", "") for owner in owners if owners.count(owner) > 1} - {""}:
            self.assertIn(uid, warnings[0])

    def test_no_pairs(self) -> None:
        """60 KB of owners, different ones too, are not compared with one another (reference LIMIT-8)."""
        compared = 0

        class Owner(dict[str, Any]):
            def __eq__(self, other: object) -> bool:
                nonlocal compared
                compared += 1
                return super().__eq__(other)

            __hash__ = None

        drop_unstored({"ownerReferences": [Owner() for _ in range(30_000)]})
        drop_unstored({"ownerReferences": [Owner(uid=str(number)) for number in range(30_000)]})
        self.assertEqual(compared, 0)

    def test_controllers(self) -> None:
        """A cause does not repeat a list of thousands."""
        owner = {"apiVersion": "v1", "kind": "Pod", "name": "x" * 1000, "uid": "u", "controller": True}
        causes = create({"ownerReferences": [owner] * 10_000})
        self.assertLess(sum(len(cause.message) for cause in causes), 1 << 20)
        self.assertLess(len(answer(causes)), 4 * MAX_CAUSES_CHARACTERS)


class CauseTests(SynchronousTestCase):
    def test_many(self) -> None:
        """The first hundred are shown, and that there are more."""
        causes = [Cause("FieldValueInvalid", str(number), "x") for number in range(1000)]
        shown = Invalid.of("K", "", "a", causes).to_status()["details"]["causes"]
        self.assertEqual((len(shown), shown[-1]), (MAX_CAUSES + 1, {"message": MORE_CAUSES}))
        whole = Invalid.of("K", "", "a", causes[:MAX_CAUSES]).to_status()
        self.assertEqual(len(whole["details"]["causes"]), MAX_CAUSES)

    def test_long(self) -> None:
        """Texts come to so many characters, whatever their number; one is always shown."""
        causes = [Cause("FieldValueInvalid", "y" * MAX_CAUSES_CHARACTERS, "x")] * 3
        shown = Invalid.of("K", "", "a" * (1 << 20), causes).to_status()
        self.assertEqual(len(shown["details"]["causes"]), 2)
        self.assertLess(len(orjson.dumps(shown)), 3 * MAX_CAUSES_CHARACTERS)

    def test_metadata(self) -> None:
        """100,000 mistakes cost as much to tell as a few hundred (reference ERR-13, LIMIT-8)."""
        wrong: Callable[[int], Object]
        for wrong in (
            lambda size: {"labels": {f"-{number}": "v-" for number in range(size)}},
            lambda size: {"annotations": {f"-{number}": "v" for number in range(size)}},
            lambda size: {"finalizers": [f"-{number}" for number in range(size)]},
            lambda size: {"ownerReferences": [{}] * size},
            lambda size: {"managedFields": [{"manager": "\x01"}] * size},
            lambda size: {"managedFields": [{"manager": "\x01" * size}]},
        ):
            few: Object = wrong(500)
            many: Object = wrong(5000)
            self.assertLess(len(create(many)), 3 * MAX_CAUSES)
            self.assertLess(len(answer(create(many))), 4 * MAX_CAUSES_CHARACTERS)
            self.assertLess(calls(partial(create, many)), calls(partial(create, few)) * 12, few.keys())

    def test_shown_values(self) -> None:
        """A value of megabytes is shown by its beginning."""
        labels = {str(number): "x" * 100 for number in range(50_000)}
        value: Any
        for value in ("x" * (1 << 20), ["x"] * 100_000, labels, [{}] * 50_000):
            self.assertLess(len(go_value(value)), 4 * MAX_SHOWN_CHARACTERS)
            self.assertLess(len(invalid("f", value, "d").message), 4 * MAX_SHOWN_CHARACTERS)
        self.assertEqual(go_quote("x" * MAX_SHOWN_CHARACTERS), '"' + "x" * MAX_SHOWN_CHARACTERS + '"')
        self.assertEqual(go_value({"b": "1", "a": "2"}), 'map[string]string{"a":"2", "b":"1"}')


class SelectorTests(SynchronousTestCase):
    def test_length(self) -> None:
        """A selector of a query is no longer than any of use, and has no more terms."""
        for parse in (parse_labels, lambda text: parse_fields(text, ("metadata.name", "metadata.namespace"))):
            for text, fits in (
                (",".join(["metadata.name=a"] * MAX_REQUIREMENTS), True),
                (",".join(["metadata.name=a"] * (MAX_REQUIREMENTS + 1)), False),
                ("metadata.name=" + "a" * 63, True),
                ("metadata.name=" + "a" * MAX_SELECTOR_CHARACTERS, False),
            ):
                if fits:
                    parse(text)
                else:
                    self.assertRaises(BadRequest, parse, text)

    def test_effort(self) -> None:
        """The effort of parsing grows in proportion to the text."""
        self.assertLess(growth(lambda size: parse_labels(f"a in ({','.join(['b'] * size)})"), 2000), MOST)

    def test_many_values(self) -> None:
        """A label is not compared with each of thousands of values."""
        requirement = parse_labels(f"a in ({','.join(f'v{number}' for number in range(5000))})").requirements[0]
        last, other = CountedText("v4999"), CountedText("w")
        self.assertTrue(requirement.matches({"a": last}))
        self.assertFalse(requirement.matches({"a": other}))
        self.assertLess(last.comparisons + other.comparisons, 10)

    def test_objects(self) -> None:
        """The causes of a selector object are bounded too."""
        selector = {"matchExpressions": [{"key": "-", "operator": "x"}] * 10_000, "matchLabels": {"-": "v"}}
        self.assertLess(len(validate_selector_object(selector, "spec")), 2 * MAX_CAUSES)
