"""OpenAPI v3 documents: one for each part of the API."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import orjson

from orchtw.naming.naming import Naming
from orchtw.schema.openapi.documents import (
    CODES,
    SECURITY,
    SECURITY_SCHEME,
    UNAUTHORIZED,
    Document,
    Pieces,
    Renderer,
    extensions,
    info,
)
from orchtw.schema.openapi.operations import Operation
from orchtw.schema.openapi.parameters import Parameter


def joined(pieces: Iterable[Pieces], shared: Mapping[str, bytes], naming: Naming) -> bytes:
    """Return a whole document as JSON; `shared` has the JSON of definitions that several pieces need."""
    every = list(pieces)
    head = orjson.dumps({"openapi": "3.0.0", "info": info(naming)})[:-1]
    tail = orjson.dumps({"securitySchemes": {SECURITY: SECURITY_SCHEME}})[1:]
    paths = b",".join(each.paths for each in every if each.paths)
    schemas = b",".join([each.definitions for each in every if each.definitions] + list(_members(shared)))
    security = orjson.dumps([{SECURITY: []}])
    return b'%s,"paths":{%s},"components":{"schemas":{%s},%s,"security":%s}' % (head, paths, schemas, tail, security)


def _members(shared: Mapping[str, bytes]) -> Iterator[bytes]:
    return (b"%s:%s" % (orjson.dumps(name), schema) for name, schema in shared.items())


class RendererV3(Renderer):
    """Renderer of OpenAPI v3 documents."""

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
