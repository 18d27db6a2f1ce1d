"""Schemas and levels that an installation begins with, and that may be changed (reference FLOW-5, FLOW-6)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from orchtw.naming.naming import Naming
from orchtw.registry.groups.flowcontrol.mandatory import everything
from orchtw.wire.objects import Object

_BY_USER: Final = "ByUser"
_BY_NAMESPACE: Final = "ByNamespace"
_LEASES: Final = "coordination.orch.io"
_ANYBODY: Final = ("system:unauthenticated", "system:authenticated")
_ELECTION_VERBS: Final = ("get", "create", "update")
_CONTROLLER_MANAGER: Final = "system:orch-controller-manager"
_SCHEDULER: Final = "system:orch-scheduler"
_SYSTEM: Final = "orch-system"


def _queues(shares: int, queues: int, hand_size: int) -> Object:
    queuing = {"queues": queues, "handSize": hand_size, "queueLengthLimit": 50}
    response = {"type": "Queue", "queuing": queuing}
    return {"type": "Limited", "limited": {"assuredConcurrencyShares": shares, "limitResponse": response}}


PRIORITY_LEVELS: Final[Mapping[str, Object]] = {
    "system": _queues(30, 64, 6),
    "node-high": _queues(40, 64, 6),
    "leader-election": _queues(10, 16, 4),
    "workload-high": _queues(40, 128, 6),
    "workload-low": _queues(100, 128, 6),
    "global-default": _queues(20, 128, 6),
}
"""Suggested priority levels: specs by name."""


def flow_schemas(naming: Naming) -> Iterator[tuple[str, Object]]:
    """Yield names and specs, in the served vocabulary."""
    accounts = _accounts(naming, "*")
    leaders = [*_users(naming, _CONTROLLER_MANAGER, _SCHEDULER), *accounts]
    leases = _resources(naming, _ELECTION_VERBS, _LEASES, "leases")
    locks = _resources(naming, _ELECTION_VERBS, "", "endpoints", "configmaps")
    endpoints = _resources(naming, _ELECTION_VERBS, "", "endpoints")
    makers = _accounts(naming, "endpoint-controller", "endpointslicemirroring-controller")
    nodes = _groups("system:nodes")
    of_nodes = _resources(naming, ("*",), "", "nodes", "nodes/status", cluster=True)
    of_leases = _resources(naming, ("*",), _LEASES, "leases")
    probes = {"nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/healthz", "/readyz", "/livez"]}]}
    yield "probes", _spec("exempt", 2, "", {"subjects": _groups(*_ANYBODY), **probes})
    rule = _rule(leaders, leases)
    yield "system-leader-election", _spec("leader-election", 100, _BY_USER, rule)
    rule = _rule([*_users(naming, _CONTROLLER_MANAGER), *makers], endpoints)
    yield "endpoint-controller", _spec("workload-high", 150, _BY_USER, rule)
    yield "workload-leader-election", _spec("leader-election", 200, _BY_USER, _rule(leaders, locks, leases))
    yield "system-node-high", _spec("node-high", 400, _BY_USER, _rule(nodes, of_nodes, of_leases))
    yield "system-nodes", _spec("system", 500, _BY_USER, everything(nodes))
    for name, user in ((naming.controller_manager, _CONTROLLER_MANAGER), (naming.scheduler, _SCHEDULER)):
        yield name, _spec("workload-high", 800, _BY_NAMESPACE, everything(_users(naming, user)))
    name = naming.translate(f"{_SYSTEM}-service-accounts")
    yield name, _spec("workload-high", 900, _BY_NAMESPACE, everything(accounts))
    yield "service-accounts", _spec("workload-low", 9000, _BY_USER, everything(_groups("system:serviceaccounts")))
    yield "global-default", _spec("global-default", 9900, _BY_USER, everything(_groups(*_ANYBODY)))


def _spec(level: str, precedence: int, by: str, rule: Object) -> Object:
    spec: Object = {"priorityLevelConfiguration": {"name": level}, "matchingPrecedence": precedence}
    if by:
        spec["distinguisherMethod"] = {"type": by}
    return {**spec, "rules": [rule]}


def _rule(subjects: Sequence[Object], *resources: Object) -> Object:
    return {"subjects": list(subjects), "resourceRules": list(resources)}


def _resources(naming: Naming, verbs: Sequence[str], group: str, *plurals: str, cluster: bool = False) -> Object:
    rule: Object = {"verbs": list(verbs), "apiGroups": [naming.group(group)], "resources": list(plurals)}
    if cluster:
        rule["clusterScope"] = True
    return {**rule, "namespaces": ["*"]}


def _groups(*names: str) -> list[Object]:
    return [{"kind": "Group", "group": {"name": name}} for name in names]


def _users(naming: Naming, *names: str) -> list[Object]:
    return [{"kind": "User", "user": {"name": naming.translate(name)}} for name in names]


def _accounts(naming: Naming, *names: str) -> list[Object]:
    namespace = naming.system_namespace
    return [{"kind": "ServiceAccount", "serviceAccount": {"namespace": namespace, "name": name}} for name in names]
