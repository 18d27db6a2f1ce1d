"""Namespaces of a run, and the question whether the server makes and runs pods itself."""

from __future__ import annotations

from typing import Final

import orjson

from orchtw.commands.load.world import LoadWorld

ACCOUNT_S: Final = 5.0
"""Time in which a server with a controller for it makes the default ServiceAccount, which pods need."""

WORKLOADS_S: Final = 5.0
"""Time in which a server that runs pods has a first one available."""

STEP_S: Final = 0.1
THERE: Final = (404, 409)


async def make_namespaces(world: LoadWorld) -> None:
    """Create the namespaces, those of the nodes' Leases and default ServiceAccounts included, if they are missing."""
    paths, bodies, send = world.paths, world.bodies, world.requests.send
    account = orjson.dumps({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}})
    lease_namespace = orjson.dumps(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": paths.naming.node_lease_namespace}}
    )
    await send("create namespaces", "POST", paths.core("namespaces"), lease_namespace, good=THERE)
    for name in world.plan.all_namespaces():
        await send("create namespaces", "POST", paths.core("namespaces"), bodies.namespace(name), good=THERE)
        if not await _appears(world, paths.core("serviceaccounts", name, "default"), ACCOUNT_S, b'"uid"'):
            path = paths.core("serviceaccounts", name)
            await send("create serviceaccounts", "POST", path, account, good=THERE)


async def runs_workloads(world: LoadWorld) -> bool:
    """Report whether the server, or controllers beside it, bring up the pod of a Deployment; it is deleted again."""
    paths, send = world.paths, world.requests.send
    namespace, name = world.plan.namespace(0), f"{world.plan.prefix}-probe"
    body = world.bodies.deployment(name, 1, scheduled=True)
    await send("create deployments", "POST", paths.deployments(namespace), body, good=THERE)
    found = await _appears(world, paths.deployments(namespace, name), WORKLOADS_S, b'"availableReplicas":1')
    target = f"{paths.deployments(namespace, name)}?propagationPolicy=Background"
    await send("delete deployments", "DELETE", target, good=THERE)
    return found


async def _appears(world: LoadWorld, path: str, limit_s: float, wanted: bytes) -> bool:
    """Read an object until its JSON has some text; report whether it has it in time."""
    until_s = world.reactor.seconds() + limit_s
    while world.reactor.seconds() < until_s:
        answer = await world.requests.send("get objects", "GET", path, good=THERE)
        if answer is not None and wanted in answer:
            return True
        await world.sleep(STEP_S)
    return False
