"""Writes for `bench.holdup`: the longest and the most hostile bodies, of every kind of write and syntax."""

from __future__ import annotations

from collections.abc import Callable

from bench.holdup_case import LIMIT_BYTES, Case, Step, numbered, repeated

YAML = "application/yaml"
PROTOBUF = "application/vnd.orch.protobuf"
JSON_PATCH = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"

MAPS = "{namespace}/configmaps"
PODS = "{namespace}/pods"
MAP = f"{MAPS}/a"
POD = f"{PODS}/a"
APPLIED = "?fieldManager=bench&force=true"

_META = b'{"metadata":{"name":"a",'
_POD = b'{"metadata":{"name":"a"},"spec":{"containers":['
_POD_END = b"]}}"
_CONFIG_MAP = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}'
_ITEM = '{"name":"c%d","image":"i"}'


def _text(body: bytes) -> Callable[[], bytes]:
    return lambda: body


def _filled(size: int) -> Callable[[], bytes]:
    """Return a ConfigMap with one long text."""
    return lambda: b'{"metadata":{"name":"a"},"data":{"k":"' + b"x" * size + b'"}}'


def _annotated() -> bytes:
    return b'{"metadata":{"annotations":{"a":"b"}}}'


_BIG = Step(method="POST", path=MAPS, body=_filled(1 << 20))
_SMALL_MAP = Step(method="POST", path=MAPS, body=_filled(1))
_DATA = b'{"metadata":{"name":"a"},"data":{'
_MANY_KEYS = Step(method="POST", path=MAPS, body=numbered(_DATA, '"k%d":"x"', b"}}", 60_000))
_SMALL_POD = Step(method="POST", path=PODS, body=numbered(_POD, _ITEM, _POD_END, 1))
_WIDE_POD = Step(method="POST", path=PODS, body=numbered(_POD, _ITEM, _POD_END, 8_000))
_ARGS_POD = Step(
    method="POST",
    path=PODS,
    body=repeated(_POD + b'{"name":"c","image":"i","args":[', b'"a"', b"]}" + _POD_END, 10_000),
)


def _protobuf(message: bytes, kind: bytes) -> bytes:
    """Return an envelope around a message of a core kind."""
    meta = b"\x0a" + _delimited(b"\x0a\x02v1\x12" + _delimited(kind))
    return b"k8s\0" + meta + b"\x12" + _delimited(message)


def _delimited(content: bytes) -> bytes:
    length, head = len(content), bytearray()
    while length > 127:
        head.append(length & 127 | 128)
        length >>= 7
    return bytes(head) + bytes((length,)) + content


