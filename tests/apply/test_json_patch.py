"""JSON patch, RFC 6902, with the limits of the API (reference PATCH-9, PATCH-10, ERR-33)."""

from __future__ import annotations

import copy
from typing import Any

import jsonpatch
import orjson
from hypothesis import given
from hypothesis import strategies as some
from twisted.trial.unittest import SynchronousTestCase

from orchtw.apply.json_patch import (
    MAX_COPIED_BYTES,
    MAX_OPERATIONS,
    CannotApply,
    json_patch,
    parse_json_patch,
    unknown_members,
)
from orchtw.errors import BadRequest, RequestEntityTooLarge
from tests.properties import examples

_KEYS = some.text("ab~/", max_size=2)
_LEAVES = some.none() | some.booleans() | some.integers(-9, 9) | some.text("ab~/", max_size=3)
_VALUES = some.recursive(
    _LEAVES, lambda inner: some.lists(inner, max_size=4) | some.dictionaries(_KEYS, inner, max_size=4)
)
_DOCUMENTS = some.dictionaries(_KEYS, _VALUES, max_size=4)


def op(name: str, path: str, *value: Any, **more: Any) -> dict[str, Any]:
    """Return a JSON Patch operation."""
    return {"op": name, "path": path, **({"value": value[0]} if value else {}), **more}


# RFC 6902, appendix A: document, operations, result (None: it does not apply).
EXAMPLES: dict[str, tuple[Any, list[dict[str, Any]], Any]] = {
    "A.1": ({"foo": "bar"}, [op("add", "/baz", "qux")], {"baz": "qux", "foo": "bar"}),
    "A.2": ({"foo": ["bar", "baz"]}, [op("add", "/foo/1", "qux")], {"foo": ["bar", "qux", "baz"]}),
    "A.3": ({"baz": "qux", "foo": "bar"}, [op("remove", "/baz")], {"foo": "bar"}),
    "A.4": ({"foo": ["bar", "qux", "baz"]}, [op("remove", "/foo/1")], {"foo": ["bar", "baz"]}),
    "A.5": ({"baz": "qux", "foo": "bar"}, [op("replace", "/baz", "boo")], {"baz": "boo", "foo": "bar"}),
    "A.6": (
        {"foo": {"bar": "baz", "waldo": "fred"}, "qux": {"corge": "grault"}},
        [op("move", "/qux/thud", **{"from": "/foo/waldo"})],
        {"foo": {"bar": "baz"}, "qux": {"corge": "grault", "thud": "fred"}},
    ),
    "A.7": (
        {"foo": ["all", "grass", "cows", "eat"]},
        [op("move", "/foo/3", **{"from": "/foo/1"})],
        {"foo": ["all", "cows", "eat", "grass"]},
    ),
    "A.8": (
        {"baz": "qux", "foo": ["a", 2, "c"]},
        [op("test", "/baz", "qux"), op("test", "/foo/1", 2)],
        {"baz": "qux", "foo": ["a", 2, "c"]},
    ),
    "A.9": ({"baz": "qux"}, [op("test", "/baz", "bar")], None),
    "A.10": ({"foo": "bar"}, [op("add", "/child", {"grandchild": {}})], {"foo": "bar", "child": {"grandchild": {}}}),
    "A.11": ({"foo": "bar"}, [op("add", "/baz", "qux", xyz=123)], {"foo": "bar", "baz": "qux"}),
    "A.12": ({"foo": "bar"}, [op("add", "/baz/bat", "qux")], None),
    "A.14": ({"/": 9, "~1": 10}, [op("test", "/~01", 10)], {"/": 9, "~1": 10}),
    "A.15": ({"/": 9, "~1": 10}, [op("test", "/~01", "10")], None),
    "A.16": ({"foo": ["bar"]}, [op("add", "/foo/-", ["abc", "def"])], {"foo": ["bar", ["abc", "def"]]}),
}

