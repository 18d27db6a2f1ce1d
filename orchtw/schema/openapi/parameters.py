"""The parameters of operations (reference OPENAPI-13, REQ-17)."""

from __future__ import annotations

from typing import Literal

import msgspec

from orchtw.schema.nodes import ListSchema, Node, Scalar, StructSchema
from orchtw.schema.openapi import words
from orchtw.schema.openapi.descriptions import Descriptions

_NAMES = {
    Scalar.BOOL: "boolean",
    Scalar.INT32: "integer",
    Scalar.INT64: "integer",
    Scalar.DOUBLE: "number",
}


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    """A parameter in the path or the query; those in the path are always required. `type` is a JSON schema type."""

    name: str
    place: Literal["path", "query"] = "query"
    type: str = "string"
    description: str


def _query(name: str, type_: str, description: str) -> Parameter:
    return Parameter(name=name, type=type_, description=description)


NAMESPACE = Parameter(name="namespace", place="path", description="The namespace of the objects.")
PATH = Parameter(name="path", place="path", description="The path of the proxied request.")
PRETTY = _query("pretty", "string", "If true, JSON responses are indented.")

INITIAL_EVENTS = _query(
    "sendInitialEvents",
    "boolean",
    "For watches only. If true, the watch begins with the current objects, followed by a bookmark; needs "
    "resourceVersionMatch=NotOlderThan.",
)
SHARDS = _query(
    "shardSelector",
    "string",
    "Selects objects by the hash of their uid or namespace, such as "
    "shardRange(object.metadata.uid, '0x0', '0x8000000000000000'); several ranges are joined by ||.",
)
_LIMITS = (
    _query("continue", "string", "The continue token from metadata.continue of the previous part of a list."),
    _query("fieldSelector", "string", "Selects objects by field values, such as metadata.name=a."),
    _query("labelSelector", "string", "Selects objects by labels, such as app=web,tier!=db."),
    _query("limit", "integer", "Maximum number of objects in a response; 0 means no limit."),
    _query("resourceVersion", "string", "The version to list at or to watch from. Default: the latest state."),
    _query("resourceVersionMatch", "string", "The meaning of resourceVersion for lists: Exact or NotOlderThan."),
    INITIAL_EVENTS,
    SHARDS,
    _query("timeoutSeconds", "integer", "Timeout in seconds after which the request ends."),
)
LIST = (
    _query(
        "allowWatchBookmarks",
        "boolean",
        "If true, the server periodically sends BOOKMARK events with the current resourceVersion.",
    ),
    *_LIMITS,
    _query("watch", "boolean", "If true, changes are sent as they happen, instead of the current objects."),
)

_DRY_RUN = _query("dryRun", "string", "All: the request is validated and admitted, but not persisted.")
_MANAGER = _query("fieldManager", "string", "The name of the manager that will own the fields set by this request.")
VALIDATION = _query(
    "fieldValidation",
    "string",
    "The handling of unknown and duplicate fields: Ignore drops them, Warn also returns warnings, Strict rejects the "
    "request.",
)
WRITE = (_DRY_RUN, _MANAGER, VALIDATION)
PATCH = (*WRITE, _query("force", "boolean", "For apply only. If true, takes over fields owned by other managers."))
IGNORE_READ_ERRORS = _query(
    "ignoreStoreReadErrorWithClusterBreakingPotential",
    "boolean",
    "If true, an object that cannot be read is deleted without its finalizers; one that can be read is not.",
)
DELETE = (
    _DRY_RUN,
    _query("gracePeriodSeconds", "integer", "Grace period in seconds; 0 deletes immediately."),
    IGNORE_READ_ERRORS,
    _query("orphanDependents", "boolean", "Deprecated, use propagationPolicy. If true, dependents are kept."),
    _query("propagationPolicy", "string", "The handling of dependents: Orphan, Background or Foreground."),
)
DELETE_COLLECTION = (*DELETE, *_LIMITS)


def named(kind: str) -> Parameter:
    """Return the parameter for an object's name."""
    return Parameter(name="name", place="path", description=f"The name of the {kind}.")


def of_options(options: StructSchema, texts: Descriptions) -> tuple[Parameter, ...]:
    """Return the query parameters of a kind of request options, one per field."""
    return tuple(
        Parameter(
            name=field.name,
            type=_type(field.node),
            description=words.of_field(field, texts.of_field(options.name, field.proto)),
        )
        for field in options.keys.values()
    )


def _type(node: Node) -> str:
    """Return the type of one value: a list of texts is given by repeating the parameter."""
    element = node.element if isinstance(node, ListSchema) else node
    return _NAMES.get(element, "string") if isinstance(element, Scalar) else "string"
