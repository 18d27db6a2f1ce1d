"""OpenAPI v3 documents: one for each part of the API."""

from __future__ import annotations

from collections.abc import Iterable

from orchtw.naming import Naming
from orchtw.schema.openapi.definitions import Definitions
from orchtw.schema.openapi.documents import (
    CODES,
    SECURITY,
    SECURITY_SCHEME,
    TEXT_SCHEMA,
    UNAUTHORIZED,
    Document,
    by_path,
    extensions,
    info,
    messages,
    shared,
)
from orchtw.schema.openapi.operations import TEXT, Operation
from orchtw.schema.openapi.parameters import Parameter


def document(operations: Iterable[Operation], definitions: Definitions, naming: Naming) -> Document:
    """The document, ready for JSON; parts of it are shared and must not be changed."""
    every = list(operations)
    render = _Renderer(definitions, naming)
    components: Document = {"securitySchemes": {SECURITY: SECURITY_SCHEME}}
    if described := definitions.closure(messages(every)):
        components["schemas"] = described
    return {
        "openapi": "3.0.0",
        "info": info(naming),
        "paths": {path: render.path(found) for path, found in by_path(every).items()},
        "components": components,
        "security": [{SECURITY: []}],
    }


class _Renderer:
    def __init__(self, definitions: Definitions, naming: Naming) -> None:
        self._definitions = definitions
        self._naming = naming
        self._parameters: dict[Parameter, Document] = {}

    def path(self, operations: list[Operation]) -> Document:
        """A path item: what its operations share, then each of them under its method."""
        common = shared(operations)
        item: Document = {operation.method: self._operation(operation, common) for operation in operations}
        if common:
            item["parameters"] = [self._parameter(each) for each in common]
        return item

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
        schema = TEXT_SCHEMA if message == TEXT else self._definitions.reference(message)
        return dict.fromkeys(types, {"schema": schema})

    def _parameter(self, parameter: Parameter) -> Document:
        found = self._parameters.get(parameter)
        if found is None:
            schema = {"type": parameter.type, "uniqueItems": True}
            found = self._parameters[parameter] = {
                "name": parameter.name,
                "in": parameter.place,
                "description": parameter.description,
                "schema": schema,
            }
            if parameter.place == "path":
                found["required"] = True
        return found
