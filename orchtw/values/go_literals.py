"""Values of named Go types in causes, in the form of `%#v` (reference ERR-5).

A form turns the JSON value of a type into its literal; the types are declared beside the rules that show them. Where
Go would show the address of a value there are `&` and the value.
"""

from __future__ import annotations

from calendar import month_name
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from orchtw.values.causes import Literal, go_map, go_quote, joined

Form = Callable[[Any], str]
"""Function that returns the literal of a JSON value, None for an absent one."""


def as_text(value: str | None) -> str:
    """Return a text, also of a named type."""
    return go_quote(value or "")


def as_number(value: int | None) -> str:
    """Return a number, also of a named type."""
    return str(value or 0)


def as_flag(value: bool | None) -> str:
    """Return a boolean as Go prints it."""
    return "true" if value else "false"


def as_amount(value: int | str | None) -> str:
    """Return a number or percentage."""
    if isinstance(value, str):
        return f"intstr.IntOrString{{Type:1, IntVal:0, StrVal:{go_quote(value)}}}"
    return f'intstr.IntOrString{{Type:0, IntVal:{value or 0}, StrVal:""}}'


def as_date(value: str | None) -> str:
    """Return a time in seconds, given as RFC 3339 text in UTC."""
    if not value:
        return "time.Date(1, time.January, 1, 0, 0, 0, 0, time.UTC)"
    at = datetime.fromisoformat(value)
    parts = (str(at.year), f"time.{month_name[at.month]}", *map(str, (at.day, at.hour, at.minute, at.second, 0)))
    return f"time.Date({', '.join(parts)}, time.Local)"


def as_date_or_nil(value: str | None) -> str:
    """Return a pointer to a time, given as RFC 3339 text in UTC."""
    return as_date(value) if value else "<nil>"


def texts_by_key(values: Mapping[str, str] | None) -> str:
    """Return a map of texts."""
    return "map[string]string(nil)" if values is None else go_map(values)


def pointer(kind: str, form: Form) -> Form:
    """Return the form of a pointer, which may be nil."""
    return lambda value: f"(*{kind})(nil)" if value is None else f"&{form(value)}"


def listed(kind: str, form: Form = as_text) -> Form:
    """Return the form of a list of a type's values."""
    return lambda values: f"[]{kind}(nil)" if values is None else f"[]{kind}{{{joined(map(form, values))}}}"


def struct(kind: str, /, **fields: tuple[str, Form]) -> Form:
    """Return the form of a struct: for each field, by its Go name and in Go's order, the JSON key and the form."""

    def shown(value: Mapping[str, Any] | None) -> str:
        given = value or {}
        return f"{kind}{{{', '.join(f'{name}:{form(given.get(key))}' for name, (key, form) in fields.items())}}}"

    return shown


def untyped(value: Any) -> str:
    """Return a JSON value without a type of its own."""
    if value is None:
        return "interface {}(nil)"
    if isinstance(value, Mapping):
        entries = (f"{go_quote(key)}:{untyped(value[key])}" for key in sorted(value))
        return f"map[string]interface {{}}{{{joined(entries)}}}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[]interface {{}}{{{joined(map(untyped, value))}}}"
    if isinstance(value, bool):
        return as_flag(value)
    return go_quote(value) if isinstance(value, str) else str(value)


def shown(form: Form, value: Any) -> Literal:
    """Return the value of a cause; an absent one is "null"."""
    return Literal('"null"' if value is None else form(value))


REQUIREMENT: Final = struct(
    "v1.LabelSelectorRequirement",
    Key=("key", as_text), Operator=("operator", as_text), Values=("values", listed("string")),
)  # fmt: skip
SELECTOR: Final = struct(
    "v1.LabelSelector",
    MatchLabels=("matchLabels", texts_by_key),
    MatchExpressions=("matchExpressions", listed("v1.LabelSelectorRequirement", REQUIREMENT)),
)
OWNER: Final = struct(
    "v1.OwnerReference",
    APIVersion=("apiVersion", as_text), Kind=("kind", as_text), Name=("name", as_text), UID=("uid", as_text),
    Controller=("controller", pointer("bool", as_flag)),
    BlockOwnerDeletion=("blockOwnerDeletion", pointer("bool", as_flag)),
)  # fmt: skip
OWNERS: Final = listed("v1.OwnerReference", OWNER)
METADATA: Final = struct(
    "v1.ObjectMeta",
    Name=("name", as_text), GenerateName=("generateName", as_text), Namespace=("namespace", as_text),
    SelfLink=("selfLink", as_text), UID=("uid", as_text), ResourceVersion=("resourceVersion", as_text),
    Generation=("generation", as_number),
    CreationTimestamp=("creationTimestamp", as_date), DeletionTimestamp=("deletionTimestamp", as_date_or_nil),
    DeletionGracePeriodSeconds=("deletionGracePeriodSeconds", pointer("int64", as_number)),
    Labels=("labels", texts_by_key), Annotations=("annotations", texts_by_key),
    OwnerReferences=("ownerReferences", OWNERS), Finalizers=("finalizers", listed("string")),
    ZZZ_DeprecatedClusterName=("clusterName", as_text),
    ManagedFields=("managedFields", listed("v1.ManagedFieldsEntry", str)),
)  # fmt: skip
IP_FAMILIES: Final = listed("core.IPFamily")
