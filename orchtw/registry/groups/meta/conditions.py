"""Conditions of the type that all groups share, in the statuses that hold them (reference KIND-34)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from orchtw.errors import Cause
from orchtw.naming.naming import Naming
from orchtw.schema.validation.validators import Check
from orchtw.values import utf8
from orchtw.values.causes import invalid, not_supported, required, too_long
from orchtw.values.names import qualified_name, regex_text
from orchtw.wire.objects import Object

_CONDITION: Final = "orch.io.apimachinery.pkg.apis.meta.v1.Condition"
_STATUSES: Final = ("False", "True", "Unknown")
_REASON: Final = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
_REASON_LIMIT_BYTES: Final = 1024
_MESSAGE_LIMIT_BYTES: Final = 32768
_REASON_TEXT: Final = regex_text(
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric "
    "characters or '_,:', and must end with an alphanumeric character or '_'",
    _REASON,
    "my_name",
    "MY_NAME",
    "MyName",
    "ReasonA,ReasonB",
    "ReasonA:ReasonB",
)
_is_reason: Final = re.compile(_REASON).fullmatch


def check_condition(new: Object, old: Object | None) -> list[Cause]:
    """Validate that a condition has a type, a status, a time of transition and a reason."""
    kind, status = new.get("type", ""), new.get("status", "")
    causes = [invalid("type", kind, text) for text in qualified_name(kind)]
    if status not in _STATUSES:
        causes.append(not_supported("status", status, _STATUSES))
    if (observed := new.get("observedGeneration", 0)) < 0:
        causes.append(invalid("observedGeneration", observed, "must be greater than or equal to zero"))
    if not new.get("lastTransitionTime"):
        causes.append(required("lastTransitionTime", "must be set"))
    if not (reason := new.get("reason")):
        causes.append(required("reason", "must be set"))
    else:
        if utf8.size(reason) > _REASON_LIMIT_BYTES:
            causes.append(too_long("reason", _REASON_LIMIT_BYTES))
        elif not _is_reason(reason):
            causes.append(invalid("reason", reason, _REASON_TEXT))
    if utf8.size(new.get("message", "")) > _MESSAGE_LIMIT_BYTES:
        causes.append(too_long("message", _MESSAGE_LIMIT_BYTES))
    return causes


def checks(naming: Naming) -> Mapping[str, Check]:
    """Return the checks by message name."""
    return {_CONDITION: check_condition}
