"""Kinds of group admissionregistration: configurations of webhooks, and admission policies with their bindings."""

from __future__ import annotations

from orchtw.registry.groups.admissionregistration.configurations import (
    MUTATING_WEBHOOK_CONFIGURATION,
    VALIDATING_WEBHOOK_CONFIGURATION,
)
from orchtw.registry.groups.admissionregistration.policies import (
    MUTATING_ADMISSION_POLICY,
    VALIDATING_ADMISSION_POLICY,
)
from orchtw.registry.groups.admissionregistration.policy_bindings import (
    MUTATING_ADMISSION_POLICY_BINDING,
    VALIDATING_ADMISSION_POLICY_BINDING,
)

KINDS = (
    MUTATING_ADMISSION_POLICY,
    MUTATING_ADMISSION_POLICY_BINDING,
    MUTATING_WEBHOOK_CONFIGURATION,
    VALIDATING_ADMISSION_POLICY,
    VALIDATING_ADMISSION_POLICY_BINDING,
    VALIDATING_WEBHOOK_CONFIGURATION,
)
