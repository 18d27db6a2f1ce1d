"""The schemas and levels that there always are, and whose specs are fixed (reference FLOW-5, FLOW-6, FLOW-7)."""

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
    """All that the subjects ask for."""
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
"""Specs by name."""

PRIORITY_LEVELS: Final[Mapping[str, Object]] = MappingProxyType(
    {
        EXEMPT: {"type": "Exempt"},
        CATCH_ALL: {
            "type": "Limited",
            "limited": {"assuredConcurrencyShares": 5, "limitResponse": {"type": "Reject"}},
        },
    }
)
"""Specs by name."""


def fixed_causes(obj: Object, specs: Mapping[str, Object]) -> list[Cause]:
    """Why an object may not have its name: that is another one's."""
    name = obj["metadata"].get("name", "")
    if specs.get(name, obj["spec"]) == obj["spec"]:
        return []
    return [invalid("spec", obj["spec"], f"spec of '{name}' must equal the fixed value")]
