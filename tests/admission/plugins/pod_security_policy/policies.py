"""PodSecurityPolicies for these tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from orchtw.admission.plugins.pod_security_policy.policy import SecurityPolicy, policy
from orchtw.naming.naming import Naming
from orchtw.registry.groups.core.pod_annotations import keys_in
from orchtw.wire.objects import Object

KEYS: Final = keys_in("orch")
ANY: Final[Object] = {"rule": "RunAsAny"}
LOOSE: Final[Object] = {
    "seLinux": ANY,
    "runAsUser": ANY,
    "supplementalGroups": ANY,
    "fsGroup": ANY,
    "volumes": ["*"],
}
"""What allows most and fills in nothing."""


def policy_of(annotations: Mapping[str, str] | None = None, /, **spec: Any) -> SecurityPolicy:
    """A loose policy but for what is given."""
    metadata = {"name": "p", "annotations": dict(annotations or {})}
    return policy({"metadata": metadata, "spec": {**LOOSE, **spec}}, Naming.orch())


def must(low: int, high: int, rule: str = "MustRunAs") -> Object:
    """A strategy with one range."""
    return {"rule": rule, "ranges": [{"min": low, "max": high}]}


def pod(annotations: Mapping[str, str] | None = None, /, **spec: Any) -> Object:
    """A pod with a container c, or others."""
    metadata: Object = {"name": "x", **({"annotations": dict(annotations)} if annotations else {})}
    return {"metadata": metadata, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


def secured(key: str = "containers", **security: Any) -> Object:
    """A pod of which one container has a security context."""
    found = pod()
    found["spec"][key] = [{"name": "c", "image": "i", "securityContext": security}]
    return found
