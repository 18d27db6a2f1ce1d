"""Hold-up by definitions and custom objects: the worst schemas and the worst objects of each.

Each subject is a definition and an object. What is measured is its creation until it is served, the first object of
it, the same again, and then what is done with objects: reads, Tables, patches, apply, a new schema, the end.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import orjson

from bench.closed_loop import ClosedLoop
from bench.custom import definition, widget
from bench.holdup import Outcome, Probe, call, figures
from bench.holdup_case import Step
from bench.http1 import JSON, Connection
from bench.session import Bench
from orchtw.naming.naming import Naming

NAMING = Naming.orch()
EXTENSION = NAMING.extension_prefix
GROUP = "holdup.example.com"
ROOT = f"/apis/{GROUP}/v1"
DEFINITIONS = f"/apis/{NAMING.group('apiextensions.orch.io')}/v1/customresourcedefinitions"
MERGE, APPLY = "application/merge-patch+json", "application/apply-patch+yaml"
ROOM = (3 << 20) - 8192
SCHEMA_ROOM = 2_700_000  # what is stored has a status and its managers beside the schema
MANY = 500
OBJECTS = 10_000
WAIT_S = 60.0
SETTLED_S = 0.3
LOADERS = 16

Schema = dict[str, Any]
TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "integer"}


@dataclass(frozen=True, slots=True)
class Subject:
    """A definition's version, as far as it is special, and the `spec` of an object."""

    name: str
    schema: Callable[[], Schema]
    spec: Callable[[], Any]
    more: dict[str, Any] = field(default_factory=dict)
    reads: bool = False
    """Whether what is stored is also read, patched and so on."""


def holdup_custom(bench: Bench) -> None:
    """Emit a line for each request of each subject, and for many definitions and many objects."""
    namespace = bench.namespace()
    bench.create(f"{namespace}/configmaps", {"metadata": {"name": "small"}})
    with Probe(bench.endpoint, f"{namespace}/configmaps/small") as probe:
        run = _Run(bench, probe, namespace.rpartition("/")[2])
        wants = bench.options.wants
        for number, subject in enumerate(SUBJECTS):
            if wants(subject.name):
                run.subject(subject, f"kind{number}s")
        for name, scenario in (("objects", run.many_objects), ("definitions", run.many_definitions)):
            if wants(name):
                scenario()


