"""A v2 document in Protobuf, the form that API clients ask for (reference OPENAPI-4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from orchtw.schema.openapi.documents import METHODS
from orchtw.schema.openapi.protobuf.message_classes import document_class
from orchtw.schema.openapi.protobuf.values import KEYWORDS, Parts, extensions, free, named, same, security

# Responses have the first one: a media type may not contain "@", and Go clients reject a Content-Type that does.
MEDIA_TYPES = (
    "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
)


def encode(document: Mapping[str, Any]) -> bytes:
    """Return the Protobuf form of a document that `v2.joined` made, parsed."""
    return document_class("v2")(
        swagger=document["swagger"],
        info=document["info"],
        paths={"path": named(document["paths"], _path)},
        definitions={"additional_properties": named(document["definitions"], _schema)},
        security=security(document),
        security_definitions={
            "additional_properties": named(document["securityDefinitions"], lambda each: {"api_key_security": each})
        },
    ).SerializeToString(deterministic=True)


def encode_pieces(paths: Mapping[str, Any], definitions: Mapping[str, Any]) -> bytes:
    """Return the Protobuf form of further paths and definitions, to be appended to that of a document."""
    return document_class("v2")(
        paths={"path": named(paths, _path)},
        definitions={"additional_properties": named(definitions, _schema)},
    ).SerializeToString(deterministic=True)


def _path(item: Mapping[str, Any]) -> Parts:
    parts: Parts = {method: _operation(item[method]) for method in METHODS if method in item}
    parts["parameters"] = [_parameter(each) for each in item.get("parameters", ())]
    return parts


def _operation(operation: Mapping[str, Any]) -> Parts:
    return {
        "tags": operation["tags"],
        "description": operation["description"],
        "operation_id": operation["operationId"],
        "produces": operation["produces"],
        "consumes": operation["consumes"],
        "parameters": [_parameter(each) for each in operation.get("parameters", ())],
        "responses": {"response_code": named(operation["responses"], _response)},
        "schemes": operation["schemes"],
        "vendor_extension": extensions(operation),
    }


def _parameter(parameter: Mapping[str, Any]) -> Parts:
    place = parameter["in"]
    if place == "body":
        return {"parameter": {"body_parameter": {**parameter, "schema": _schema(parameter["schema"])}}}
    parts = {"unique_items" if key == "uniqueItems" else key: value for key, value in parameter.items()}
    return {"parameter": {"non_body_parameter": {f"{place}_parameter": parts}}}


def _response(response: Mapping[str, Any]) -> Parts:
    parts: Parts = {"description": response["description"]}
    if "schema" in response:
        parts["schema"] = {"schema": _schema(response["schema"])}
    return {"response": parts}


def _schema(schema: Mapping[str, Any]) -> Parts:
    parts: Parts = {}
    for key, value in schema.items():
        if key.startswith("x-"):
            parts.setdefault("vendor_extension", []).append({"name": key, "value": free(value)})
        else:
            name, convert = _SCHEMA[key]
            parts[name] = convert(value)
    return parts


def _additional(value: Any) -> Parts:
    return {"boolean": value} if type(value) is bool else {"schema": _schema(value)}


# Every key that a schema of `definitions` has: its Protobuf field, and the conversion of its value.
_SCHEMA: dict[str, tuple[str, Callable[[Any], Any]]] = {
    **KEYWORDS,
    "$ref": ("_ref", same),
    "default": ("default", free),
    "type": ("type", lambda name: {"value": [name]}),
    "items": ("items", lambda element: {"schema": [_schema(element)]}),
    "additionalProperties": ("additional_properties", _additional),
    "properties": ("properties", lambda members: {"additional_properties": named(members, _schema)}),
}
