"""OpenAPI v3 documents: one for each part of the API."""

from __future__ import annotations

from collections.abc import Iterable

from orchtw.naming import Naming
from orchtw.schema.openapi.definitions import Definitions
from orchtw.schema.openapi.documents import (
    CODES,
    SECURITY,
    SECURITY_SCHEME,
    UNAUTHORIZED,
    Document,
    Renderer,
    extensions,
    info,
    messages,
)
from orchtw.schema.openapi.operations import Operation
from orchtw.schema.openapi.parameters import Parameter


def document(operations: Iterable[Operation], definitions: Definitions, naming: Naming) -> Document:
    """The document, ready for JSON; parts of it are shared and must not be changed."""
    every = list(operations)
    return {
        "openapi": "3.0.0",
        "info": info(naming),
        "paths": _Renderer(definitions, naming).paths(every),
        "components": {
            "schemas": definitions.closure(messages(every)),
            "securitySchemes": {SECURITY: SECURITY_SCHEME},
        },
        "security": [{SECURITY: []}],
    }


class _Renderer(Renderer):
    def _operation(self, operation: Operation, common: tuple[Parameter, ...]) -> Document:
        rendered: Document = {
            "tags": [operation.tag],
            "description": operation.description,
            "operationId": operation.id,
        }
        if parameters := [self._parameter(each) for each in operation.parameters if each not in common]:
            rendered["parameters"] = parameters
        if operation.body:
            body: Document = {"content": self._content(operation.consumes, operation.body)}
            rendered["requestBody"] = body | {"required": True} if operation.required else body
        rendered["responses"] = {
            **{
                str(code): {"description": CODES[code], "content": self._content(operation.produces, message)}
                for code, message in operation.responses.items()
            },
            "401": UNAUTHORIZED,
        }
        return rendered | extensions(operation, self._naming)

    def _content(self, types: Iterable[str], message: str) -> Document:
        return dict.fromkeys(types, {"schema": self._schema(message)})

    def _new_parameter(self, parameter: Parameter) -> Document:
        return {
            "name": parameter.name,
            "in": parameter.place,
            "description": parameter.description,
            "schema": {"type": parameter.type, "uniqueItems": True},
        }
