"""The OpenAPI v2 document: one for all that is served."""

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

_SCHEMES = ["https"]


def document(operations: Iterable[Operation], definitions: Definitions, naming: Naming) -> Document:
    """The document, ready for JSON; parts of it are shared and must not be changed."""
    every = list(operations)
    render = _Renderer(definitions, naming)
    return {
        "swagger": "2.0",
        "info": info(naming),
        "paths": {path: render.path(found) for path, found in by_path(every).items()},
        "definitions": definitions.closure(messages(every)),
        "securityDefinitions": {SECURITY: SECURITY_SCHEME},
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
        parameters = [self._body(operation)] if operation.body else []
        parameters += [self._parameter(each) for each in operation.parameters if each not in common]
        rendered: Document = {
            "description": operation.description,
            "consumes": list(operation.consumes),
            "produces": list(operation.produces),
            "schemes": _SCHEMES,
            "tags": [operation.tag],
            "operationId": operation.id,
        }
        if parameters:
            rendered["parameters"] = parameters
        rendered["responses"] = {
            **{str(code): self._response(code, message) for code, message in operation.responses.items()},
            "401": UNAUTHORIZED,
        }
        return rendered | extensions(operation, self._naming)

    def _body(self, operation: Operation) -> Document:
        body: Document = {"name": "body", "in": "body", "schema": self._definitions.reference(operation.body)}
        return body | {"required": True} if operation.required else body

    def _response(self, code: int, message: str) -> Document:
        schema = TEXT_SCHEMA if message == TEXT else self._definitions.reference(message)
        return {"description": CODES[code], "schema": schema}

    def _parameter(self, parameter: Parameter) -> Document:
        found = self._parameters.get(parameter)
        if found is None:
            found = self._parameters[parameter] = {
                "uniqueItems": True,
                "type": parameter.type,
                "description": parameter.description,
                "name": parameter.name,
                "in": parameter.place,
            }
            if parameter.place == "path":
                found["required"] = True
        return found
