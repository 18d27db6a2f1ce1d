"""A v3 document in Protobuf (reference OPENAPI-3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from orchtw.schema.openapi.documents import METHODS
from orchtw.schema.openapi.protobuf.message_classes import document_class
from orchtw.schema.openapi.protobuf.values import KEYWORDS, Parts, extensions, free, named, same, security

# Responses have the first one: a media type may not contain "@", and Go clients reject a Content-Type that does.
MEDIA_TYPES = (
    "application/com.github.proto-openapi.spec.v3.v1.0+protobuf",
    "application/com.github.proto-openapi.spec.v3@v1.0+protobuf",
)


def encode(document: Mapping[str, Any]) -> bytes:
    """Return the Protobuf form of a document that `v3.joined` made, parsed; non-scalar defaults are left out."""
    components = document["components"]
    return document_class("v3")(
        openapi=document["openapi"],
        info=document["info"],
        paths={"path": named(document["paths"], _path)},
        components={
            "schemas": {"additional_properties": named(components["schemas"], _schema)},
            "security_schemes": {
                "additional_properties": named(components["securitySchemes"], lambda each: {"security_scheme": each})
            },
        },
        security=security(document),
    ).SerializeToString(deterministic=True)


def encode_pieces(paths: Mapping[str, Any], schemas: Mapping[str, Any]) -> bytes:
    """Return the Protobuf form of further paths and schemas, to be appended to that of a document."""
    return document_class("v3")(
        paths={"path": named(paths, _path)},
        components={"schemas": {"additional_properties": named(schemas, _schema)}},
    ).SerializeToString(deterministic=True)


def _path(item: Mapping[str, Any]) -> Parts:
    parts: Parts = {method: _operation(item[method]) for method in METHODS if method in item}
    parts["parameters"] = [_parameter(each) for each in item.get("parameters", ())]
    return parts


def _operation(operation: Mapping[str, Any]) -> Parts:
    parts: Parts = {
        "tags": operation["tags"],
        "description": operation["description"],
        "operation_id": operation["operationId"],
        "parameters": [_parameter(each) for each in operation.get("parameters", ())],
        "responses": {"response_or_reference": named(operation["responses"], _response)},
        "specification_extension": extensions(operation),
    }
    if "requestBody" in operation:
        body = operation["requestBody"]
        parts["request_body"] = {"request_body": {**body, "content": _content(body["content"])}}
    return parts


def _parameter(parameter: Mapping[str, Any]) -> Parts:
    return {"parameter": {**parameter, "schema": _schema(parameter["schema"])}}


def _response(response: Mapping[str, Any]) -> Parts:
    parts: Parts = {"description": response["description"]}
    if "content" in response:
        parts["content"] = _content(response["content"])
    return {"response": parts}


def _content(content: Mapping[str, Any]) -> Parts:
    return {"additional_properties": named(content, lambda each: {"schema": _schema(each["schema"])})}


def _schema(schema: Mapping[str, Any]) -> Parts:
    """Return a schema or a reference, which never has members beside it in v3."""
    if "$ref" in schema:
        return {"reference": {"_ref": schema["$ref"]}}
    parts: Parts = {}
    for key, value in schema.items():
        if key.startswith("x-"):
            parts.setdefault("specification_extension", []).append({"name": key, "value": free(value)})
        else:
            name, convert = _SCHEMA[key]
            parts[name] = convert(value)
    return {"schema": parts}


def _default(value: object) -> Parts | None:
    if isinstance(value, bool):
        return {"boolean": value}
    if isinstance(value, (int, float)):
        return {"number": float(value)}
    return {"string": value} if isinstance(value, str) else None


def _schemas(values: list[Any]) -> list[Parts]:
    return [_schema(each) for each in values]


def _additional(value: Any) -> Parts:
    return {"boolean": value} if type(value) is bool else {"schema_or_reference": _schema(value)}


# Every key that a schema of `definitions` or a parameter has: its Protobuf field, and the conversion of its value.
_SCHEMA: dict[str, tuple[str, Callable[[Any], Any]]] = {
    **KEYWORDS,
    "nullable": ("nullable", same),
    "type": ("type", same),
    "default": ("default", _default),
    "allOf": ("all_of", _schemas),
    "oneOf": ("one_of", _schemas),
    "anyOf": ("any_of", _schemas),
    "not": ("not", lambda denied: _schema(denied)["schema"]),
    "items": ("items", lambda element: {"schema_or_reference": [_schema(element)]}),
    "additionalProperties": ("additional_properties", _additional),
    "properties": ("properties", lambda members: {"additional_properties": named(members, _schema)}),
}