# Beyond the examples: document, operations, result.
MORE: tuple[tuple[Any, list[dict[str, Any]], Any], ...] = (
    ({"a": [1, 2]}, [op("add", "/a/-1", 3)], {"a": [1, 2, 3]}),
    ({"a": [1, 2]}, [op("add", "/a/-2", 3)], {"a": [1, 3, 2]}),
    ({"a": [1, 2]}, [op("remove", "/a/-1")], {"a": [1]}),
    ({"a": [1, 2]}, [op("replace", "/a/-2", 0)], {"a": [0, 2]}),
    ({"a": [1, 2]}, [op("test", "/a/-1", 2)], {"a": [1, 2]}),
    ({"a": [1, 2]}, [op("remove", "/a/2")], None),
    ({"a": [1, 2]}, [op("remove", "/a/-3")], None),
    ({"a": [1, 2]}, [op("remove", "/a/-")], None),
    ({"a": [1, 2]}, [op("add", "/a/3", 0)], None),
    ({"a": [1, 2]}, [op("add", "/a/01", 0)], None),
    ({"a": [1, 2]}, [op("add", "/a/1e0", 0)], None),
    ({"a": [1, 2]}, [op("add", "/a/١", 0)], None),
    ({"a": 1}, [op("remove", "/b")], None),
    ({"a": 1}, [op("replace", "/b", 1)], None),
    ({"a": 1}, [op("add", "/a/b", 1)], None),
    ({"a": 1}, [op("add", "/b")], None),
    ({"a": 1}, [op("add", "b", 1)], None),
    ({"a": 1}, [op("zap", "/a", 1)], None),
    ({"a": 1}, [{"path": "/a", "value": 1}], None),
    ({"a": 1}, [{"op": ["add"], "path": "/a", "value": 1}], None),
    ({"a": 1}, [{"op": "add", "path": 7, "value": 1}], None),
    ({"a": 1}, [op("move", "/b")], None),
    ({"a": {"b": 1}}, [op("move", "/a/b/c", **{"from": "/a"})], None),
    ({"a": {"b": 1}}, [op("move", "/a", **{"from": "/a"})], {"a": {"b": 1}}),
    ({"a": {"b": 1}}, [op("copy", "/a/c", **{"from": "/a"})], {"a": {"b": 1, "c": {"b": 1}}}),
    ({"a": 1}, [op("test", "/b", None)], {"a": 1}),
    ({"a": 1}, [op("test", "/a", None)], None),
    ({"a": 1}, [op("test", "/a", True)], None),
    ({"a": {"x": [1]}}, [op("test", "/a", {"x": [True]})], None),
    ({"a": 1}, [op("test", "/a", 1.0)], {"a": 1}),
    ({"a": 1}, [op("add", "", {"b": 2})], {"b": 2}),
    ({"a": 1}, [op("replace", "", {"b": 2})], {"b": 2}),
    ({"a": 1}, [op("test", "", {"a": 1})], {"a": 1}),
    ({"a/b": 1, "m~n": 2}, [op("replace", "/a~1b", 3), op("remove", "/m~0n")], {"a/b": 3}),
    ({"": 1}, [op("replace", "/", 2)], {"": 2}),
)


