"""Removal of the objects of a run, by their label, those of an earlier run with the same names included."""

from __future__ import annotations

from typing import Final

from orchtw.commands.load.bodies import LABEL
from orchtw.commands.load.requests import LoadRequests
from orchtw.commands.load.world import LoadWorld

TIMEOUT_S: Final = 600.0
"""Time limit of a deletion of a whole collection."""

ANSWER_BYTES: Final = 1024
"""Bytes of an answer to a deletion that are kept, for the text of an error."""

MISSING: Final = (404,)


async def clean_up(world: LoadWorld) -> None:
    """Delete everything that has the run's label: workloads first, their namespaces at last."""
    plan, paths, requests = world.plan, world.paths, world.requests
    selector = f"?labelSelector={LABEL}%3D{plan.prefix}"
    for namespace in plan.all_namespaces():
        for path in (
            paths.deployments(namespace),
            paths.core("pods", namespace),
            paths.slices(namespace),
            paths.core("events", namespace),
        ):
            await _delete(requests, f"{path}{selector}&gracePeriodSeconds=0&propagationPolicy=Background")
        for number in range(plan.deployments):
            if plan.namespace(number) == namespace:  # Services cannot be deleted as a collection everywhere
                await _delete(requests, paths.core("services", namespace, plan.deployment(number)))
    await _delete(requests, paths.leases() + selector)
    await _delete(requests, paths.core("nodes") + selector)
    for namespace in plan.all_namespaces():
        target = paths.core("namespaces", "", namespace)
        found = await requests.send("get objects", "GET", target, good=MISSING)
        if found is not None and f'"{LABEL}":"{plan.prefix}"'.encode() in found:  # it was not there before the run
            await _delete(requests, target)


async def _delete(requests: LoadRequests, target: str) -> None:
    # The answer to the deletion of a collection is a list of its objects, of any length.
    await requests.send("clean up", "DELETE", target, timeout_s=TIMEOUT_S, good=MISSING, start=ANSWER_BYTES)
