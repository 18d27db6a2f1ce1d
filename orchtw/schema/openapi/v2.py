"""The OpenAPI v2 document: one for all that is served, joined from the shares of its parts."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import attrs
import orjson

from orchtw.json_values import loads
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

_SCHEMES = ["https"]


@attrs.frozen(slots=True)
class Pieces:
    """The JSON of some paths and definitions, without the braces around each, and the names of the definitions."""

    paths: bytes
    definitions: bytes
    names: frozenset[str]

    def size_bytes(self) -> int:
        """How much memory the texts take."""
        return len(self.paths) + len(self.definitions)

    def documents(self) -> tuple[Document, Document]:
        """The paths and the definitions."""
        return loads(b"{%s}" % self.paths), loads(b"{%s}" % self.definitions)


def pieces(
    operations: Iterable[Operation],
    definitions: Definitions,
    naming: Naming,
    *,
    also: Iterable[str] = (),
    but_for: Collection[str] = (),
) -> Pieces:
    """The share of some operations in the document: the definitions that they need and those of messages that are
    asked for `also`, `but_for` those that are in another share.
    """
    every = list(operations)
    used = definitions.closure(messages(every) | set(also))
    own = {name: schema for name, schema in used.items() if name not in but_for}
    paths = orjson.dumps(_Renderer(definitions, naming).paths(every))
    return Pieces(paths[1:-1], orjson.dumps(own)[1:-1], frozenset(own))


def joined(shares: Iterable[Pieces], naming: Naming) -> bytes:
    """The whole document as JSON."""
    every = list(shares)
    head = orjson.dumps({"swagger": "2.0", "info": info(naming)})[:-1]
    tail = orjson.dumps(
        {
            "securityDefinitions": {SECURITY: SECURITY_SCHEME},
            "security": [{SECURITY: []}],
        }
    )[1:]
    paths = b",".join(each.paths for each in every if each.paths)
    definitions = b",".join(each.definitions for each in every if each.definitions)
    return b'%s,"paths":{%s},"definitions":{%s},%s' % (head, paths, definitions, tail)


class _Renderer(Renderer):
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
