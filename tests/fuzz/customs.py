"""Custom kinds for the fuzzer: their definitions, schemas drawn at random, and values that fit a schema or nearly."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from random import Random
from typing import Any

from orchtw.naming.naming import Naming
from tests.fuzz import words

Schema = dict[str, Any]

GROUP, OTHER_GROUP, STEADY_GROUP = "fuzz.example.com", "more.fuzz.example.com", "steady.example.com"
"""Definitions of the last one are never changed: what is read of their objects is what was stored."""

MAX_DEPTH = 4

_TEXT: Schema = {"type": "string"}
_COUNT: Schema = {"type": "integer", "format": "int32", "minimum": 0, "maximum": 100}
PATTERNS = (
    "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "a|b|web-1", "", ".*", "(a+)+$", "^(?:[a-z]{1,63}\\.){1,200}$", "[", "(?=a)",
    "\\p{L}+", "(?i)A", "\\1", "^\\S{1000}$", "(((((((((((a{50}){50}", "\\bx\\b", "\u00fc", "a{1001}", "(?P<n>a)",
    "\x00",
)  # fmt: skip
FORMATS = (
    "date-time", "date", "uri", "email", "hostname", "ipv4", "ipv6", "cidr", "byte", "uuid", "int32", "int64",
    "double",
    "duration", "password", "bsonobjectid", "mac", "isbn", "creditcard", "hexcolor", "nope", "",
)  # fmt: skip
COLUMNS = (
    ".spec.count", ".metadata.name", ".spec.items[0].name", ".spec.items[*].name", "..name", ".spec.*", ".spec",
    '.spec.items[?(@.name=="a")].value', ".spec.items[-1:]", ".spec['count']", ".spec.items[0,1].name",
    "{.spec.count}",
    ".spec.items[?(@.a>1)]", ".spec.items[::0]", ".spec.items[9999999999999999999]", ".", "..", ".spec..", "[", ".[",
    '.spec.items[?(@..a==@..b)]', ".a[?(@.b[?(@.c)])]", "..*..*..*", ".spec.text", ".\u00fc", ".spec.map.a\\.b",
    '.spec.items[?(@.name=~"a")]', ".spec.items[?(", "$", "@", "", "spec",
    ".status.conditions[?(@.type=='Ready')].status",
)  # fmt: skip
RULES = (
    "self.count >= 0", "self.count >= oldSelf.count", "has(self.text)", "self.items.all(i, i.name != '')",
    "self.items.exists(i, self.items.all(j, j.name == i.name))", "size(self.map) < 10", "self == oldSelf", "true",
    "1", "",
    "self.nope", "self.map.all(k, k.matches('^a+$'))", "self.text.matches('(a+)+$')", "self.count / 0 == 1", "self.",
    "self.items.map(i, i.name).filter(n, n.startsWith('a')).size() >= 0", "duration('1s') < duration('2s')",
    "oldSelf",
    "self.count + 9223372036854775807 > 0", "'\\u00fc' in self.map", "(" * 60 + "true" + ")" * 60,
    "self.items[99].name == ''",
    "[1,2,3].exists_one(x, x == self.count)", "type(self) == map", "string(self.count) == '1'", "int(self.text) > 1",
    "timestamp(self.text) > timestamp('2026-01-01T00:00:00Z')", "self.items.isSorted()",
    "self.text.split('')[0] == 'a'",
    "self.both > 1", "has(self.embedded.metadata.name)", "{'a': 1}['b'] == 1", "b'a' == bytes(self.text)",
    "!has(self.nope)",
    "'" + "a" * 5000 + "' == self.text", "self.text.replace('', 'xxxxxxxxxxxxxxxx').size() < 100",
    " && ".join(["true"] * 300),
)  # fmt: skip
_ENUMS: tuple[list[Any], ...] = (
    ["a", "b"],
    ["a", "web-1", None],
    [1, 2, 1.5],
    [{"a": 1}, [1]],
    [True],
    [],
    ["a", "a"],
)
_DEFAULTS: tuple[Any, ...] = ("a", 1, {}, [], None, {"a": "b"}, [{"name": "a"}], True, 1.5, "x" * 3000)
_SCALE_PATHS = (
    ".spec.replicas", ".status.replicas", ".status.selector", ".spec.count", "", ".", "spec.replicas",
    ".spec.items[0]",
    ".metadata.name", ".spec.a.b.c.d", ".spec", "..spec", ".spec.\u00fc",
)  # fmt: skip


def definitions(naming: Naming) -> list[dict[str, Any]]:
    """One definition of each kind of custom resource, as it should be."""
    extension = naming.extension_prefix
    plain = {**base(extension)}
    columns = [{"name": path, "type": "string", "jsonPath": path} for path in COLUMNS[:4]]
    lasting: dict[str, Any] = {"additionalPrinterColumns": columns, "subresources": both()}
    hook = {"service": {"namespace": "fuzz-0", "name": "a", "path": "/convert"}}
    webhook = {"strategy": "Webhook", "webhook": {"clientConfig": hook, "conversionReviewVersions": ["v1"]}}
    anything = {"type": "object", f"{extension}preserve-unknown-fields": True}
    old, new = _version("v1beta1", plain, storage=False), _version("v1", plain, **lasting)
    return [
        _definition(naming, GROUP, "gadgets", [new]),
        _definition(naming, GROUP, "gizmos", [new, old], scope="Cluster"),
        _definition(naming, GROUP, "gears", [new, _version("v2", plain, storage=False)], conversion=webhook),
        _definition(naming, GROUP, "things", [_version("v1", anything)]),
        _definition(naming, OTHER_GROUP, "gadgets", [_version("v1", ruled(extension), subresources={"status": {}})]),
        _definition(naming, OTHER_GROUP, "parts", [_version("v1", plain, subresources=both())], scope="Cluster"),
        _definition(naming, STEADY_GROUP, "rocks", [new, old]),
        _definition(naming, STEADY_GROUP, "hills", [_version("v1", ruled(extension), **lasting)], scope="Cluster"),
    ]


def both() -> dict[str, Any]:
    """Return both sub-resources, status and scale."""
    return {"status": {}, "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}}


def base(extension: str) -> Schema:
    """A schema with something of everything."""
    item = {"type": "object", "required": ["name"], "properties": {"name": _TEXT, "value": {**_TEXT, "default": "v"}}}
    spec: dict[str, Schema] = {
        "count": _COUNT,
        "replicas": {**_COUNT, "default": 1},
        "text": {**_TEXT, "maxLength": 4000},
        "choice": {**_TEXT, "enum": ["a", "b", "c"], "default": "a"},
        "name": {**_TEXT, "pattern": PATTERNS[0]},
        "map": {"type": "object", "additionalProperties": _TEXT},
        "items": {
            "type": "array",
            "items": item,
            f"{extension}list-type": "map",
            f"{extension}list-map-keys": ["name"],
        },
        "set": {"type": "array", "items": _TEXT, f"{extension}list-type": "set"},
        "both": {f"{extension}int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
        "anything": {f"{extension}preserve-unknown-fields": True},
        "embedded": {
            "type": "object",
            f"{extension}embedded-resource": True,
            f"{extension}preserve-unknown-fields": True,
        },
        "when": {**_TEXT, "format": "date-time", "nullable": True},
        "share": {"type": "number", "multipleOf": 0.5},
    }
    status = {"type": "object", "properties": {"replicas": _COUNT, "selector": _TEXT, "phase": _TEXT}}
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": spec}, "status": status}}


def ruled(extension: str) -> Schema:
    """The same with expressions."""
    schema = copy.deepcopy(base(extension))
    rules = [{"rule": rule, "message": "m"} for rule in ("!has(self.count) || self.count < 50", "size(self) < 12")]
    schema["properties"]["spec"][f"{extension}validations"] = rules
    schema["properties"]["spec"]["properties"]["items"]["maxItems"] = 20
    return schema


def _version(name: str, schema: Schema, *, storage: bool = True, **more: Any) -> dict[str, Any]:
    return {"name": name, "served": True, "storage": storage, "schema": {"openAPIV3Schema": schema}, **more}


def _definition(
    naming: Naming, group: str, plural: str, versions: list[dict[str, Any]], **more: Any
) -> dict[str, Any]:
    kind = plural.removesuffix("s").capitalize()
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    spec = {"group": group, "scope": "Namespaced", "names": names, "versions": versions, **more}
    return {
        "apiVersion": f"{naming.group('apiextensions.orch.io')}/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": copy.deepcopy(spec),
    }


class Shapes:
    """Schemas, and values by schemas, out of one source of randomness."""

    def __init__(self, random: Random, extension: str) -> None:
        self._random = random
        self._extension = extension

    def schema(self, depth: int = 1) -> Schema:
        """A structural schema, or nearly one."""
        choice = self._random.choice
        kind = choice(("object", "object", "array", "string", "integer", "number", "boolean", ""))
        if depth >= MAX_DEPTH and kind in ("object", "array"):
            kind = "string"
        out: Schema = {"type": kind} if kind else {f"{self._extension}{choice(('int-or-string', _PRESERVE))}": True}
        if kind == "object":
            self._object(out, depth)
        elif kind == "array":
            out["items"] = self.schema(depth + 1)
            self._sometimes(out, f"{self._extension}list-type", ("atomic", "set", "map"))
            self._sometimes(out, "uniqueItems", (False, False, True))
            self._sometimes(out, "maxItems", (1, 3, 100, -1, 10**12))
        elif kind == "string":
            self._sometimes(out, "pattern", PATTERNS)
            self._sometimes(out, "format", FORMATS)
            self._sometimes(out, "maxLength", (1, 10, 10**6, -1))
        elif kind in ("integer", "number"):
            self._sometimes(out, "multipleOf", (1, 0.1, 3, 0, -1, 1e-300))
            self._sometimes(out, "maximum", (1, 2**63 - 1, 1e308, -(2**63)))
            self._sometimes(out, "format", ("int32", "int64", "float", "double"))
        self._common(out, depth)
        return out

    def _object(self, out: Schema, depth: int) -> None:
        names = self._random.sample(_FIELDS, self._random.choice((0, 1, 2, 3)))
        if self._random.random() < 0.3 or not names:
            out["additionalProperties"] = self.schema(depth + 1)
        else:
            out["properties"] = {name: self.schema(depth + 1) for name in names}
        self._sometimes(out, "required", (names, ["nope"], []))
        self._sometimes(out, f"{self._extension}{_PRESERVE}", (True,))
        self._sometimes(out, f"{self._extension}map-type", ("atomic", "granular", "x"))
        self._sometimes(out, "maxProperties", (0, 2, 10**9))

    def _common(self, out: Schema, depth: int) -> None:
        choice = self._random.choice
        self._sometimes(out, "nullable", (True, True, False))
        self._sometimes(out, "enum", _ENUMS, 0.05)
        self._sometimes(out, "default", (self.value(out), self.value(out), choice(_DEFAULTS)), 0.15)
        self._sometimes(out, "description", words.TEXTS)
        if self._random.random() < 0.08:
            out[f"{self._extension}validations"] = [self.rule() for _ in range(choice((1, 1, 2)))]
        if self._random.random() < 0.08:
            out[choice(("anyOf", "oneOf", "allOf"))] = [self.condition() for _ in range(choice((1, 2, 3)))]
        if self._random.random() < 0.03:
            out["not"] = self.condition()

    def condition(self) -> Schema:
        """Draw content of an anyOf, valid or nearly."""
        choice = self._random.choice
        some: Schema = choice(
            ({"required": ["spec"]}, {"pattern": choice(PATTERNS)}, {"enum": list(choice(_ENUMS))}, {"minimum": 1},
            {"maxItems": 2},
             {"properties": {choice(_FIELDS): {"minLength": 1}}}, {"type": "string"},
             {"anyOf": [{"format": choice(FORMATS)}]})
        )  # fmt: skip
        return copy.deepcopy(some)

    def rule(self) -> dict[str, Any]:
        """An expression that may hold of nothing."""
        out = {"rule": self._random.choice(RULES)}
        self._sometimes(out, "message", words.TEXTS)
        return out

    def _sometimes(self, out: dict[str, Any], key: str, values: Any, share: float = 0.2) -> None:
        if self._random.random() < share:
            out[key] = copy.deepcopy(self._random.choice(values))  # what is drawn may be spoilt in place

    def value(self, schema: Any, depth: int = 1) -> Any:
        """A value that a schema may like."""
        choice = self._random.choice
        if not isinstance(schema, Mapping):
            return copy.deepcopy(choice(_DEFAULTS))
        if schema.get("enum") and self._random.random() < 0.9:
            return copy.deepcopy(choice(schema["enum"]))
        kind = schema.get("type")
        if kind == "object":
            return self._fields(schema, depth)
        if kind == "array":
            return [self.value(schema.get("items"), depth + 1) for _ in range(choice((0, 1, 2, 3, 3)))]
        if kind == "string":
            return (
                choice(words.TIMES) if schema.get("format") == "date-time" else choice((*words.NAMES, *words.TEXTS))
            )
        if kind in ("integer", "number"):
            return choice((0, 1, 2, 3, 50, 1.0, 0.5, -1, 2**31, 2**63, 1e300))
        return choice((True, False)) if kind == "boolean" else copy.deepcopy(choice(_DEFAULTS))

    def _fields(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        members = schema.get("properties") or {}
        required = schema.get("required") or ()
        out = {
            name: self.value(part, depth + 1)
            for name, part in members.items()
            if self._random.random() < 0.5 or name in required
        }
        if not members and depth <= MAX_DEPTH + 2:
            more = schema.get("additionalProperties")
            out |= {self._random.choice(words.KEYS): self.value(more, depth + 1) for _ in range(2)}
        return out

    def spoil_version(self, version: dict[str, Any]) -> None:
        """Change something in a version of a definition that decides on how it is served."""
        choice = self._random.choice
        what = choice(("schema", "schema", "schema", "columns", "scale", "rule", "status", "deprecated", "served"))
        if what == "schema":
            properties = version["schema"]["openAPIV3Schema"].setdefault("properties", {})
            properties[choice(("spec", "spec", "status", *_FIELDS))] = self.schema()
        elif what == "columns":
            kinds = ("string", "integer", "date", "boolean", "number", "x")
            version["additionalPrinterColumns"] = [
                {
                    "name": choice(words.TEXTS),
                    "type": choice(kinds),
                    "jsonPath": choice(COLUMNS),
                    "priority": choice((0, 1)),
                }
                for _ in range(choice((1, 2, 5)))
            ]
        elif what == "scale":
            names = ("specReplicasPath", "statusReplicasPath", "labelSelectorPath")
            version["subresources"] = {"scale": {name: choice(_SCALE_PATHS) for name in names}}
        elif what == "rule":
            spec = version["schema"]["openAPIV3Schema"].get("properties", {}).get("spec", {})
            spec[f"{self._extension}validations"] = [self.rule() for _ in range(choice((1, 2)))]
        elif what == "status":
            version["subresources"] = choice(({}, {"status": {}}, None, both()))
        else:
            version[what] = choice((True, False))


_PRESERVE = "preserve-unknown-fields"
_FIELDS = ("spec", "status", "name", "a", "b", "\u00fc", "$ref", "metadata", "kind", "class", "x" * 300)
