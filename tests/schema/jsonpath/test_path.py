"""Where paths lead (reference CRD-60)."""
# covers: orchtw.schema.jsonpath.parser, orchtw.schema.jsonpath.steps

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.schema.jsonpath.path import Path
from orchtw.schema.jsonpath.steps import MISSING, PathError, StepBudget
from tests.properties import examples

OBJ = {
    "a": {"b": 1, "x.y": {"z": "dotted"}, "none": None, "yes": True},
    "list": [{"type": "Ready", "n": 1, "inner": [1, 2]}, {"type": "Other", "n": 2, "inner": []}, {"n": 3}],
    "numbers": [10, 20, 30, 40],
    "text": "abc",
}
LEADS: dict[str, Any] = {
    # keys
    ".a.b": 1,
    "$.a.b": 1,
    "@.a.b": 1,
    "a.b": MISSING,
    ".a.x\\.y.z": "dotted",
    ".a['x\\.y'].z": "dotted",
    ".a['x.y'].z": MISSING,
    ".a['b']": 1,
    ".a.none": None,
    ".a.none.deeper": MISSING,
    ".text.deeper": MISSING,
    ".": MISSING,
    # elements
    ".numbers[0]": 10,
    ".numbers[-1]": 40,
    ".numbers[-2]": 30,
    ".numbers[4]": MISSING,
    ".numbers[-5]": MISSING,
    ".numbers[1:3]": 20,
    ".numbers[-2:]": 30,
    ".numbers[3:1]": MISSING,
    ".numbers[1:4:2]": 20,
    ".numbers[::0]": MISSING,
    ".numbers[*]": 10,
    ".numbers[]": 10,
    ".numbers[2,0]": 30,
    ".numbers[9,0]": MISSING,
    ".a[0]": MISSING,
    ".list[*].n": 1,
    ".list[2].type": MISSING,
    # filters
    '.list[?(@.type=="Other")].n': 2,
    ".list[?(@.type=='Other')].n": 2,
    ".list[?(@.type == 'Other')].n": 2,
    '.list[?(@.type=="None")].n': MISSING,
    ".list[?(@.type)].n": 1,
    ".list[?(@.n>1)].type": "Other",
    ".list[?(@.n>=3)].n": 3,
    ".list[?(@.n<1)].n": MISSING,
    ".list[?(@.n<=1)].n": 1,
    ".list[?(@.n!=1)].n": 2,
    ".list[?(@.n=<1)].n": MISSING,
    ".a(b)": MISSING,
    ".list[?(@.type==1)].n": MISSING,
    ".list[?(@.n==Other)].n": MISSING,
    ".list[?(@.inner[*]==1)].n": MISSING,
    ".list[?(@.inner[1]==2)].n": MISSING,
    ".text[?(@.a)]": MISSING,
    ".a[?(@.yes==true)]": MISSING,
    # wildcards and descent
    ".a.*": 1,
    "..n": 1,
    "..z": "dotted",
    "..type": "Ready",
    "..nothing": MISSING,
    "..[0]": MISSING,
    # literals
    '"text"': "text",
    "'it\\'s'": "it's",
    "'\\x41\\u00e9\\101\\n'": "AéA\n",
    ".a 5": 5,
    ".a -1.5": -1.5,
    ".a true": True,
}
UNREADABLE = [
    ".a[", ".a[b]", ".a['b]", ".a[1:2:3:4]", ".a[?(@.b]", ".a[?(@.b)", ".a[?(@.b==)].c[", ".....a", ".a{", ".a}",
    "'open", "'\\q'", ".numbers[-]", ".a 1.2.3", ".a[99999999999999999999]", ".[?(" * 30 + "@.a" + ")]" * 30,
]  # fmt: skip


class PathTests(SynchronousTestCase):
    def test_leads(self) -> None:
        """A path leads to the first value that it finds (reference CRD-60)."""
        for text, value in LEADS.items():
            found = Path(text).first(OBJ, StepBudget())
            self.assertEqual((text, type(found), found), (text, type(value), value))

    def test_unreadable(self) -> None:
        """MalformedBody paths are refused (reference CRD-60)."""
        for text in UNREADABLE:
            with self.assertRaises(PathError, msg=text):
                Path(text)

    def test_budget(self) -> None:
        """A path over too many values leads nowhere, however deep they are (reference CRD-60)."""
        deep: Any = {"n": 1}
        for _ in range(2000):
            deep = {"d": [deep]}
        self.assertIs(Path("..d..d..d..n").first(deep, StepBudget()), MISSING)
        self.assertEqual(Path("..n").first(deep, StepBudget(100_000)), 1)
        budget = StepBudget(10)
        self.assertIs(Path("..n").first(deep, budget), MISSING)
        self.assertIs(Path("..n").first({"n": 1}, budget), MISSING)
        self.assertEqual(Path(".n").first({"n": 1}, budget), 1)

    @given(st.text(alphabet=".[]*?()@$'\"\\:,-=!<>ab01 ", max_size=24))
    @examples(400)
    def test_any_text(self, text: str) -> None:
        """Whatever is taken for a path is read or refused, and leads somewhere or nowhere (reference CRD-60)."""
        try:
            path = Path(text)
        except PathError:
            return
        path.first({"a": [{"b": "0"}, 1, None], "b": {"a": "1"}}, StepBudget())
