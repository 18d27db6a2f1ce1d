"""A pod's row, whose status is derived from phase, containers and deletion (reference TABLE-8, TABLE-11)."""

from __future__ import annotations

from collections.abc import Container
from typing import Any, Final

from orchtw.schema.tables.cells import NONE, TableView, condition
from orchtw.wire.objects import Object

_GATED: Final = "SchedulingGated"


def pod(obj: Object, view: TableView) -> list[Any]:
    """Return the cells Name, Ready, Status, Restarts, Age, IP, Node, Nominated Node, Readiness Gates."""
    spec, status = obj.get("spec", {}), obj.get("status", {})
    phase = status.get("phase", "")
    if phase in ("Succeeded", "Failed"):
        text = "The pod has completed successfully." if phase == "Succeeded" else "The pod failed."
        view.conditions.append({"type": "Completed", "status": "True", "reason": phase, "message": text})
    initial = spec.get("initContainers") or ()
    sidecars = {each.get("name") for each in initial if each.get("restartPolicy") == "Always"}
    counted = _looked_at(status.get("initContainerStatuses") or [], sidecars)
    reason, ready = _init_reason(obj, counted, sidecars), sum(_is_ready_sidecar(each, sidecars) for each in counted)
    if reason is None or (sidecars and (condition(obj, "Initialized") or {}).get("status") == "True"):
        main = status.get("containerStatuses") or []
        reason, running = _running_reason(obj, main, reason or _first_reason(obj))
        ready += running
        counted = [*(each for each in counted if each.get("name") in sidecars), *main]
    if obj["metadata"].get("deletionTimestamp"):
        reason = "Unknown" if status.get("reason") == "NodeLost" else "Terminating"
    ips = status.get("podIPs") or [{}]
    return [
        obj["metadata"].get("name", ""),
        f"{ready}/{len(spec.get('containers') or ()) + len(sidecars)}",
        reason,
        _restarts(counted, view),
        view.age(obj),
        ips[0].get("ip") or NONE,
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        _gates(obj),
    ]


def _first_reason(obj: Object) -> str:
    """Return the status of a pod whose containers say nothing."""
    scheduled = condition(obj, "PodScheduled") or {}
    if scheduled.get("reason") == _GATED:
        return _GATED
    status = obj.get("status", {})
    found: str = status.get("reason") or status.get("phase", "")
    return found


def _has_succeeded(container: Object) -> bool:
    terminated = (container.get("state") or {}).get("terminated")
    return terminated is not None and terminated.get("exitCode", 0) == 0


def _is_done(container: Object, sidecars: Container[str]) -> bool:
    """Report whether an init container has succeeded, or is a sidecar that has started."""
    return _has_succeeded(container) or (container.get("name") in sidecars and bool(container.get("started")))


def _is_ready_sidecar(container: Object, sidecars: Container[str]) -> bool:
    """Report whether an init container is a sidecar that counts as ready."""
    return bool(container.get("ready")) and _is_done(container, sidecars) and not _has_succeeded(container)


def _init_reason(obj: Object, containers: list[Object], sidecars: Container[str]) -> str | None:
    """Return the status while the last of the init containers that were looked at is not done; None when all are."""
    if not containers or _is_done(containers[-1], sidecars):
        return None
    state = containers[-1].get("state") or {}
    if (terminated := state.get("terminated")) is not None:
        return "Init:" + _end(terminated)
    reason = (state.get("waiting") or {}).get("reason")
    if reason and reason != "PodInitializing":
        return f"Init:{reason}"
    return f"Init:{len(containers) - 1}/{len(obj.get('spec', {}).get('initContainers') or ())}"


def _looked_at(containers: list[Object], sidecars: Container[str]) -> list[Object]:
    """Return the init containers up to the first that is not done."""
    for index, container in enumerate(containers):
        if not _is_done(container, sidecars):
            return containers[: index + 1]
    return containers


def _end(terminated: Object) -> str:
    """Return the reason why a container ended."""
    if reason := terminated.get("reason"):
        return str(reason)
    if signal := terminated.get("signal"):
        return f"Signal:{signal}"
    return f"ExitCode:{terminated.get('exitCode', 0)}"


def _running_reason(obj: Object, containers: list[Object], reason: str) -> tuple[str, int]:
    """Return the status once the init containers are done, and how many containers are ready.

    `reason` is the status if the containers say nothing.
    """
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