class _Run:
    def __init__(self, bench: Bench, probe: Probe, namespace: str) -> None:
        self._bench = bench
        self._endpoint = bench.endpoint
        self._probe = probe
        self._namespace = namespace

    def subject(self, subject: Subject, plural: str) -> None:
        """Measure each request of one subject."""
        found: dict[str, Any] = definition(NAMING, plural, GROUP)
        version = found["spec"]["versions"][0]
        schema = {"type": "object", "properties": {"spec": subject.schema()}}
        version.update(
            {
                "schema": {"openAPIV3Schema": schema},
                "additionalPrinterColumns": [],
                "subresources": {},
                **subject.more,
            }
        )
        name, body = subject.name, orjson.dumps(found)
        outcome = self._measure(f"{name}: define", Step(method="POST", path=DEFINITIONS, body=lambda: body), plural)
        if outcome.status != 201:
            return
        for which in ("first", "second"):
            text = orjson.dumps(self._object(plural, which, subject.spec()))
            step = Step(method="POST", path=self._path(plural), body=partial(bytes, text))
            self._measure(f"{name}: create {which}", step)
        if subject.reads:
            for what, step in self._reads(plural, subject):
                self._measure(f"{name}: {what}", step)
        self._measure(
            f"{name}: end", Step(method="DELETE", path=f"{DEFINITIONS}/{found['metadata']['name']}"), settle=1
        )

    def many_objects(self) -> None:
        """Measure a new schema and the end of a definition with many objects."""
        plural = "many"
        found: dict[str, Any] = definition(NAMING, plural, GROUP)
        self._measure(
            "objects: define", Step(method="POST", path=DEFINITIONS, body=lambda: orjson.dumps(found)), plural
        )
        loop = ClosedLoop(self._endpoint, LOADERS)

        def make(_worker: int, number: int) -> bytes:
            obj = {**widget({"name": f"n{number}"}), "apiVersion": f"{GROUP}/v1", "kind": "Many"}
            return self._endpoint.request("POST", self._path(plural), JSON, JSON, orjson.dumps(obj))

        loop.run(make, count=min(OBJECTS, self._bench.options.pods))
        loop.close()
        one = f"{DEFINITIONS}/{plural}.{GROUP}"
        schema: dict[str, Any] = {"type": "object", "properties": {"spec": {"type": "object"}}}
        schema["properties"]["spec"]["properties"] = {"added": {**TEXT, "default": "x"}}
        version = {**found["spec"]["versions"][0], "schema": {"openAPIV3Schema": schema}}
        body = orjson.dumps({"spec": {"versions": [version]}})
        step = Step(method="PATCH", path=one, body=lambda: body, content_type=MERGE)
        self._measure("objects: new schema", step, settle=3)
        for what, step in self._lists(plural):
            self._measure(f"objects: {what}", step)
        self._measure("objects: end", Step(method="DELETE", path=one), settle=15)

    def many_definitions(self) -> None:
        """Many at once, discovery and documents meanwhile and then."""
        loop = ClosedLoop(self._endpoint, LOADERS)

        def make(_worker: int, number: int) -> bytes:
            found = definition(NAMING, f"flood{number}s", f"flood{number // 10}.example.com")
            return self._endpoint.request("POST", DEFINITIONS, JSON, JSON, orjson.dumps(found))

        self._probe.start()
        began = time.monotonic()
        loop.run(make, count=MANY)
        loop.close()
        self._await(f"/apis/flood{(MANY - 1) // 10}.example.com/v1/flood{MANY - 1}s")
        time.sleep(1)
        self._emit(f"{MANY} definitions at once", Outcome(201, (time.monotonic() - began) * 1000, self._probe.stop()))
        for path in ("/apis", "/openapi/v2", "/openapi/v3", "/openapi/v3/apis/flood1.example.com/v1", DEFINITIONS):
            for which in ("first", "second"):
                self._measure(f"{path} with {MANY} definitions, {which}", Step(method="GET", path=path))
        self._measure(f"end of {MANY} definitions", Step(method="DELETE", path=DEFINITIONS), settle=10)

    def _reads(self, plural: str, subject: Subject) -> Iterator[tuple[str, Step]]:
        path = f"{self._path(plural)}/first"
        yield "get", Step(method="GET", path=path)
        yield from self._lists(plural)
        yield (
            "merge patch",
            Step(method="PATCH", path=path, body=lambda: b'{"metadata":{"labels":{"a":"b"}}}', content_type=MERGE),
        )
        applied = orjson.dumps(self._object(plural, "first", subject.spec()))
        query = "?fieldManager=bench&force=true"
        yield "apply", Step(method="PATCH", path=path + query, body=lambda: applied, content_type=APPLY)
        query = "?fieldManager=other&force=true"
        yield "apply by another", Step(method="PATCH", path=path + query, body=lambda: applied, content_type=APPLY)

    def _lists(self, plural: str) -> Iterator[tuple[str, Step]]:
        table = f"{JSON};as=Table;v=v1;g=meta.orch.io"
        partial = f"{JSON};as=PartialObjectMetadataList;v=v1;g=meta.orch.io"
        for form, accept in (("JSON", JSON), ("Table", table), ("YAML", "application/yaml"), ("metadata", partial)):
            limit = "?limit=500" if form == "YAML" else ""
            yield f"list, {form}", Step(method="GET", path=self._path(plural) + limit, accept=accept)

    def _object(self, plural: str, name: str, spec: Any) -> dict[str, Any]:
        kind = plural.removesuffix("s").capitalize()
        return {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}

    def _path(self, plural: str) -> str:
        return f"{ROOT}/namespaces/{self._namespace}/{plural}"

    def _measure(self, name: str, step: Step, plural: str = "", settle: float = SETTLED_S) -> Outcome:
        """Send a request; the time until `plural` is served, if it is given, counts."""
        data = step.body()
        request = self._endpoint.request(step.method, step.path, step.accept, step.content_type if data else "", data)
        self._bench.machine.await_quiet(self._bench.options.quiet)
        self._probe.start()
        time.sleep(0.05)
        began = time.monotonic()
        answer = call(self._endpoint, request)
        if plural and answer.status == 201:
            self._await(f"{ROOT}/{plural}")
        took_ms = (time.monotonic() - began) * 1000
        time.sleep(settle)
        outcome = Outcome(answer.status, took_ms, self._probe.stop())
        self._emit(
            name, outcome, len(data), "" if answer.status < 400 else answer.content[:300].decode(errors="replace")
        )
        return outcome

    def _await(self, path: str) -> None:
        connection = Connection(self._endpoint)
        until = time.monotonic() + WAIT_S
        request = self._endpoint.request("GET", f"{path}?limit=1")
        while connection.call(request).status != 200 and time.monotonic() < until:
            time.sleep(0.02)
        connection.close()

    def _emit(self, name: str, outcome: Outcome, size: int = 0, refusal: str = "") -> None:
        fields = figures(name, outcome, size)
        self._bench.emit("holdup-custom", {**fields, "refusal": refusal} if refusal else fields)


