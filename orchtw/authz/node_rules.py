"""Rules of every node, whatever runs on it: those of role `system:node` for resources that the Node authorizer
does not look at more closely (reference ROLE-6, AUTHZ-32).
"""

from __future__ import annotations

from typing import Final

from orchtw.naming.names import Naming
from orchtw.request import RequestInfo

_READ: Final = ("get", "list", "watch")

_RULES: Final = (
    ("authentication.orch.io", ("tokenreviews",), ("create",)),
    ("authorization.orch.io", ("localsubjectaccessreviews", "subjectaccessreviews"), ("create",)),
    ("", ("services",), _READ),
    ("", ("nodes",), ("create", *_READ, "patch", "update")),
    ("", ("nodes/status", "pods/status"), ("patch", "update")),
    ("", ("events",), ("create", "patch", "update")),
    ("", ("pods",), (*_READ, "create", "delete")),
    ("", ("pods/eviction",), ("create",)),
    ("", ("endpoints",), ("get",)),
    ("certificates.orch.io", ("certificatesigningrequests",), ("create", *_READ)),
    ("storage.orch.io", ("csidrivers",), _READ),
    ("node.orch.io", ("runtimeclasses",), _READ),
)
"""Group, resources, verbs."""


class NodeRules:
    """The rules under the names of a vocabulary."""

    def __init__(self, naming: Naming) -> None:
        self._allowed = frozenset(
            (verb, naming.group(group) if group else "", resource)
            for group, resources, verbs in _RULES
            for resource in resources
            for verb in verbs
        )

    def allow(self, info: RequestInfo) -> bool:
        """Report whether every node may do it."""
        resource = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
        return info.is_resource and (info.verb, info.group, resource) in self._allowed
