"""YAML as another spelling of JSON."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import BadRequest
from orchtw.naming.naming import Naming
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.body import read_body
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.codec.mismatch import MalformedBody
from orchtw.schema.codec.strict_fields import IGNORE
from orchtw.schema.codec.yaml_codec import decode_yaml, encode_yaml
from orchtw.schema.values import MAX_DEPTH
from tests.properties import examples

SCALARS: dict[str, Any] = {
    "yes": True,
    "On": True,
    "y": True,
    "n": False,
    "off": False,
    "'yes'": "yes",
    "~": None,
    "null": None,
    "2001-01-01": "2001-01-01",
    "2001-01-01T00:00:00Z": "2001-01-01T00:00:00Z",
    "!!timestamp 2001-01-01": "2001-01-01",
    "22:22": "22:22",
    "0777": 511,
    "0x1F": 31,
    "0b11": 3,
    "0o644": 420,
    "0x_": "0x_",
    "1_000": 1000,
    "-3": -3,
    "1e3": 1000,
    "1.0": 1,
    ".5": 0.5,
    "!!str 12": "12",
    "! 12": "12",
    "!!int 12": 12,
    "!!float 1": 1,
    "18446744073709551615": 2**64 - 1,
    "18446744073709551616": float(2**64),
    "1.2.3": "1.2.3",
    "-": [None],
    "-x": "-x",
}
REFUSED = {
    b".nan": "finite number",
    b"-.inf": "finite number",
    b"1e999": "finite number",
    b"9" * 500: "at most 250 digits",
    b"!!binary aGk=": "cannot be represented in JSON",
    b"!!python/object/apply:os.system [x]": "",
    b"!!int x": "cannot be represented in JSON",
    b"{a: b": "",
    b"a: b: c": "",
    b"\xff": "utf-8",
    b'"\\ud800"': "",
    b"[" * 100_000: "at most 200 levels",
    b"- " * 100_000: "at most 200 levels",
    b"&a [*a]": "unknown anchor",
    b"*b": "",
    b"? [x]\n: y": "key that is a string",
    b"~: y": "key that is a string",
    b"a: 1\n---\nb: 2": "more than one document",
    b"<<: 1": "object to merge",
}


class DecodeTests(SynchronousTestCase):
    """YAML 1.1 as Kubernetes' reader knows it."""

    def test_scalars(self) -> None:
        """Scalars are resolved as sigs.k8s.io/yaml resolves them."""
        for text, value in SCALARS.items():
            found = decode_yaml(f"k: {text}\n".encode() if text != "-" else b"k:\n-\n")["k"]
            self.assertEqual((found, type(found)), (value, type(value)), text)

    def test_keys(self) -> None:
        """Keys become strings and come out sorted; the last of two counts."""
        found = decode_yaml(b"b: 1\n1: x\n1.5: f\non: z\nb: 2\na: 0\n")
        self.assertEqual(list(found.items()), [("1", "x"), ("1.5", "f"), ("a", 0), ("b", 2), ("true", "z")])

    def test_aliases_and_merges(self) -> None:
        """Aliases and merge keys work; a key of the mapping itself wins over a merged one."""
        found = decode_yaml(b"a: &a {x: 1, y: 2}\nb: {<<: *a, x: 3}\nc: [*a]\nd: {<<: [{q: 1}, {q: 2}]}\n")
        self.assertEqual(found["b"], {"x": 3, "true": 2})
        self.assertEqual(found["c"], [{"x": 1, "true": 2}])
        self.assertEqual(found["d"], {"q": 1})
        self.assertEqual(decode_yaml(b"'<<': 1"), {"<<": 1}, "a quoted key merges nothing")

    def test_documents(self) -> None:
        """Nothing is None; empty documents around the one do not matter; JSON is YAML."""
        self.assertIsNone(decode_yaml(b""))
        self.assertIsNone(decode_yaml(b"# nothing\n---\n"))
        self.assertEqual(decode_yaml(b"---\na: 1\n---\n"), {"a": 1})
        self.assertEqual(decode_yaml(b'{"a":"\\u00e9","b":[1.5,null]}'), {"a": "é", "b": [1.5, None]})

    def test_refused(self) -> None:
        """Values without a JSON form, and absurd ones, are a 400 that says why (reference ENC-9)."""
        codec = Codecs(Catalogue.load(Naming.orch())).kind("v1", "Pod")
        for body, why in REFUSED.items():
            error = self.assertRaises(BadRequest, read_body, codec, body, "yaml", IGNORE)
            self.assertIn("(must be of type Pod): couldn't get version/kind; yaml parse error: ", error.message)
            self.assertIn(why, error.message, body[:40])

    def test_alias_bomb(self) -> None:
        """Aliases that multiply are refused before they do, by size and by depth."""
        bomb = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
            f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 10)}]\n" for i in range(9)
        )
        self.assertIn("too large", str(self.assertRaises(MalformedBody, decode_yaml, bomb.encode())))
        wide = "a: &a '" + "x" * 1_000_000 + "'\nb: [" + ",".join(["*a"] * 100) + "]\n"
        self.assertIn("too large", str(self.assertRaises(MalformedBody, decode_yaml, wide.encode())))
        tower = "k0: &a0 []\n" + "".join(f"k{i}: &a{i} [*a{i - 1}]\n" for i in range(1, MAX_DEPTH + 1))
        self.assertIn("200 levels", str(self.assertRaises(MalformedBody, decode_yaml, tower.encode())))

    def test_typed(self) -> None:
        """A kind's codec reads YAML with the same rules and refusals as JSON."""
        codec = Codecs(Catalogue.load(Naming.orch())).kind("v1", "ConfigMap")
        obj, _ = read_body(codec, b"metadata: {name: a}\ndata: {k: 'on'}\n", "yaml", IGNORE)
        self.assertEqual(obj["data"], {"k": "on"})
        error = self.assertRaises(BadRequest, read_body, codec, b"data: {k: on}\n", "yaml", IGNORE)
        self.assertIn("data[k]: expected a string, got boolean true", error.message)
        self.assertRaises(BadRequest, read_body, codec, b"- a", "yaml", IGNORE)


