"""PodDisruptionBudget: `{}` as a selector means nothing in v1beta1 and everything in v1 (reference VER-15).

Each version's `{}` becomes a requirement of the same meaning in the other.
"""

from __future__ import annotations

from orchtw.naming.naming import Naming
from orchtw.schema.conversion.convert import Conversions
from orchtw.wire.objects import Object

MARKER = "pdb.orch.io/deprecated-v1beta1-empty-selector-match"


def budget_v1beta1_to_v1(obj: Object, naming: Naming) -> Object:
    """Turn `{}`, which selects nothing, into a requirement that a key exists which no pod has."""
    return _converted(obj, "Exists", "DoesNotExist", naming)


def budget_v1_to_v1beta1(obj: Object, naming: Naming) -> Object:
    """Turn `{}`, which selects every pod, into a requirement that a key does not exist which no pod has."""
    return _converted(obj, "DoesNotExist", "Exists", naming)


def _converted(obj: Object, operator: str, opposite: str, naming: Naming) -> Object:
    """Turn `{}` into the marker with `operator`, and the marker alone with `opposite` into `{}`."""
    spec = obj.get("spec") or {}
    selector = spec.get("selector")
    if selector is None:
        return dict(obj)
    key = naming.translate(MARKER)
    if not selector.get("matchLabels") and not selector.get("matchExpressions"):
        selector = {"matchExpressions": [{"key": key, "operator": operator}]}
    else:
        selector = _restored(selector, key, opposite)
    return {**obj, "spec": {**spec, "selector": selector}}


def _restored(selector: Object, key: str, opposite: str) -> Object:
    """Return `selector` without the marker; beside other requirements it has no meaning."""
    expressions = selector.get("matchExpressions") or []
    others = [entry for entry in expressions if entry["key"] != key]
    if len(others) == len(expressions):
        return selector
    if not others and not selector.get("matchLabels") and expressions[0]["operator"] != opposite:
        return selector
    rest = {name: value for name, value in selector.items() if name != "matchExpressions"}
    return {**rest, "matchExpressions": others} if others else rest


BUDGET_CONVERSIONS = Conversions(
    {
        ("policy/v1beta1", "policy/v1"): budget_v1beta1_to_v1,
        ("policy/v1", "policy/v1beta1"): budget_v1_to_v1beta1,
    }
)
