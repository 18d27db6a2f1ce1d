"""Configurations of webhooks."""

from __future__ import annotations

import attrs

from orchtw.registry.kind import Kind
from orchtw.schema.tables import cells_cluster

MUTATING_WEBHOOK_CONFIGURATION = Kind(
    group="admissionregistration.orch.io",
    kind="MutatingWebhookConfiguration",
    generation=(("webhooks",),),
    unconditional_update=False,
    free_finalizers=True,
    cells=cells_cluster.webhooks,
)
VALIDATING_WEBHOOK_CONFIGURATION = attrs.evolve(
    MUTATING_WEBHOOK_CONFIGURATION, kind="ValidatingWebhookConfiguration"
)

KINDS = (MUTATING_WEBHOOK_CONFIGURATION, VALIDATING_WEBHOOK_CONFIGURATION)
