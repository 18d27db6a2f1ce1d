"""Requests that change something: create, update, the four patches, delete, and writes to sub-resources."""

from __future__ import annotations

import copy
from functools import partial
from typing import Any

from orchtw.schema.catalogue import ResourceType
from orchtw.schema.codec.codec import Codec
from orchtw.schema.nodes import StructSchema
from tests.fuzz import encodings, words
from tests.fuzz.case import Case
from tests.fuzz.draw import Draw

_WRITE_OPTIONS = ("dryRun", "fieldManager", "fieldValidation", "pretty")
_DELETE_OPTIONS = ("gracePeriodSeconds", "propagationPolicy", "orphanDependents", "dryRun")
_SUBRESOURCES = ("status", "scale", "nope", "log", "token", "proxy/x/y")
_PATCHES = ("json-patch+json", "merge-patch+json", "strategic-merge-patch+json", "apply-patch+yaml")
_POINTERS = (
    "", "/", "/metadata", "/metadata/labels", "/metadata/labels/app", "/spec", "/spec/replicas", "/spec/x",
    "/data/a", "/-1",
    "/metadata/finalizers/-", "/metadata/ownerReferences/0", "/spec/template/spec/containers/0/ports/-", "/~01~2",
    "/a//b",
    "/metadata/managedFields", "/metadata/resourceVersion", "/spec/containers/" + "9" * 400, "spec", "/kind",
    "/status",
    "/metadata/name", "/spec/ports/0/port", "/spec/containers/-1", "/metadata/annotations/a~1b",
)  # fmt: skip
_OPERATIONS = ("add", "add", "replace", "remove", "test", "move", "copy", "", "x")
_DIRECTIVES: tuple[tuple[str, Any], ...] = (
    ("$patch", "delete"), ("$patch", "replace"), ("$patch", "merge"), ("$patch", "zap"), ("$patch", 1),
    ("$retainKeys", ["a", "name"]), ("$retainKeys", {}),
    ("$setElementOrder/containers", [{"name": "minimal"}, {"name": "a"}]),
    ("$setElementOrder/finalizers", ["a", 1]), ("$setElementOrder/ports", [{}]),
    ("$deleteFromPrimitiveList/finalizers", ["orch"]),
    ("$deleteFromPrimitiveList/finalizers", {"a": 1}), ("$setElementOrder/x", None),
    ("$setElementOrder/containers", ["a"]),
)  # fmt: skip


def create(draw: Draw, resource: ResourceType) -> Case:
    """POST on a collection."""
    obj = draw.spoil(draw.obj(resource, draw.name()))
    return _with_body(draw, "POST", draw.collection(resource), obj, draw.surface.codec(resource))


def review(draw: Draw, resource: ResourceType) -> Case:
    """POST of something that is asked and not stored."""
    return create(draw, draw.random.choice(draw.surface.virtual))


