"""The parameters of operations (reference OPENAPI-13, REQ-17)."""

from __future__ import annotations

from typing import Literal

import attrs

from orchtw.schema.nodes import ListSchema, Node, Scalar, StructSchema
from orchtw.schema.openapi import words
from orchtw.schema.openapi.descriptions import Descriptions

_NAMES = {
    Scalar.BOOL: "boolean",
    Scalar.INT32: "integer",
    Scalar.INT64: "integer",
    Scalar.DOUBLE: "number",
}


@attrs.frozen(slots=True, kw_only=True)
class Parameter:
    """A parameter in the path or the query; those in the path are always required. `type` is a JSON schema type."""

    name: str
    place: Literal["path", "query"] = "query"
    type: str = "string"
    description: str


def _query(name: str, type_: str, description: str) -> Parameter:
    return Parameter(name=name, type=type_, description=description)


NAMESPACE = Parameter(name="namespace", place="path", description="The namespace of the objects.")
PATH = Parameter(name="path", place="path", description="The path of the request that is passed on.")
PRETTY = _query("pretty", "string", "If true, JSON answers are indented.")

_LIMITS = (
    _query("continue", "string", "Where the next part of a list begins, as the part before it said."),
    _query("fieldSelector", "string", "Only objects whose fields have these values, such as metadata.name=a."),
    _query("labelSelector", "string", "Only objects whose labels match."),
    _query("limit", "integer", "How many objects one answer holds at the most."),
    _query("resourceVersion", "string", "The version that the answer is, or is not older than."),
    _query("resourceVersionMatch", "string", "How resourceVersion is meant: Exact or NotOlderThan."),
    _query("timeoutSeconds", "integer", "Seconds after which the call ends, whatever has happened by then."),
)
LIST = (
    _query("allowWatchBookmarks", "boolean", "If true, a watch now and then tells the version that it has reached."),
    *_LIMITS,
    _query("watch", "boolean", "If true, changes are sent as they happen, not the objects as they are."),
)

_DRY_RUN = _query("dryRun", "string", "All: do everything but keep the result.")
_MANAGER = _query("fieldManager", "string", "Who owns the fields that this request sets.")
VALIDATION = _query(
    "fieldValidation", "string", "What unknown and repeated fields do: Ignore drops, Warn also tells, Strict refuses."
)
WRITE = (_DRY_RUN, _MANAGER, VALIDATION)
PATCH = (*WRITE, _query("force", "boolean", "Apply only: take over fields that others own."))
DELETE = (
    _DRY_RUN,
    _query("gracePeriodSeconds", "integer", "Seconds that the object has to end in order; 0 means at once."),
    _query("orphanDependents", "boolean", "Deprecated, use propagationPolicy: if true, dependents stay."),
    _query("propagationPolicy", "string", "What becomes of dependents: Orphan, Background or Foreground."),
)
DELETE_COLLECTION = (*DELETE, *_LIMITS)


def named(kind: str) -> Parameter:
    """The parameter that names one object."""
    return Parameter(name="name", place="path", description=f"The name of the {kind}.")


def of_options(options: StructSchema, texts: Descriptions) -> tuple[Parameter, ...]:
    """The query parameters that a kind of request options stands for, one per field."""
    return tuple(
        Parameter(
            name=field.name,
            type=_type(field.node),
            description=words.of_field(field, texts.of_field(options.name, field.proto)),
        )
        for field in options.keys.values()
    )


def _type(node: Node) -> str:
    """The type of one value: a list of texts is given by repeating the parameter."""
    element = node.element if isinstance(node, ListSchema) else node
    return _NAMES.get(element, "string") if isinstance(element, Scalar) else "string"
