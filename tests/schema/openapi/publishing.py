"""Base of the OpenAPI tests: documents of both vocabularies, made once."""

from __future__ import annotations

from functools import cache
from typing import Any

import orjson

from orchtw.naming.naming import Naming
from orchtw.schema.catalogue import Catalogue, ResourceType
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.openapi.definitions import Definitions, Dialect
from orchtw.schema.openapi.documents import parts
from orchtw.schema.openapi.features import EVERYTHING
from orchtw.schema.openapi.operations import Operation
from orchtw.schema.openapi.published import Published
from orchtw.schema.schemas import Schemas

VOCABULARIES = ("orch", "kubernetes")
Document = dict[str, Any]


@cache
def surface(vocabulary: str) -> tuple[Schemas, tuple[ResourceType, ...]]:
    """The schemas, and the resources that are on by default."""
    catalogue = Catalogue.load(Naming.of(vocabulary))
    enabled = tuple(each for each in catalogue.resources if each.default_on)
    return Codecs(catalogue).schemas, enabled


@cache
def published(vocabulary: str) -> Published:
    """Everything that is published by a server without settings."""
    return Published(*surface(vocabulary))


@cache
def v2(vocabulary: str = "orch") -> Document:
    """Return the v2 document."""
    document: Document = orjson.loads(published(vocabulary).v2.json.body)
    return document


@cache
def v3(path: str, vocabulary: str = "orch") -> Document:
    """Return one v3 document."""
    document: Document = orjson.loads(published(vocabulary).v3[path].json.body)
    return document


def definitions(dialect: Dialect, vocabulary: str = "orch") -> Definitions:
    """Definitions of which none has been made yet."""
    return Definitions(dialect, *surface(vocabulary), EVERYTHING)


@cache
def operations(vocabulary: str = "orch") -> dict[str, Operation]:
    """Every operation by its id."""
    every = [operation for part in parts(*surface(vocabulary), EVERYTHING) for operation in part.operations()]
    found = {operation.id: operation for operation in every}
    if len(found) != len(every):
        raise AssertionError("an operation id stands for two operations")
    return found