def _empty_containers() -> bytes:
    containers = b"\x12\x00" * (LIMIT_BYTES // 2)
    return _protobuf(b"\x0a\x03\x0a\x01a\x12" + _delimited(containers), b"Pod")


def _unknown_fields() -> bytes:
    return _protobuf(b"\x0a\x03\x0a\x01a" + b"\xf8\x01\x00" * (LIMIT_BYTES // 3), b"ConfigMap")


def _protobuf_map() -> bytes:
    entries = b"".join(b"\x12" + _delimited(b"\x0a\x06%06x\x12\x01x" % number) for number in range(100_000))
    return _protobuf(b"\x0a\x03\x0a\x01a" + entries, b"ConfigMap")


def _managed(count: int) -> bytes:
    entry = (
        '{"manager":"m%d","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1",'
        '"fieldsV1":{"f:data":{"f:k%d":{}}}}'
    )
    entries = ",".join(entry % (number, number) for number in range(count))
    return b'{"metadata":{"name":"a","managedFields":[%b]},"data":{"k":"v"}}' % entries.encode()


def _updaters(count: int) -> bytes:
    return _managed(count).replace(b'"Apply"', b'"Update"')


def _deep(size: int) -> bytes:
    return b'{"metadata":' + b'{"a":' * (size // 5)


def _repeated_below_long_key() -> bytes:
    members = b",".join(b'"a":1' for _ in range(200_000))
    return b'{"metadata":{"name":"a"},"%b":{%b}}' % (b"k" * (1 << 20), members)


def _copies() -> bytes:
    return b"[" + b",".join([b'{"op":"copy","from":"/data","path":"/data/x"}'] * 10_000) + b"]"


_INSERT = b'{"op":"add","path":"/spec/containers/0/args/0","value":"x"}'
_CREATES = (
    ("create: 1 MiB text", _filled(1 << 20)),
    ("create: 30,000 empty owners", repeated(_META + b'"ownerReferences":[', b"{}", b"]}}", 30_000)),
    ("create: empty owners", repeated(_META + b'"ownerReferences":[', b"{}", b"]}}")),
    ("create: controllers", numbered(_META + b'"ownerReferences":[', '{"uid":"%d","controller":true}', b"]}}")),
    ("create: labels", numbered(_META + b'"labels":{', '"k%d":"v"', b"}}}")),
    ("create: bad labels", numbered(_META + b'"labels":{', '"-%d":"v-"', b"}}}")),
    ("create: finalizers", numbered(_META + b'"finalizers":[', '"f%d"', b"]}}")),
    ("create: data keys", numbered(_DATA, '"%d":""', b"}}")),
    ("create: unknown fields", numbered(b'{"metadata":{"name":"a"},', '"k%d":1', b"}")),
    ("create: repeated keys below a long one", _repeated_below_long_key),
    ("create: one escaped colon", numbered(b'{"x":"\\u003a",' + _DATA[1:], '"%d":""', b"}}", 60_000)),
    ("create: numbers", repeated(b'{"metadata":{"name":"a"},"x":[', b"1", b"]}")),
    ("create: empty lists", repeated(b'{"metadata":{"name":"a"},"x":[', b"[]", b"]}")),
    ("create: deep", lambda: _deep(LIMIT_BYTES)),
    ("create: long name", lambda: b'{"metadata":{"name":"' + b"\\n" * (LIMIT_BYTES // 2) + b'"}}'),
    ("create: 20,000 appliers", lambda: _managed(20_000)),
    ("create: 20,000 updaters", lambda: _updaters(20_000)),
    ("create: manager of control characters", lambda: _managed(1).replace(b"m0", b"\\u0001" * (LIMIT_BYTES // 6))),
)
_YAMLS = (
    ("yaml: documents", lambda: b"---\n" * (LIMIT_BYTES // 4)),
    ("yaml: flow list", lambda: b"x: [" + b"a," * (LIMIT_BYTES // 2) + b"]"),
    ("yaml: long text", lambda: b"metadata: {name: a}\ndata:\n  k: " + b"x " * (LIMIT_BYTES // 2)),
    ("yaml: aliases", lambda: b"a: &a [x,x]\nb: [" + b"*a," * (LIMIT_BYTES // 3) + b"]"),
    ("yaml: tag directives", lambda: b"".join(b"%%TAG !a%d! x\n" % number for number in range(150_000))),
    ("yaml: nested in flow", lambda: b"[" * 190 + b"x," * (LIMIT_BYTES // 2)),
)
_PROTOBUFS = (
    ("protobuf: empty containers", PODS, _empty_containers),
    ("protobuf: unknown fields", MAPS, _unknown_fields),
    ("protobuf: data keys", MAPS, _protobuf_map),
)
_PODS = (
    ("create: pod of empty containers", repeated(_POD, b"{}", _POD_END, 100_000)),
    ("create: pod of 20,000 containers", numbered(_POD, _ITEM, _POD_END, 20_000)),
    ("create: pod of quantities", numbered(
        b'{"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i","resources":{"limits":{',
        '"k%d":"1e999999999"', b"}}}]}}",
    )),
)
_RULES = ('"rules":[', '{"verbs":["get"],"apiGroups":[""],"resources":["r%d"]}', b"]}", 20_000)
_RBAC = "/apis/rbac.authorization.orch.io/v1"
_GATHERED = b'{"metadata":{"name":"b","labels":{"rbac.authorization.orch.io/aggregate-to-view":"true"}},'
_ROLES = (
    ("20,000 rules", f"{_RBAC}/clusterroles", numbered(_META[:-1] + b"}," + _RULES[0].encode(), *_RULES[1:])),
    ("20,000 rules, gathered", f"{_RBAC}/clusterroles", numbered(_GATHERED + _RULES[0].encode(), *_RULES[1:])),
)
_PATCHES = (
    ("json patch: 10,000 inserts at the start", JSON_PATCH, POD, _ARGS_POD, repeated(b"[", _INSERT, b"]", 10_000)),
    ("json patch: copies of 1 MiB", JSON_PATCH, MAP, _BIG, _copies),
    ("json patch: long pointers", JSON_PATCH, MAP, _SMALL_MAP,
     lambda: b'[{"op":"test","path":"' + b"/a" * (LIMIT_BYTES // 2) + b'","value":1}]'),
    ("merge patch: small, on 1 MiB", MERGE, MAP, _BIG, _annotated),
    ("merge patch: small, on 60,000 keys", MERGE, MAP, _MANY_KEYS, _annotated),
    ("merge patch: small, on 8,000 containers", MERGE, POD, _WIDE_POD, _annotated),
    ("merge patch: keys", MERGE, MAP, _SMALL_MAP, numbered(b'{"data":{', '"%d":""', b"}}", 60_000)),
    ("strategic: the same element again and again", STRATEGIC, POD, _WIDE_POD,
     repeated(b'{"spec":{"containers":[', b'{"name":"c0","env":[{"name":"a","value":"b"}]}', b"]}}")),
    ("strategic: an order of 100,000", STRATEGIC, POD, _WIDE_POD,
     numbered(b'{"spec":{"$setElementOrder/containers":[', '{"name":"c%d"}', b"]}}", 100_000)),
    ("apply: keys", APPLY, MAP + APPLIED, _SMALL_MAP,
     numbered(_CONFIG_MAP + b',"data":{', '"k%d":"x"', b"}}", 60_000)),
    ("apply: small, on 60,000 keys", APPLY, MAP + APPLIED, _MANY_KEYS,
     _text(_CONFIG_MAP + b',"data":{"z":"x"}}')),
    ("apply: conflicts with 60,000 keys", APPLY, MAP + "?fieldManager=bench", _MANY_KEYS,
     numbered(_CONFIG_MAP + b',"data":{', '"k%d":"y"', b"}}", 60_000)),
    ("apply: fields that do not exist", APPLY, MAP + APPLIED, _SMALL_MAP,
     numbered(_CONFIG_MAP + b",", '"k%d":"y"', b"}")),
)

WRITES: tuple[Case, ...] = (
    *(Case(name=name, method="POST", path=MAPS, body=body) for name, body in _CREATES),
    *(Case(name=name, method="POST", path=PODS, body=body) for name, body in _PODS),
    *(Case(name=name, method="POST", path=MAPS, content_type=YAML, body=body) for name, body in _YAMLS),
    *(Case(name=name, method="POST", path=path, content_type=PROTOBUF, body=body) for name, path, body in _PROTOBUFS),
    *(
        Case(name=name, method="PATCH", path=path, content_type=kind, body=body, before=(present,))
        for name, kind, path, present, body in _PATCHES
    ),
    Case(name="put: 1 MiB", method="PUT", path=MAP, body=_filled((1 << 20) - 1), before=(_BIG,)),
    Case(name="put: 60,000 keys", method="PUT", path=MAP, before=(_MANY_KEYS,),
         body=numbered(_DATA, '"k%d":"y"', b"}}", 60_000)),
    Case(name="delete: 1 MiB", method="DELETE", path=MAP, before=(_BIG,)),
    Case(name="delete: options of dry runs", method="DELETE", path=MAP, before=(_SMALL_MAP,),
         body=repeated(b'{"dryRun":[', b'"x"', b"]}")),
    Case(name="eviction: long name", method="POST", path=f"{POD}/eviction", before=(_SMALL_POD,),
         body=lambda: b'{"metadata":{"name":"' + b"x" * LIMIT_BYTES + b'"}}'),
    *(Case(name=f"roles: {name}", method="POST", path=path, body=body) for name, path, body in _ROLES),
    Case(name="review: extra", method="POST", path="/apis/authorization.orch.io/v1/subjectaccessreviews",
         body=numbered(b'{"spec":{"user":"a","resourceAttributes":{"verb":"get"},"extra":{', '"k%d":["v"]', b"}}}")),
)
"""Bodies of up to 3 MiB; what they are answered with is in the lines."""
