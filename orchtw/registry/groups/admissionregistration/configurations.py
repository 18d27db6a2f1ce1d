"""Configurations of webhooks: what is asked whom, and what its answer may be (reference HOOK-1, HOOK-4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.naming import Naming
from orchtw.objects import Object
from orchtw.registry.kind import Kind
from orchtw.rules.causes import duplicate, invalid, not_supported, required
from orchtw.rules.names import dns_1035_label
from orchtw.schema.tables import cells_cluster

REVIEW_VERSIONS: Final = ("v1", "v1beta1")
"""Of AdmissionReview, that the server can send."""

_HARMLESS: Final = ("None", "NoneOnDryRun")
_SIDE_EFFECTS: Final = ("None", "NoneOnDryRun", "Some", "Unknown")


def validate_configuration(new: Object, old: Object | None, naming: Naming) -> list[Cause]:
    """What was stored when names could repeat, and side effects and versions were anybody's choice, may stay so."""
    before = [] if old is None else old.get("webhooks") or []
    names = [hook.get("name") for hook in before if hook.get("name")]
    may_repeat = len(set(names)) < len(names)
    effects = _HARMLESS if all(hook.get("sideEffects") in _HARMLESS for hook in before) else _SIDE_EFFECTS
    known = all(_is_reviewed(hook.get("admissionReviewVersions") or ()) for hook in before)
    causes: list[Cause] = []
    seen: set[str] = set()
    for index, hook in enumerate(new.get("webhooks") or ()):
        if len(causes) > MAX_CAUSES:
            break
        path, name = f"webhooks[{index}]", hook.get("name")
        if name in seen and not may_repeat:
            causes.append(duplicate(f"{path}.name", name))
        if name:
            seen.add(name)
        causes += _effect_causes(hook.get("sideEffects"), effects, f"{path}.sideEffects")
        versions = hook.get("admissionReviewVersions") or ()
        causes += _version_causes(versions, known, f"{path}.admissionReviewVersions")
    return causes


def _effect_causes(effects: str | None, allowed: Sequence[str], path: str) -> list[Cause]:
    if effects is None:
        return [required(path, f"must specify one of {', '.join(allowed)}")]
    return [] if effects in allowed else [not_supported(path, effects, allowed)]


def _version_causes(versions: Sequence[str], known: bool, path: str) -> list[Cause]:
    shown = ", ".join(REVIEW_VERSIONS)
    if not versions:
        return [required(path, f"must specify one of {shown}")]
    causes: list[Cause] = []
    seen: set[str] = set()
    for index, version in enumerate(versions):
        if len(causes) > MAX_CAUSES:
            break
        if version in seen:
            causes.append(invalid(f"{path}[{index}]", version, "duplicate version"))
            continue
        seen.add(version)
        causes += [invalid(f"{path}[{index}]", version, text) for text in dns_1035_label(version)]
    if known and not _is_reviewed(versions):
        causes.append(invalid(path, versions, f"must include at least one of {shown}"))
    return causes


def _is_reviewed(versions: Sequence[str]) -> bool:
    return any(version in REVIEW_VERSIONS for version in versions)


MUTATING_WEBHOOK_CONFIGURATION = Kind(
    group="admissionregistration.orch.io",
    kind="MutatingWebhookConfiguration",
    generation=(("webhooks",),),
    unconditional_update=False,
    free_finalizers=True,
    validate=validate_configuration,
    cells=cells_cluster.webhooks,
)
VALIDATING_WEBHOOK_CONFIGURATION = attrs.evolve(MUTATING_WEBHOOK_CONFIGURATION, kind="ValidatingWebhookConfiguration")
