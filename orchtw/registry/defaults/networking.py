"""The networking group."""

from __future__ import annotations

from orchtw.objects import Object


def fill_network_policy(policy: Object) -> None:
    """A policy is about what comes in, and about what goes out where it has rules for that."""
    spec = policy["spec"]
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]
