"""A pod's row, whose status is derived from phase, containers and deletion (reference TABLE-8)."""

from __future__ import annotations

from typing import Any

from orchtw.schema.tables.text import NONE, TableView, condition
from orchtw.wire.objects import Object


def pod(obj: Object, view: TableView) -> list[Any]:
    """Return the cells Name, Ready, Status, Restarts, Age, IP, Node, Nominated Node, Readiness Gates."""
    spec, status = obj.get("spec", {}), obj.get("status", {})
    phase = status.get("phase", "")
    if phase in ("Succeeded", "Failed"):
        text = "The pod has completed successfully." if phase == "Succeeded" else "The pod failed."
        view.conditions.append({"type": "Completed", "status": "True", "reason": phase, "message": text})
    reason = _init_reason(obj)
    if reason is None:
        counted = status.get("containerStatuses") or []
        reason, ready = _running_reason(obj, counted)
    else:
        counted, ready = _looked_at(status.get("initContainerStatuses") or []), 0
    if obj["metadata"].get("deletionTimestamp"):
        reason = "Unknown" if status.get("reason") == "NodeLost" else "Terminating"
    ips = status.get("podIPs") or [{}]
    return [
        obj["metadata"].get("name", ""),
        f"{ready}/{len(spec.get('containers') or ())}",
        reason,
        _restarts(counted, view),
        view.age(obj),
        ips[0].get("ip") or NONE,
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        _gates(obj),
    ]


def _init_reason(obj: Object) -> str | None:
    """Return the status while an init container is not done; None when all are."""
    containers = obj.get("status", {}).get("initContainerStatuses") or []
    for index, container in enumerate(containers):
        state = container.get("state") or {}
        terminated, waiting = state.get("terminated"), state.get("waiting")
        if terminated is not None:
            if terminated.get("exitCode", 0) == 0:
                continue
            return "Init:" + _end(terminated)
        reason = (waiting or {}).get("reason")
        if reason and reason != "PodInitializing":
            return f"Init:{reason}"
        return f"Init:{index}/{len(obj.get('spec', {}).get('initContainers') or ())}"
    return None


def _looked_at(containers: list[Object]) -> list[Object]:
    """Return the init containers up to the first that is not done."""
    for index, container in enumerate(containers):
        terminated = (container.get("state") or {}).get("terminated")
        if terminated is None or terminated.get("exitCode", 0) != 0:
            return containers[: index + 1]
    return containers


def _end(terminated: Object) -> str:
    """Return the reason why a container ended."""
    if reason := terminated.get("reason"):
        return str(reason)
    if signal := terminated.get("signal"):
        return f"Signal:{signal}"
    return f"ExitCode:{terminated.get('exitCode', 0)}"


def _running_reason(obj: Object, containers: list[Object]) -> tuple[str, int]:
    """Return the status once the init containers are done, and how many containers are ready."""
    status = obj.get("status", {})
    reason: str = status.get("reason") or status.get("phase", "")
    ready = 0
    for container in reversed(containers):
        state = container.get("state") or {}
        if waiting := (state.get("waiting") or {}).get("reason"):
            reason = waiting
        elif state.get("terminated") is not None:
            reason = _end(state["terminated"])
        elif container.get("ready") and state.get("running") is not None:
            ready += 1
    if reason == "Completed" and ready:
        is_ready = (condition(obj, "Ready") or {}).get("status") == "True"
        reason = "Running" if is_ready else "NotReady"
    return reason, ready


def _restarts(containers: list[Object], view: TableView) -> str:
    """Return the number of restarts, and the age of the last one."""
    total = sum(container.get("restartCount", 0) for container in containers)
    ends = (
        ((container.get("lastState") or {}).get("terminated") or {}).get("finishedAt") for container in containers
    )
    last = max((end for end in ends if end), default=None)
    return f"{total} ({view.since(last)} ago)" if last else str(total)


def _gates(obj: Object) -> str:
    gates = obj.get("spec", {}).get("readinessGates") or []
    if not gates:
        return NONE
    passed = sum((condition(obj, gate["conditionType"]) or {}).get("status") == "True" for gate in gates)
    return f"{passed}/{len(gates)}"
