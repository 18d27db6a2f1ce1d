"""The OpenAPI v2 document: one for the whole API, joined from the shares of its parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

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

_SCHEMES = ["https"]


def joined(shares: Iterable[Pieces], naming: Naming) -> bytes:
    """Return the whole document as JSON."""
    every = list(shares)
    head = orjson.dumps({"swagger": "2.0", "info": info(naming)})[:-1]
    tail = orjson.dumps(
        {
            "securityDefinitions": {SECURITY: SECURITY_SCHEME},
            "security": [{SECURITY: []}],
        }
    )[1:]
    texts = [head, b',"paths":{', *_separated(each.paths for each in every)]
    texts += [b'},"definitions":{', *_separated(each.definitions for each in every), b"},", tail]
    return b"".join(texts)  # at once: with many kinds it is tens of megabytes


def _separated(texts: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the non-empty texts, with commas between them."""
    separator = b""
    for text in texts:
        if text:
            yield separator
            yield text
            separator = b","


class RendererV2(Renderer):
    """Renderer of OpenAPI v2 documents."""

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
            **{
                str(code): {"description": CODES[code], "schema": self._schema(message)}
                for code, message in operation.responses.items()
            },
            "401": UNAUTHORIZED,
        }
        return rendered | extensions(operation, self._naming)

    def _body(self, operation: Operation) -> Document:
        body: Document = {"name": "body", "in": "body", "schema": self._schema(operation.body)}
        return body | {"required": True} if operation.required else body

    def _new_parameter(self, parameter: Parameter) -> Document:
        return {
            "uniqueItems": True,
            "type": parameter.type,
            "description": parameter.description,
            "name": parameter.name,
            "in": parameter.place,
        }