class EncodeTests(SynchronousTestCase):
    def test_layout(self) -> None:
        """Keys are sorted, lists stand at their parents' indentation, strings that look otherwise are quoted."""
        obj: dict[str, Any] = {
            "b": [{"y": "on", "x": "1e3"}],
            "a": None,
            "c": {},
            "d": [],
            "e": "2026-01-01T00:00:00Z",
            "f": "l\nm\n",
        }
        expected = 'a: null\nb:\n- x: "1e3"\n  "y": "on"\nc: {}\nd: []\ne: "2026-01-01T00:00:00Z"\nf: |\n  l\n  m\n'
        self.assertEqual(encode_yaml(obj).decode(), expected)

    def test_long_lines(self) -> None:
        """Long strings are not folded, shared values not anchored."""
        shared = ["word " * 100 + "end"]
        text = encode_yaml({"a": shared, "b": shared}).decode()
        self.assertEqual(text.count("\n"), 4)
        self.assertNotIn("&", text)

    @examples(150)
    @given(
        st.recursive(
            st.none()
            | st.booleans()
            | st.integers(-(2**63), 2**63 - 1)
            | st.floats(-1e9, 1e9)
            | st.text(max_size=20)
            | st.sampled_from(
                ["yes", "~", "0x1", "0o1", "a: b", "- a", "#", "<<", "=", "1:20", "2020-01-01", "\t", " ", "\x85"]
            ),
            lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
            max_leaves=12,
        )
    )
    def test_round_trip(self, value: Any) -> None:
        """Whatever is written reads back the same."""
        self.assertEqual(decode_yaml(encode_yaml({"v": value})), {"v": value})
