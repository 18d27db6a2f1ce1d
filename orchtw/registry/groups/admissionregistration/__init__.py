"""Kinds of group admissionregistration: configurations of webhooks."""

from __future__ import annotations

from orchtw.registry.groups.admissionregistration.configurations import (
    MUTATING_WEBHOOK_CONFIGURATION,
    VALIDATING_WEBHOOK_CONFIGURATION,
)

KINDS = (MUTATING_WEBHOOK_CONFIGURATION, VALIDATING_WEBHOOK_CONFIGURATION)
