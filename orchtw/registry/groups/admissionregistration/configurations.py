"""Configurations of webhooks: names, side effects and review versions (reference HOOK-1, HOOK-4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs

from orchtw.config.releases import Release
from orchtw.errors import MAX_CAUSES, Cause
from orchtw.registry.expression_strategy import ExpressionStrategy
from orchtw.registry.groups.admissionregistration.expressions import (
    condition_causes,
    sources,
)
from orchtw.registry.kind import KindRecord
from orchtw.rules.webhook_clients import REVIEW_VERSIONS, knows_review, review_causes
from orchtw.schema.tables import cells_cluster
from orchtw.values.causes import duplicate, not_supported, required
from orchtw.wire.objects import Object

_HARMLESS: Final = ("None", "NoneOnDryRun")
_SIDE_EFFECTS: Final = ("None", "NoneOnDryRun", "Some", "Unknown")


def validate_configuration(new: Object, old: Object | None, release: Release) -> list[Cause]:
    """Validate a configuration; one stored when names could repeat and side effects were unrestricted may stay so."""
    before = [] if old is None else old.get("webhooks") or []
    names = [hook.get("name") for hook in before if hook.get("name")]
    may_repeat = len(set(names)) < len(names)
    effects = _HARMLESS if all(hook.get("sideEffects") in _HARMLESS for hook in before) else _SIDE_EFFECTS
    known = all(knows_review(hook.get("admissionReviewVersions") or ()) for hook in before)
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
        conditions = hook.get("matchConditions") or ()
        if conditions and not (index < len(before) and before[index].get("matchConditions") == conditions):
            causes += _condition_causes(conditions, before, release, f"{path}.matchConditions")
    return causes


def _condition_causes(
    conditions: Sequence[Object], before: Sequence[Object], release: Release, path: str
) -> list[Cause]:
    from orchtw.schema.cel.admission import CONDITION, Language, checked, known_variables

    stored = sources(each for hook in before for each in hook.get("matchConditions") or ())
    known, language = known_variables(params=False, namespace=False), Language(release, stored)
    return condition_causes(conditions, lambda source: checked(source, known, CONDITION, language), path)


def _effect_causes(effects: str | None, allowed: Sequence[str], path: str) -> list[Cause]:
    if effects is None:
        return [required(path, f"must specify one of {', '.join(allowed)}")]
    return [] if effects in allowed else [not_supported(path, effects, allowed)]


def _version_causes(versions: Sequence[str], known: bool, path: str) -> list[Cause]:
    if not versions:
        return [required(path, f"must specify one of {', '.join(REVIEW_VERSIONS)}")]
    return review_causes(versions, known, path)


class ConfigurationStrategy(ExpressionStrategy):
    """Strategy of configurations of webhooks, of which few have conditions."""

    def has_expressions(self, obj: Object) -> bool:
        return any(hook.get("matchConditions") for hook in obj.get("webhooks") or ())

    def validate_own(self, obj: Object, old: Object | None) -> list[Cause]:
        return validate_configuration(obj, old, self.release)


MUTATING_WEBHOOK_CONFIGURATION = KindRecord(
    group="admissionregistration.orch.io",
    kind="MutatingWebhookConfiguration",
    generation=(("webhooks",),),
    unconditional_update=False,
    free_finalizers=True,
    strategy=ConfigurationStrategy,
    cells=cells_cluster.webhooks,
)
VALIDATING_WEBHOOK_CONFIGURATION = attrs.evolve(MUTATING_WEBHOOK_CONFIGURATION, kind="ValidatingWebhookConfiguration")
