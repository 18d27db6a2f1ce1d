"""Library functions that ask whether a user may do something; only admission has variables of these types.

The question goes to a function that came with the variable. Values are questions that are completed step by step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Final

import msgspec

from orchtw.schema.cel.faults import Failure
from orchtw.schema.cel.overloads import overload
from orchtw.schema.cel.types import Type
from orchtw.schema.cel.values import Opaque

CHECK_STEPS: Final = 350_000
"""Cost of one question: the limit of an expression allows two."""


class Question(msgspec.Struct, frozen=True):
    """An action that a user wants to take: a verb on a path, if there is one, or else on a resource.

    `service_account`: (namespace, name) of the account that is asked about instead of the request's user. Selectors
    are texts; empty: none.
    """

    verb: str = ""
    path: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    field_selector: str = ""
    label_selector: str = ""
    service_account: tuple[str, str] | None = None


class Answer(msgspec.Struct, frozen=True):
    """Decision of an authorizer; `error` is why it could not decide, empty if it could."""

    allowed: bool
    reason: str = ""
    error: str = ""


Decide = Callable[[Question], Answer]


class Authorizer(Opaque, frozen=True):
    """An authorizer for the request's user, or for a service account."""

    type_name: ClassVar[str] = "authorizer"

    decide: Decide
    question: Question = Question()


class PathCheck(Opaque, frozen=True):
    """A question about a path."""

    type_name: ClassVar[str] = "pathCheck"

    decide: Decide
    question: Question


class GroupCheck(Opaque, frozen=True):
    """A question about an API group, before it has a resource."""

    type_name: ClassVar[str] = "groupCheck"

    decide: Decide
    question: Question


class ResourceCheck(Opaque, frozen=True):
    """A question about a resource."""

    type_name: ClassVar[str] = "resourceCheck"

    decide: Decide
    question: Question


class Decision(Opaque, frozen=True):
    """The answer to a question."""

    type_name: ClassVar[str] = "decision"

    answer: Answer


AUTHORIZER: Final = Type(Authorizer.type_name)
"""Type of the variable that questions begin with."""

RESOURCE_CHECK: Final = Type(ResourceCheck.type_name)
"""Type of the question about the request's own resource."""


def _path(found: Authorizer, path: str) -> PathCheck:
    if not path:
        raise Failure("path must not be empty")
    return PathCheck(found.decide, msgspec.structs.replace(found.question, path=path))


def _group(found: Authorizer, group: str) -> GroupCheck:
    return GroupCheck(found.decide, msgspec.structs.replace(found.question, group=group))


def _service_account(found: Authorizer, namespace: str, name: str) -> Authorizer:
    return Authorizer(found.decide, msgspec.structs.replace(found.question, service_account=(namespace, name)))


def _resource(found: GroupCheck, resource: str) -> ResourceCheck:
    return ResourceCheck(found.decide, msgspec.structs.replace(found.question, resource=resource))


def _with(part: str) -> Callable[[ResourceCheck, str], ResourceCheck]:
    def completed(found: ResourceCheck, text: str) -> ResourceCheck:
        return ResourceCheck(found.decide, msgspec.structs.replace(found.question, **{part: text}))

    return completed


def _check(found: PathCheck | ResourceCheck, verb: str) -> Decision:
    return Decision(found.decide(msgspec.structs.replace(found.question, verb=verb)))


def _cost(*_: Any) -> int:
    return CHECK_STEPS


FUNCTIONS: Final = (
    overload("authorizer.path(string) -> pathCheck", _path),
    overload("authorizer.group(string) -> groupCheck", _group),
    overload("authorizer.serviceAccount(string, string) -> authorizer", _service_account),
    overload("groupCheck.resource(string) -> resourceCheck", _resource),
    overload("resourceCheck.subresource(string) -> resourceCheck", _with("subresource")),
    overload("resourceCheck.namespace(string) -> resourceCheck", _with("namespace")),
    overload("resourceCheck.name(string) -> resourceCheck", _with("name")),
    overload("pathCheck.check(string) -> decision", _check, _cost),
    overload("resourceCheck.check(string) -> decision", _check, _cost),
    overload("decision.allowed() -> bool", lambda found: found.answer.allowed),
    overload("decision.reason() -> string", lambda found: found.answer.reason),
    overload("decision.errored() -> bool", lambda found: bool(found.answer.error)),
    overload("decision.error() -> string", lambda found: found.answer.error),
)

SELECTORS: Final = (
    overload("resourceCheck.fieldSelector(string) -> resourceCheck", _with("field_selector")),
    overload("resourceCheck.labelSelector(string) -> resourceCheck", _with("label_selector")),
)
"""Functions that came with selectors in authorization."""
