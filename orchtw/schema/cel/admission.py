"""Expressions of admission policies and webhooks: their variables, and the results that they may have (reference
POLICY-5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

import msgspec

from orchtw.naming.naming import Naming
from orchtw.schema.cel.checked import Checked
from orchtw.schema.cel.compiler import compiled
from orchtw.schema.cel.declarations import Extensions, declared, reader
from orchtw.schema.cel.environment import Environment, Messages, Release, compatible, environment, object_type
from orchtw.schema.cel.evaluation import VARIABLES
from orchtw.schema.cel.faults import Fault
from orchtw.schema.cel.library.authorizers import AUTHORIZER, RESOURCE_CHECK
from orchtw.schema.cel.types import BOOL, DYN, NULL, STRING, CelMember, Type, list_of, map_of

OBJECT: Final = "object"
OLD_OBJECT: Final = "oldObject"
REQUEST: Final = "request"
PARAMS: Final = "params"
NAMESPACE: Final = "namespaceObject"
AUTHORIZED: Final = "authorizer"
OWN_RESOURCE: Final = "authorizer.requestResource"

CONDITION: Final = (BOOL,)
MESSAGE: Final = (STRING,)
ANNOTATION: Final = (STRING, NULL)
ANYTHING: Final = ()
"""Results that an expression may have."""

_TEXT: Final = {"type": "string"}
_NUMBER: Final = {"type": "integer"}
_TEXTS: Final = {"type": "array", "items": _TEXT}
_TIME: Final = {"type": "string", "format": "date-time"}


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def _map(values: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": values}


_KIND: Final = _object(group=_TEXT, version=_TEXT, kind=_TEXT)
_RESOURCE: Final = _object(group=_TEXT, version=_TEXT, resource=_TEXT)
_REQUEST: Final = _object(
    kind=_KIND,
    resource=_RESOURCE,
    subResource=_TEXT,
    requestKind=_KIND,
    requestResource=_RESOURCE,
    requestSubResource=_TEXT,
    name=_TEXT,
    namespace=_TEXT,
    operation=_TEXT,
    userInfo=_object(username=_TEXT, uid=_TEXT, groups=_TEXTS, extra=_map(_TEXTS)),
    dryRun={"type": "boolean"},
    options={f"{Naming.orch().extension_prefix}int-or-string": True},
)
_METADATA: Final = _object(
    name=_TEXT,
    generateName=_TEXT,
    namespace=_TEXT,
    labels=_map(_TEXT),
    annotations=_map(_TEXT),
    uid=_TEXT,
    creationTimestamp=_TIME,
    deletionGracePeriodSeconds=_NUMBER,
    deletionTimestamp=_TIME,
    generation=_NUMBER,
    resourceVersion=_TEXT,
    finalizers=_TEXTS,
)
_CONDITION: Final = _object(type=_TEXT, status=_TEXT, lastTransitionTime=_TIME, message=_TEXT, reason=_TEXT)
_NAMESPACE: Final = _object(
    metadata=_METADATA,
    spec=_object(finalizers=_TEXTS),
    status=_object(phase=_TEXT, conditions={"type": "array", "items": _CONDITION}),
)


_KEYS: Final = Extensions.of(Naming.orch())


@cache
def _request_type() -> Type:
    return _typed(_REQUEST, "kubernetes.AdmissionRequest")


@cache
def _namespace_type() -> Type:
    return _typed(_NAMESPACE, "kubernetes.Namespace")


def _typed(schema: dict[str, Any], name: str) -> Type:
    """Return the type of a schema; in contrast to `declared`, names of members are not escaped."""
    if "properties" in schema:
        members = {}
        for key, part in schema["properties"].items():
            kind = _typed(part, f"{name}.{key}")
            members[key] = CelMember(key, kind, reader(kind, part, _KEYS))
        return Type(name, members=lambda: members)
    if "additionalProperties" in schema:
        return map_of(STRING, _typed(schema["additionalProperties"], name))
    if "items" in schema:
        return list_of(_typed(schema["items"], name))
    scalar = declared(schema, _KEYS, name, names_itself=False)
    assert scalar is not None
    return scalar


def known_variables(*, params: bool, resource: bool = True, namespace: bool = True) -> dict[str, Type]:
    """Return the variables of expressions about a write; `resource`: with the authorizer and its own resource."""
    known = {OBJECT: DYN, OLD_OBJECT: DYN, REQUEST: _request_type()}
    if namespace:
        known[NAMESPACE] = _namespace_type()
    if params:
        known[PARAMS] = DYN
    if resource:
        known[AUTHORIZED] = AUTHORIZER
        known[OWN_RESOURCE] = RESOURCE_CHECK
    return known


class Language(msgspec.Struct, frozen=True):
    """Language of expressions under a `release`: what the one before has; `stored` ones may use everything.

    (Reference CRD-28.) `release` None: everything. `messages`: the messages that may be written out.
    """

    release: Release | None = None
    stored: frozenset[str] = frozenset()
    messages: Messages | None = None

    def of(self, source: str) -> Environment:
        """Return the environment of an expression."""
        known = None if self.release is None or source in self.stored else compatible(self.release)
        found = environment(known, admission=True)
        return found if self.messages is None else found.writing(self.messages)


STORED: Final = Language()
"""Language of expressions that have been accepted."""


def checked(
    source: str, known: Mapping[str, Type], results: Sequence[Type], language: Language = STORED
) -> Checked:
    """Compile an expression whose value must be of one of the types in `results`; ANYTHING allows every type."""
    try:
        found = compiled(source, known, language.of(source))
    except Fault as fault:
        return Checked(source, None, f"compilation failed: {fault.shown(source)}")
    kind = found.code.type
    if results and kind not in results:
        wanted = str(results[0]) if len(results) == 1 else f"one of [{' '.join(map(str, results))}]"
        return Checked(source, None, f"must evaluate to {wanted} but got {kind}")
    return Checked(source, found)


class Composition:
    """Variables of a policy: each expression sees those that were defined before it as `variables.<name>`."""

    def __init__(self, known: Mapping[str, Type], language: Language = STORED) -> None:
        self._known = dict(known)
        self._language = language
        self.defined: dict[str, Checked] = {}
        self._declare()

    def define(self, name: str, source: str) -> Checked:
        """Compile a variable, and let later expressions refer to it."""
        found = self.defined[name] = self.check(source, ANYTHING)
        self._declare()
        return found

    def check(self, source: str, results: Sequence[Type], *, resource: bool = True) -> Checked:
        """Compile an expression; `resource` False: without the authorizer."""
        known = self._known
        if not resource:
            known = {name: kind for name, kind in known.items() if name not in (AUTHORIZED, OWN_RESOURCE)}
        return checked(source, known, results, self._language)

    def _declare(self) -> None:
        members = {name: found.kind for name, found in self.defined.items()}
        self._known[VARIABLES] = object_type("kubernetes.variables", members)
