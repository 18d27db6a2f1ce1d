"""Base of the documents of both versions: parts of the API with their operations, and shared texts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import attrs
import msgspec
import orjson

from orchtw.naming.naming import Naming
from orchtw.schema.catalogue import ResourceType, joined
from orchtw.schema.openapi import discovery
from orchtw.schema.openapi.definition_names import selectable_fields
from orchtw.schema.openapi.definitions import Definitions
from orchtw.schema.openapi.features import Features
from orchtw.schema.openapi.operations import TEXT, Operation, Operations
from orchtw.schema.openapi.parameters import Parameter
from orchtw.schema.schemas import Schemas

Document = dict[str, Any]

METHODS = ("get", "put", "post", "delete", "options", "head", "patch")
SECURITY = "BearerToken"
SECURITY_SCHEME = {
    "description": "A bearer token", "type": "apiKey", "name": "authorization", "in": "header"
}  # fmt: skip
TEXT_SCHEMA = {"type": "string"}
UNAUTHORIZED = {"description": "Unauthorized"}
CODES = {200: "OK", 201: "Created", 202: "Accepted"}


class Part(msgspec.Struct, frozen=True):
    """One part of the API: its path, such as "apis/apps/v1", and its operations.

    `index` is the operation that lists the part's contents, `members` are those on its `resources`.
    """

    path: str
    index: Callable[[], Operation]
    members: Callable[[], Iterable[Operation]] = tuple
    resources: tuple[ResourceType, ...] = ()

    def operations(self) -> list[Operation]:
        """Return the operations of this part."""
        return [self.index(), *self.members()]


def parts(schemas: Schemas, enabled: Iterable[ResourceType], features: Features) -> list[Part]:
    """Return the parts of a server that serves `enabled`, discovery included, by path."""
    served: dict[tuple[str, str], list[ResourceType]] = {}
    for resource in enabled:
        served.setdefault((resource.group, resource.version), []).append(resource)
    naming = schemas.naming
    made = Operations(schemas, features)
    found = [
        Part("api", partial(discovery.core_versions, naming)),
        Part("apis", partial(discovery.groups, naming)),
        Part("version", partial(discovery.version, naming)),
    ]
    for name in {group for group, _ in served if group}:
        found.append(Part(f"apis/{name}", partial(discovery.group, naming, name)))
    for (group, version), resources in served.items():
        path = f"apis/{joined(group, version)}" if group else f"api/{version}"
        index = partial(discovery.resources, naming, group, version)
        found.append(Part(path, index, partial(made.of_version, resources), tuple(resources)))
    return sorted(found, key=lambda part: part.path)


@attrs.frozen(slots=True)
class Pieces:
    """The JSON of some paths and definitions, without the braces around each, and the names of the definitions.

    `shared` are the names of further definitions that they need.
    """

    paths: bytes
    definitions: bytes
    names: frozenset[str]
    shared: frozenset[str] = frozenset()

    def documents(self) -> tuple[Document, Document]:
        """Return the paths and the definitions, parsed."""
        return orjson.loads(b"{%s}" % self.paths), orjson.loads(b"{%s}" % self.definitions)


class Renderer(ABC):
    """Makes the parts of a document in one version of OpenAPI."""

    def __init__(self, definitions: Definitions, naming: Naming) -> None:
        self._definitions = definitions
        self._naming = naming
        self._parameters: dict[Parameter, Document] = {}

    def pieces(self, operations: Iterable[Operation], *, also: Iterable[str] = (), whole: bool = False) -> Pieces:
        """Return the pieces of a document for some operations.

        The definitions are those that they need and those of messages in `also`: all of them if `whole`, else only
        those of added kinds.
        """
        every = list(operations)
        used = self._definitions.closure(messages(every) | set(also))
        own = used if whole else {name: used[name] for name in used if name in self._definitions.added}
        paths = orjson.dumps(self.paths(every))
        return Pieces(paths[1:-1], orjson.dumps(own)[1:-1], frozenset(own), frozenset(used.keys() - own.keys()))

    def paths(self, operations: Iterable[Operation]) -> Document:
        """Return the `paths` member: path items in the order of their paths."""
        found: dict[str, list[Operation]] = {}
        for operation in operations:
            found.setdefault(operation.path, []).append(operation)
        return {path: self._path(found[path]) for path in sorted(found)}

    def _path(self, operations: list[Operation]) -> Document:
        """Return a path item: each operation under its method, then the parameters that they all share."""
        first, *rest = operations
        common = tuple(each for each in first.parameters if all(each in other.parameters for other in rest))
        item: Document = {operation.method: self._operation(operation, common) for operation in operations}
        if common:
            item["parameters"] = [self._parameter(each) for each in common]
        return item

    def _parameter(self, parameter: Parameter) -> Document:
        found = self._parameters.get(parameter)
        if found is None:
            found = self._parameters[parameter] = self._new_parameter(parameter)
            if parameter.place == "path":
                found["required"] = True
        return found

    def _schema(self, message: str) -> Document:
        return TEXT_SCHEMA if message == TEXT else self._definitions.reference(message)

    @abstractmethod
    def _operation(self, operation: Operation, common: tuple[Parameter, ...]) -> Document:
        """Return an operation without the parameters that its path item has."""

    @abstractmethod
    def _new_parameter(self, parameter: Parameter) -> Document:
        """Return a parameter, except for `required`."""


def messages(operations: Iterable[Operation]) -> set[str]:
    """Return the messages in the bodies and responses of these operations."""
    found = {message for operation in operations for message in (operation.body, *operation.responses.values())}
    return found - {"", TEXT}


def info(naming: Naming) -> Document:
    """Return the document's own title and version."""
    return {"title": naming.product_title, "version": naming.git_version}


def extensions(operation: Operation, naming: Naming) -> Document:
    """Return the extensions for an operation's action and kind (reference OPENAPI-10)."""
    if operation.kind is None:
        return {}
    prefix = naming.extension_prefix
    found: Document = {f"{prefix}action": operation.action, f"{prefix}group-version-kind": operation.kind}
    return found | selectable_fields(operation.fields, prefix)