def _object(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties}


def _list(items: Schema, **more: Any) -> Schema:
    return {"type": "array", "items": items, **more}


def _wide(part: Schema) -> Callable[[], Schema]:
    """Return as many properties as a definition may hold, 1,000 beside each other."""
    count = SCHEMA_ROOM // (len(orjson.dumps(part)) + 11) // 1010
    group = _object(**{f"p{number:06d}": part for number in range(1000)})
    return lambda: _object(**{f"g{number}": group for number in range(count)})


def _patterns() -> Schema:
    return _object(**{f"p{n:05d}": {**TEXT, "pattern": f"^[a-z]{{1,{n % 900 + 100}}}x{n}$"} for n in range(4_000)})


def _deep(part: Schema, depth: int) -> Schema:
    for _ in range(depth):
        part = _object(a=part)
    return part


def _deep_value(depth: int) -> Any:
    value: Any = "x"
    for _ in range(depth):
        value = {"a": value}
    return value


def _nested(word: str, depth: int, width: int) -> Schema:
    """Conditions inside of conditions: `width` to the power of `depth` ways."""
    part: Schema = {"required": ["nope"]}
    for _ in range(depth):
        part = {word: [part] * width}
    return part


def _branching() -> Schema:
    return {**_list(_object(a=TEXT)), "items": {**_object(a=TEXT), **_nested("anyOf", 6, 6)}}


def _texts(count: int) -> list[str]:
    return [f"t{number:06d}" for number in range(count)]