def large(draw: Draw, resource: ResourceType) -> Case:
    """A body about as long as one may be."""
    found = draw.surface.catalogue.find("", "v1", "configmaps")
    assert found is not None
    obj = draw.surface.minimal(found)
    obj["metadata"]["name"] = draw.name()
    size = draw.random.choice((200_000, 1 << 20, 3_000_000, (3 << 20) - 200, 3 << 20, 4_000_000))
    if draw.chance(0.5):
        obj["data"] = {"a": "x" * size}
    else:
        obj["data"] = {f"k{number}": "x" * 10 for number in range(size // 25)}
    content_type, body = draw.body(obj, draw.surface.codec(found))
    path = draw.collection(found) + draw.query("fieldValidation")
    return Case("POST", path, draw.headers(Content_Type=content_type), body, chunked=draw.chance(0.3))


def update(draw: Draw, resource: ResourceType) -> Case:
    """PUT on an object."""
    name = draw.name()
    obj = draw.spoil(draw.obj(resource, name))
    return _with_body(draw, "PUT", draw.object_path(resource, name), obj, draw.surface.codec(resource))


def patch(draw: Draw, resource: ResourceType, sub: str = "", codec: Codec | None = None) -> Case:
    """PATCH in any of the four ways."""
    name = draw.name()
    kind = draw.random.choice(_PATCHES)
    codec = codec or draw.surface.codec(resource)
    options: tuple[str, ...] = _WRITE_OPTIONS
    query = ""
    if kind.startswith("json"):
        body = encodings.json_body(draw.spoil(_operations(draw, codec)), draw.random)
    elif kind.startswith("apply"):
        body = _applied(draw, resource, name, codec)
        query = f"?fieldManager=m{draw.random.randrange(3)}" + ("&force=true" if draw.chance(0.7) else "")
        options = ("dryRun", "fieldValidation")
    else:
        value = _partial(draw, codec)
        if kind.startswith("strategic"):
            value = _directed(draw, value)
        body = encodings.json_body(draw.spoil(value), draw.random)
    if draw.chance(0.04):
        body = encodings.broken(body, draw.random)
    more = draw.query(*options)
    target = draw.object_path(resource, name) + sub + (query + more.replace("?", "&", 1) if query else more)
    return Case("PATCH", target, draw.headers(Content_Type=f"application/{kind}"), body, chunked=draw.chance(0.02))


def _partial(draw: Draw, codec: Codec) -> dict[str, Any]:
    """Some fields of the kind; metadata mostly without what names the object."""
    value = draw.values.struct(codec.schema)
    if draw.chance(0.8):
        for key in ("kind", "apiVersion"):
            value.pop(key, None)
        meta = value.get("metadata")
        if isinstance(meta, dict):
            kept = ("labels", "annotations", "ownerReferences", "finalizers")
            value["metadata"] = {key: meta[key] for key in kept if key in meta}
    return value


def _operations(draw: Draw, codec: Codec) -> list[dict[str, Any]]:
    out = []
    wrong = partial(words.wrong, draw.random)
    if draw.chance(0.6):
        return [_sensible(draw, codec) for _ in range(draw.random.choice((1, 1, 2, 3)))]
    for _ in range(draw.random.choice((0, 1, 1, 2, 3, 8))):
        out.append(
            {
                "op": draw.random.choice(_OPERATIONS),
                "path": draw.random.choice(_POINTERS),
                "from": draw.random.choice(_POINTERS),
                "value": draw.random.choice((draw.values.labels, lambda: draw.values.struct(codec.schema), wrong))(),
            }
        )
    return out


def _sensible(draw: Draw, codec: Codec) -> dict[str, Any]:
    """An operation that may well succeed: a field at the top or one level below gets a value of its type."""
    schema, pointer = codec.schema, ""
    fields = [field for name, field in schema.keys.items() if name not in ("kind", "apiVersion", "metadata")]
    if not fields:
        return {"op": "add", "path": "/metadata/labels", "value": draw.values.labels()}
    field = draw.random.choice(fields)
    if isinstance(field.node, StructSchema) and field.node.keys and draw.chance(0.7):
        pointer = f"/{field.name}"
        field = draw.random.choice(list(field.node.keys.values()))
    value = draw.values.value(field.node)
    operation = draw.random.choice(("add", "add", "replace", "test"))
    return {"op": operation, "path": f"{pointer}/{field.name}", "value": value}


def _directed(draw: Draw, value: Any) -> Any:
    """A strategic merge patch with directives in some of its maps."""
    if isinstance(value, dict):
        for key in list(value):
            _directed(draw, value[key])
        if draw.chance(0.1):
            key, directive = draw.random.choice(_DIRECTIVES)
            value[key] = copy.deepcopy(directive)
    elif isinstance(value, list):
        for item in value:
            _directed(draw, item)
    return value


def _applied(draw: Draw, resource: ResourceType, name: str, codec: Codec) -> bytes:
    if draw.chance(0.5):
        obj = draw.obj(resource, name)
        obj.get("metadata", {}).pop("managedFields", None)
    else:
        fields = {key: value for key, value in draw.values.struct(codec.schema).items() if key != "metadata"}
        obj = {**fields, "metadata": {"name": name, "labels": draw.values.labels()}}
    obj["kind"], obj["apiVersion"] = codec.kind, codec.api_version
    write = encodings.yaml_body if draw.chance(0.2) else encodings.json_body
    return write(draw.spoil(obj), draw.random)


def delete(draw: Draw, resource: ResourceType) -> Case:
    """DELETE of an object, seldom of a whole collection; with options in the query, in the body or in both."""
    path = draw.object_path(resource, draw.name())
    if draw.chance(0.1):
        path = draw.collection(resource) + draw.query("labelSelector", "fieldSelector", "limit", "resourceVersion")
        path += draw.query(*_DELETE_OPTIONS).replace("?", "&" if "?" in path else "?", 1)
    else:
        path += draw.query(*_DELETE_OPTIONS)
    if draw.chance(0.6):
        return Case("DELETE", path, draw.headers())
    codec = draw.surface.codecs.kind("v1", "DeleteOptions")
    options = draw.values.struct(codec.schema)
    if draw.chance(0.3):
        options["preconditions"] = {"resourceVersion": draw.random.choice(words.VERSIONS)}
    content_type, body = draw.body(draw.spoil(options), codec)
    return Case("DELETE", path, draw.headers(Content_Type=content_type), body)


def subresource(draw: Draw, resource: ResourceType) -> Case:
    """Any method on any sub-resource, mostly one that there is."""
    if not resource.subresources or draw.chance(0.03):
        sub, codec = draw.random.choice(_SUBRESOURCES), draw.surface.codec(resource)
    else:
        declared = draw.random.choice(resource.subresources)
        sub = declared.name
        codec = _codec(draw, f"{declared.group}/{declared.version}".lstrip("/"), declared.kind, resource)
    method = draw.random.choice(("GET", "PUT", "PATCH", "PATCH", "POST", "DELETE"))
    if sub in ("binding", "eviction") and draw.chance(0.7):
        method = "POST"
    if method == "PATCH":
        return patch(draw, resource, f"/{sub}", codec)
    name = draw.name()
    path = f"{draw.object_path(resource, name)}/{sub}"
    if method in ("GET", "DELETE"):
        return Case(method, path + draw.query("pretty"), draw.headers())
    return _with_body(draw, method, path, draw.spoil(_sub_object(draw, resource, codec, name)), codec)


def _codec(draw: Draw, api_version: str, kind: str, resource: ResourceType) -> Codec:
    try:
        return draw.surface.codecs.kind(api_version, kind)
    except KeyError:
        return draw.surface.codec(resource)


def _sub_object(draw: Draw, resource: ResourceType, codec: Codec, name: str) -> dict[str, Any]:
    """Draw the body for a sub-resource: the object with a rich status, or the kind that it takes."""
    if codec.kind == resource.kind:
        obj = draw.obj(resource, name)
        status = codec.schema.keys.get("status")
        if status is not None and isinstance(status.node, StructSchema):
            obj["status"] = draw.values.struct(status.node) | draw.values.struct(status.node)
        return obj
    obj = draw.values.struct(codec.schema)
    obj["metadata"] = {"name": name, **({"namespace": draw.namespace()} if draw.chance(0.8) else {})}
    obj["kind"], obj["apiVersion"] = codec.kind, codec.api_version
    if codec.kind == "Binding":
        obj.setdefault("target", {"name": "n"})
    return obj


def _with_body(draw: Draw, method: str, path: str, value: Any, codec: Codec) -> Case:
    content_type, body = draw.body(value, codec)
    target = path + draw.query(*_WRITE_OPTIONS)
    return Case(method, target, draw.headers(Content_Type=content_type), body, chunked=draw.chance(0.03))
