"""What both versions' documents begin with: the parts of the API, each with its operations, and shared texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import attrs

from orchtw.naming import Naming
from orchtw.schema.catalogue import Catalogue, ResourceType, joined
from orchtw.schema.compiler import SchemaCompiler
from orchtw.schema.openapi import discovery
from orchtw.schema.openapi.operations import TEXT, Operation, Operations
from orchtw.schema.openapi.parameters import Parameter

Document = dict[str, Any]

METHODS = ("get", "put", "post", "delete", "options", "head", "patch")
SECURITY = "BearerToken"
SECURITY_SCHEME = {
    "description": "A bearer token", "type": "apiKey", "name": "authorization", "in": "header"
}  # fmt: skip
TEXT_SCHEMA = {"type": "string"}
UNAUTHORIZED = {"description": "Unauthorized"}
CODES = {200: "OK", 201: "Created", 202: "Accepted"}


@attrs.frozen(slots=True)
class Part:
    """One part of the API: the path that leads to it, such as "apis/apps/v1", and what can be asked there."""

    path: str
    operations: Callable[[], list[Operation]]


def parts(catalogue: Catalogue, compiler: SchemaCompiler, enabled: Iterable[ResourceType]) -> list[Part]:
    """The parts of a server that serves `enabled`, discovery included, by path."""
    served: dict[tuple[str, str], list[ResourceType]] = {}
    for resource in enabled:
        served.setdefault((resource.group, resource.version), []).append(resource)
    naming = catalogue.naming
    made = Operations(catalogue, compiler)
    found = [
        Part("api", lambda: [discovery.core_versions(naming)]),
        Part("apis", lambda: [discovery.groups(naming)]),
        Part("version", lambda: [discovery.version(naming)]),
    ]
    for name in {group for group, _ in served if group}:
        found.append(Part(f"apis/{name}", lambda name=name: [discovery.group(naming, name)]))
    for (group, version), resources in served.items():
        found.append(
            Part(
                f"apis/{joined(group, version)}" if group else f"api/{version}",
                lambda group=group, version=version, resources=resources: [
                    discovery.resources(naming, group, version),
                    *made.of_version(resources),
                ],
            )
        )
    return sorted(found, key=lambda part: part.path)


def by_path(operations: Iterable[Operation]) -> dict[str, list[Operation]]:
    """The operations by path, in the order of the paths."""
    found: dict[str, list[Operation]] = {}
    for operation in operations:
        found.setdefault(operation.path, []).append(operation)
    return dict(sorted(found.items()))


def shared(operations: list[Operation]) -> tuple[Parameter, ...]:
    """The parameters that all operations of a path have; those of one path are said once."""
    first, *rest = operations
    return tuple(each for each in first.parameters if all(each in other.parameters for other in rest))


def messages(operations: Iterable[Operation]) -> set[str]:
    """The messages that travel in these operations."""
    found = {message for operation in operations for message in (operation.body, *operation.responses.values())}
    return found - {"", TEXT}


def info(naming: Naming) -> Document:
    """The document's own title and version."""
    return {"title": naming.product_title, "version": naming.git_version}


def extensions(operation: Operation, naming: Naming) -> Document:
    """What an operation does and to which kind (supplement C2)."""
    if operation.kind is None:
        return {}
    prefix = naming.extension_prefix
    return {f"{prefix}action": operation.action, f"{prefix}group-version-kind": operation.kind}
