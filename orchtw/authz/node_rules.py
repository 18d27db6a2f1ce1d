"""Rules that hold for every node: those of role `system:node` for resources that the Node authorizer does not check
by object (reference ROLE-6, AUTHZ-32).
"""

from __future__ import annotations

from typing import Final

from orchtw.naming.naming import Naming
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
"""API group, resources and verbs of each rule."""


class NodeRules:
    """The rules, with API groups named by `naming`."""

    def __init__(self, naming: Naming) -> None:
        self._allowed = frozenset(
            (verb, naming.group(group) if group else "", resource)
            for group, resources, verbs in _RULES
            for resource in resources
            for verb in verbs
        )

    def allow(self, info: RequestInfo) -> bool:
        """Report whether every node may make this request."""
        resource = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
        return info.is_resource and (info.verb, info.group, resource) in self._allowed
