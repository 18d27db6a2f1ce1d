"""JSON merge patch, RFC 7386 (reference PATCH-12)."""

from __future__ import annotations

import copy
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.apply.merge_patch import merge_patch, parse_merge_patch
from orchtw.errors import BadRequest

# RFC 7386, appendix A: target, patch, result.
EXAMPLES: tuple[tuple[Any, Any, Any], ...] = (
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    (["a", "b"], ["c", "d"], ["c", "d"]),
    ({"a": "b"}, ["c"], ["c"]),
    ({"a": "foo"}, None, None),
    ({"a": "foo"}, "bar", "bar"),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
)

# RFC 7386, section 3.
DOCUMENT = {
    "title": "Goodbye!",
    "author": {"givenName": "John", "familyName": "Doe"},
    "tags": ["example", "sample"],
    "content": "This will be unchanged",
}
CHANGES = {
    "title": "Hello!",
    "phoneNumber": "+01-123-456-7890",
    "author": {"familyName": None},
    "tags": ["example"],
}
CHANGED = {
    "title": "Hello!",
    "author": {"givenName": "John"},
    "tags": ["example"],
    "content": "This will be unchanged",
    "phoneNumber": "+01-123-456-7890",
}


class MergePatchTests(SynchronousTestCase):
    """JSON Merge Patch application (`merge_patch`)."""

    def test_examples_of_the_standard(self) -> None:
        """Every example of RFC 7386 gives the result that the standard names, and changes neither argument."""
        for target, patch, result in (*EXAMPLES, (DOCUMENT, CHANGES, CHANGED)):
            before = copy.deepcopy((target, patch))
            self.assertEqual(merge_patch(target, patch), result)
            self.assertEqual((target, patch), before)


class ParseTests(SynchronousTestCase):
    """JSON Merge Patch parsing (`parse_merge_patch`)."""

    def test_object(self) -> None:
        """A JSON object is a patch."""
        self.assertEqual(parse_merge_patch(b'{"a":null}'), {"a": None})

    def test_anything_else(self) -> None:
        """A body other than a JSON object is refused with 400 (reference PATCH-12)."""
        for body in (b"", b"{", b"[]", b"null", b'"a"', b"a: b"):
            error = self.assertRaises(BadRequest, parse_merge_patch, body)
            self.assertEqual(error.message, "Invalid JSON Patch")
