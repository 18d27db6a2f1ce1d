"""Records of policies and bindings that are compiled (reference POLICY-2)."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from orchtw.admission.policies.constraints import ALL_WRITES, Constraints
from orchtw.rules.selectors import LabelSelector
from orchtw.schema.cel.checked import Checked


class Validation(msgspec.Struct, frozen=True, eq=False):
    """A rule of a policy; `message` is shown if `shown` gives no message, `reason` may be empty."""

    rule: Checked
    message: str
    shown: Checked | None
    reason: str


class Annotation(msgspec.Struct, frozen=True, eq=False):
    """An audit annotation of a policy."""

    key: str
    value: Checked


class Mutation(msgspec.Struct, frozen=True, eq=False):
    """A mutation of a policy; `merges`: it is an apply configuration, else a JSON patch."""

    merges: bool
    change: Checked


class Policy(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A policy. `kind` is the (apiVersion, kind) of its parameters, if it has any.

    `patient`: its failurePolicy is Ignore. `again`: its reinvocationPolicy is IfNeeded. `broken` is the reason why it
    cannot be matched, or empty. `names` are the variables of a write that any expression mentions. `bare`: its
    validations need nothing but the write and its namespace.
    """

    name: str
    constraints: Constraints = ALL_WRITES
    kind: tuple[str, str] | None = None
    patient: bool = False
    again: bool = False
    broken: str = ""
    conditions: tuple[Checked, ...] = ()
    variables: Mapping[str, Checked] = {}
    validations: tuple[Validation, ...] = ()
    annotations: tuple[Annotation, ...] = ()
    mutations: tuple[Mutation, ...] = ()
    names: frozenset[str] = frozenset()
    bare: bool = False


class Parameters(msgspec.Struct, frozen=True, kw_only=True):
    """Reference of a binding to parameters; `labels` None: by name. `required`: a miss is an error."""

    name: str = ""
    namespace: str = ""
    labels: LabelSelector | None = None
    required: bool = True


class Binding(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A binding; `broken` is the reason why it cannot be matched, or empty."""

    name: str
    policy: str
    constraints: Constraints = ALL_WRITES
    parameters: Parameters | None = None
    actions: tuple[str, ...] = ()
    broken: str = ""