def _filled(part: Any) -> Callable[[], Any]:
    """Return as many copies as a body may hold."""
    most = 65_000 if isinstance(part, dict) else 131_000
    return lambda: [part] * min(most, ROOM // (len(orjson.dumps(part)) + 1))


def _rules(part: Schema, *rules: str) -> Schema:
    return {**part, f"{EXTENSION}validations": [{"rule": rule} for rule in rules]}


def _enum(count: int) -> Schema:
    return {**TEXT, "enum": _texts(count)}


def _columns(*paths: str) -> dict[str, Any]:
    return {"additionalPrinterColumns": [{"name": p[:60], "type": "string", "jsonPath": p} for p in paths]}


ANY: Schema = {"type": "object", f"{EXTENSION}preserve-unknown-fields": True}
KEYED: Schema = {"maxItems": 100_000, f"{EXTENSION}list-type": "map", f"{EXTENSION}list-map-keys": ["k"]}
LINEAR = {**_list(_object(k=TEXT, v=TEXT)), "maxItems": 100_000}


def _keyed_items(count: int) -> Callable[[], Any]:
    return lambda: [{"k": text} for text in _texts(count)]


SUBJECTS: tuple[Subject, ...] = (
    Subject(
        "wide schema", _wide(TEXT), lambda: {f"g{n}": {f"p{m:06d}": "x" for m in range(1000)} for n in range(50)}
    ),
    Subject(
        "wide schema of objects with defaults",
        _wide({**_object(a={**TEXT, "default": "x" * 30}), "default": {}}),
        dict,
    ),
    Subject("deep schema", lambda: _deep(TEXT, 90), lambda: _deep_value(90)),
    Subject("thousands of patterns", _patterns, lambda: {f"p{n:05d}": f"abcx{n}" for n in range(4_000)}),
    Subject(
        "huge enum",
        lambda: _object(a=_enum(130_000), b=_list(_enum(20_000))),
        lambda: {"a": "t129999", "b": _texts(20_000)},
    ),
    Subject("huge default", lambda: _object(a={**_list(TEXT), "default": _texts(60_000)}), dict),
    Subject(
        "10,000 columns",
        lambda: _object(a=TEXT),
        lambda: {"a": "x"},
        _columns(*(f".spec.a{n}" for n in range(10_000))),
        reads=True,
    ),
    Subject(
        "pattern on each element",
        lambda: _list({**TEXT, "pattern": "^([a-z0-9]+[-.]?)*[a-z0-9]$"}),
        _filled("abc-def.ghi"),
    ),
    Subject(
        "format on each element", lambda: _list({**TEXT, "format": "date-time"}), _filled("2026-01-02T03:04:05Z")
    ),
    Subject("wrong format on each element", lambda: _list({**TEXT, "format": "uri"}), _filled("::::")),
    Subject(
        "set of 30,000", lambda: _list(TEXT, **{f"{EXTENSION}list-type": "set"}), lambda: _texts(30_000), reads=True
    ),
    Subject(
        "map of 20,000",
        lambda: _list({**_object(k=TEXT), "required": ["k"]}, **KEYED),
        _keyed_items(20_000),
        reads=True,
    ),
    Subject(
        "map with all keys equal", lambda: _list({**_object(k=TEXT), "required": ["k"]}, **KEYED), _filled({"k": "x"})
    ),
    Subject("anyOf in anyOf", _branching, _filled({"a": "x"})),
    Subject(
        "oneOf in oneOf",
        lambda: {**_list(_object(a=TEXT)), "items": {**_object(a=TEXT), **_nested("oneOf", 4, 10)}},
        _filled({"a": "x"}),
    ),
    Subject("wrong types everywhere", lambda: _list(_object(a=NUMBER)), _filled({"a": "x"})),
    Subject("unknown everywhere", lambda: _list(_object(a=NUMBER)), _filled({"b": 1})),
    Subject("defaults everywhere", lambda: _list(_object(a={**TEXT, "default": "x" * 20})), _filled({})),
    Subject(
        "additional properties",
        lambda: {"type": "object", "additionalProperties": {**TEXT, "pattern": "^x"}},
        lambda: dict.fromkeys(_texts(60_000), "x"),
    ),
    Subject(
        "preserved",
        lambda: ANY,
        lambda: {"a": _texts(60_000), "b": {t: {"c": 1} for t in _texts(40_000)}},
        reads=True,
    ),
    Subject(
        "rule over each element", lambda: _rules(LINEAR, "self.all(i, i.k.startsWith('t'))"), _keyed_items(60_000)
    ),
    Subject(
        "rule on each element",
        lambda: {**LINEAR, "items": _rules(_object(k=TEXT), "self.k != ''")},
        _keyed_items(60_000),
    ),
    Subject(
        "rules in macros",
        lambda: _rules(LINEAR, "self.all(i, self.all(j, self.exists(k, k.k == j.k && i.k == k.k)))"),
        _keyed_items(3_000),
    ),
    Subject(
        "rule of joined texts",
        lambda: _rules(LINEAR, "self.map(i, i.k + i.k).all(t, (t + t + t + t + t).size() > 0)"),
        _keyed_items(60_000),
    ),
    Subject(
        "many rules",
        lambda: _object(**{f"p{n}": _rules(TEXT, f"self != 'x{n}'") for n in range(5_000)}),
        lambda: {f"p{n}": "x" for n in range(5_000)},
    ),
    Subject(
        "columns of everything",
        lambda: ANY,
        lambda: {"a": [{"b": [{"c": n} for n in range(30)]} for _ in range(1500)]},
        _columns("..*", "..c", ".spec..*..*", ".spec.a[*].b[*].c", ".spec.a[?(@.b)].b", ".spec.a[?(@.b[0].c==29)]"),
        reads=True,
    ),
)