class JSONPatchTests(SynchronousTestCase):
    """JSON Patch application (`json_patch`)."""

    def check(self, document: Any, operations: list[dict[str, Any]], result: Any) -> None:
        arguments = copy.deepcopy((document, operations))
        if result is None:
            self.assertRaises(CannotApply, json_patch, *arguments)
        else:
            self.assertEqual(json_patch(*arguments), result, operations)

    def test_examples_of_the_standard(self) -> None:
        """Every example of RFC 6902 gives the result that the standard names."""
        for example in EXAMPLES.values():
            self.check(*example)

    def test_duplicate_members(self) -> None:
        """Of an operation's member that comes twice the last one counts (RFC 6902, A.13 leaves it open)."""
        operations = parse_json_patch(b'[{"op":"add","path":"/baz","value":"qux","op":"remove"}]')
        self.check({"baz": 1}, operations, {})

    def test_more(self) -> None:
        """Negative indices count from the end; what does not apply is refused (reference PATCH-9, PATCH-11)."""
        for example in MORE:
            self.check(*example)

    def test_refusal(self) -> None:
        """A patch that cannot be applied is a 422 with a general text (reference PATCH-11, ERR-34)."""
        error = self.assertRaises(CannotApply, json_patch, {}, [op("remove", "/a")])
        self.assertEqual((error.code, error.reason, error.details), (422, "Invalid", {}))
        self.assertEqual(error.message, "the server rejected our request due to an error in our request")

    def test_reasons(self) -> None:
        """The reason why a patch cannot be applied is shown only to users who may know it (reference HOOK-24)."""
        missing = "missing value"
        for operation, why in (
            (op("remove", "/x"), f"error in remove for path: '/x': Unable to remove nonexistent key: x: {missing}"),
            (op("remove", "/x/y"), f'remove operation does not apply: doc is missing path: "/x/y": {missing}'),
            (op("remove", "/l/3"), "error in remove for path: '/l/3': Unable to access invalid index: 3: "
             "invalid index referenced"),
            (op("add", "/x/y", 1), f'add operation does not apply: doc is missing path: "/x/y": {missing}'),
            (op("add", "/l/y", 1), "error in add for path: '/l/y': value was not a proper array index: 'y': "
             'strconv.Atoi: parsing "y": invalid syntax'),
            (op("replace", "/x", 1), f"replace operation does not apply: doc is missing key: /x: {missing}"),
            (op("replace", "/x/y", 1), f"replace operation does not apply: doc is missing path: /x/y: {missing}"),
            (op("move", "/y", **{"from": "/x"}), "error in move for path: 'x': unable to get nonexistent key: x: "
             f"{missing}"),
            (op("move", "/y/z", **{"from": "/a"}), "move operation does not apply: doc is missing destination path: "
             f"/y/z: {missing}"),
            (op("copy", "/y", **{"from": "/x/y"}), "copy operation does not apply: doc is missing from path: /x/y: "
             f"{missing}"),
            (op("test", "/a", 2), "testing path /a failed: test failed"),
            (op("test", "/x/y", 2), f"test operation does not apply: is missing path: /x/y: {missing}"),
            (op("go", "/a"), "Unexpected kind: go"),
            ({"op": "remove"}, f"remove operation failed to decode path: {missing}"),
        ):
            error = self.assertRaises(CannotApply, json_patch, {"a": 1, "l": [0]}, [operation])
            self.assertEqual(error.why, why)

    def test_copies_are_limited(self) -> None:
        """Copies may add 3 MiB in all, however often they double (reference PATCH-10)."""
        double = [op("copy", "/a/-", **{"from": "/a"})]
        document = {"a": ["x" * (MAX_COPIED_BYTES // 4)]}
        json_patch(copy.deepcopy(document), double)
        self.assertRaises(CannotApply, json_patch, document, double * 3)

    def test_copies_are_copies(self) -> None:
        """A change of a copy leaves the original alone."""
        operations = [op("copy", "/b", **{"from": "/a"}), op("add", "/b/x", 1)]
        self.check({"a": {}}, operations, {"a": {}, "b": {"x": 1}})

    @examples(200)
    @given(_DOCUMENTS, _DOCUMENTS)
    def test_agrees_with_another_implementation(self, left: Any, right: Any) -> None:
        """The difference of two documents, as the library `jsonpatch` finds it, turns the one into the other."""
        operations = jsonpatch.make_patch(left, right).patch
        self.assertEqual(json_patch(copy.deepcopy(left), copy.deepcopy(operations)), right)


class ParseTests(SynchronousTestCase):
    """JSON Patch parsing (`parse_json_patch`)."""

    def test_anything_else(self) -> None:
        """A body other than a JSON list of objects is refused with 400 (reference PATCH-10)."""
        for body in (b"", b"[", b"{}", b"null", b"[1]", b'[{"op":"test"},null]'):
            error = self.assertRaises(BadRequest, parse_json_patch, body)
            self.assertIn("error decoding patch: ", error.message)

    def test_too_many_operations(self) -> None:
        """More than 10,000 operations are refused with 413 (reference ERR-33)."""
        self.assertEqual(len(parse_json_patch(orjson.dumps([{}] * MAX_OPERATIONS))), MAX_OPERATIONS)
        error = self.assertRaises(RequestEntityTooLarge, parse_json_patch, orjson.dumps([{}] * (MAX_OPERATIONS + 1)))
        text = "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"
        self.assertEqual(error.message, text)

    def test_unknown_members(self) -> None:
        """Members that no operation has are named with their places (reference WRITE-28)."""
        operations = [op("add", "/a", 1), op("add", "/b", 1, x=1, y=2)]
        texts = ['json patch unknown field "[1].x"', 'json patch unknown field "[1].y"']
        self.assertEqual(unknown_members(operations), texts)
