"""Schemas and levels that always exist, with fixed specs (reference FLOW-5, FLOW-6, FLOW-7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from orchtw.errors import Cause
from orchtw.values.causes import invalid
from orchtw.wire.objects import Object

EXEMPT: Final = "exempt"
CATCH_ALL: Final = "catch-all"


def everything(subjects: Sequence[Object]) -> Object:
    """Return a rule for all requests of the subjects."""
    rule = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": True, "namespaces": ["*"]}
    return {
        "subjects": list(subjects),
        "resourceRules": [rule],
        "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    }


def _groups(*names: str) -> list[Object]:
    return [{"kind": "Group", "group": {"name": name}} for name in names]


FLOW_SCHEMAS: Final[Mapping[str, Object]] = MappingProxyType(
    {
        EXEMPT: {
            "priorityLevelConfiguration": {"name": EXEMPT},
            "matchingPrecedence": 1,
            "rules": [everything(_groups("system:masters"))],
        },
        CATCH_ALL: {
            "priorityLevelConfiguration": {"name": CATCH_ALL},
            "matchingPrecedence": 10_000,
            "distinguisherMethod": {"type": "ByUser"},
            "rules": [everything(_groups("system:unauthenticated", "system:authenticated"))],
        },
    }
)
"""Mandatory flow schemas: specs by name."""

PRIORITY_LEVELS: Final[Mapping[str, Object]] = MappingProxyType(
    {
        EXEMPT: {"type": "Exempt"},
        CATCH_ALL: {
            "type": "Limited",
            "limited": {"assuredConcurrencyShares": 5, "limitResponse": {"type": "Reject"}},
        },
    }
)
"""Mandatory priority levels: specs by name."""


def fixed_causes(obj: Object, specs: Mapping[str, Object]) -> list[Cause]:
    """Return the cause if an object has the name of a mandatory one, but another spec."""
    name = obj["metadata"].get("name", "")
    if name not in specs or _without_default(obj["spec"]) == specs[name]:
        return []
    return [invalid("spec", obj["spec"], f"spec of '{name}' must equal the fixed value")]


def _without_default(spec: Object) -> Object:
    """Return a spec without the percentage that v1 and v1beta3 add: what is read there can be written there."""
    limited = spec.get("limited")
    if not limited or limited.get("lendablePercent") != 0:
        return spec
    return {**spec, "limited": {key: value for key, value in limited.items() if key != "lendablePercent"}}
