"""Changes of a gated pod's node selector and node affinity: they can only become narrower (reference KIND-96)."""

from __future__ import annotations

from typing import Final

from orchtw.errors import Cause
from orchtw.values.causes import invalid
from orchtw.wire.objects import Object

_ONLY_ADDITIONS: Final = "only additions are allowed (no mutations or deletions)"
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_TERMS: Final = f"spec.affinity.nodeAffinity.{_REQUIRED}.nodeSelectorTerms"


def directive_causes(new: Object, old: Object) -> tuple[list[Cause], Object]:
    """Return the causes against the new directives, and the new spec with the old ones."""
    causes: list[Cause] = []
    selector, before = new.get("nodeSelector") or {}, old.get("nodeSelector") or {}
    if any(selector.get(key) != value for key, value in before.items()):
        causes.append(invalid("spec.nodeSelector", selector, _ONLY_ADDITIONS))
    if (new.get("affinity") or {}) != (old.get("affinity") or {}):
        causes += _affinity_causes(_terms(new), _terms(old))
    kept = dict(new)
    _restore(kept, old, "nodeSelector")
    if _without_nodes(new) == _without_nodes(old):
        _restore(kept, old, "affinity")
    return causes, kept


def _terms(spec: Object) -> list[Object]:
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    found: list[Object] = (affinity.get(_REQUIRED) or {}).get("nodeSelectorTerms") or []
    return found


def _without_nodes(spec: Object) -> Object:
    return {key: value for key, value in (spec.get("affinity") or {}).items() if key != "nodeAffinity"}


def _affinity_causes(terms: list[Object], before: list[Object]) -> list[Cause]:
    if not before:
        return []
    if len(terms) != len(before):
        text = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        return [invalid(_TERMS, terms, text)]
    return [
        invalid(f"{_TERMS}[{index}]", term, _ONLY_ADDITIONS)
        for index, (term, old) in enumerate(zip(terms, before, strict=True))
        if not _is_narrower(term, old)
    ]


def _is_narrower(term: Object, old: Object) -> bool:
    """Report whether a term has all requirements of the old one, which must not be empty, first and in order."""
    if not old.get("matchExpressions") and not old.get("matchFields"):
        return term == old
    return all(
        (term.get(key) or [])[: len(old.get(key) or [])] == (old.get(key) or [])
        for key in ("matchExpressions", "matchFields")
    )


def _restore(into: Object, source: Object, key: str) -> None:
    if key in source:
        into[key] = source[key]
    else:
        into.pop(key, None)
