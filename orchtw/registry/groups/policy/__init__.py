"""Disruption budgets and pod security policies."""

from __future__ import annotations

from orchtw.registry.groups.policy.disruption_budgets import POD_DISRUPTION_BUDGET
from orchtw.registry.groups.policy.security_policies import POD_SECURITY_POLICY

KINDS = (POD_DISRUPTION_BUDGET, POD_SECURITY_POLICY)
