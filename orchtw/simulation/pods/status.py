"""Status of a simulated pod, as its node's agent writes it (reference SIM-20)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from orchtw.simulation.pods.container_run import ContainerRun
from orchtw.simulation.pods.plans import EPHEMERAL, INIT, MAIN, SIDECAR
from orchtw.simulation.pods.pod_run import PodRun
from orchtw.values.times import rfc3339
from orchtw.wire.objects import Object

OWN_CONDITIONS: Final = ("Initialized", "Ready", "ContainersReady", "PodScheduled")


class Addresses(msgspec.Struct, frozen=True):
    """Addresses of a pod and its node; each is empty until it is assigned."""

    pod: str
    host: str


def status_of(run: PodRun, pod: Object, addresses: Addresses, now: float) -> Object:
    """Return the fields of the status that an agent keeps; conditions of others stay."""
    stored, phase = pod.get("status") or {}, run.phase()
    made: Object = {
        "phase": phase,
        "conditions": _conditions(run, pod, phase, now),
        "startTime": stored.get("startTime") or rfc3339(int(run.started_at)),
        "containerStatuses": [each.status(now) for each in sorted(run.of(MAIN), key=_name)],
    }
    if before := run.of(INIT, SIDECAR):
        made["initContainerStatuses"] = [each.status(now) for each in before]
    if added := run.of(EPHEMERAL):
        made["ephemeralContainerStatuses"] = [each.status(now) for each in added]
    if run.reason:
        made |= {"reason": run.reason, "message": run.message}
    if addresses.host:
        made["hostIP"] = addresses.host
    if addresses.pod:
        made |= {"podIP": addresses.pod, "podIPs": [{"ip": addresses.pod}]}
    return made


def is_covered(stored: Any, wanted: Any) -> bool:
    """Report whether a stored value has all that is wanted of it; fields without a value may be left out."""
    if isinstance(wanted, Mapping):
        return all(is_covered((stored or {}).get(key), value) for key, value in wanted.items())
    if isinstance(wanted, list):
        there = stored or []
        return len(there) == len(wanted) and all(map(is_covered, there, wanted))
    return bool(stored == wanted) or not (stored or wanted)


def _name(run: ContainerRun) -> str:
    return run.name


def _conditions(run: PodRun, pod: Object, phase: str, now: float) -> list[Object]:
    stored = (pod.get("status") or {}).get("conditions") or []
    known = {each["type"]: each for each in stored}
    time = rfc3339(int(now))
    made = []
    for kind, (reason, message) in _verdicts(run, pod, phase, known, now):
        status = "True" if not reason or (reason, kind) == ("PodCompleted", "Initialized") else "False"
        before = known.get(kind, {})
        changed = before.get("status") != status
        condition: Object = {
            "type": kind,
            "status": status,
            "lastProbeTime": None,
            "lastTransitionTime": time if changed else before.get("lastTransitionTime"),
        }
        condition |= {key: text for key, text in (("reason", reason), ("message", message)) if text}
        made.append(condition)
    return [*made, *(each for each in stored if each["type"] not in OWN_CONDITIONS)]


def _verdicts(
    run: PodRun, pod: Object, phase: str, known: Mapping[str, Object], now: float
) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield the conditions in the order of an agent, each with what is in its way: reason and message, or neither."""
    yield "Initialized", _initialized(run, phase, now)
    containers = _containers_ready(run, phase, now)
    yield "Ready", containers if containers[0] else _gates(pod, known)
    yield "ContainersReady", containers
    yield "PodScheduled", ("", "")


def _initialized(run: PodRun, phase: str, now: float) -> tuple[str, str]:
    if phase == "Succeeded":
        return "PodCompleted", ""
    lacking = [
        each.name
        for each in run.of(INIT, SIDECAR)
        if not (each.has_succeeded if each.plan.role == INIT else each.begun and each.state != "waiting")
    ]
    if not lacking or any(each.begun for each in run.of(MAIN)):
        return "", ""
    return "ContainersNotInitialized", f"containers with incomplete status: [{' '.join(lacking)}]"


def _containers_ready(run: PodRun, phase: str, now: float) -> tuple[str, str]:
    if phase == "Succeeded":
        return "PodCompleted", ""
    unready = [each.name for each in run.of(SIDECAR, MAIN) if not each.is_ready(now)]
    if not unready:
        return "", ""
    return "ContainersNotReady", f"containers with unready status: [{' '.join(unready)}]"


def _gates(pod: Object, known: Mapping[str, Object]) -> tuple[str, str]:
    """Return what the pod's readiness gates say."""
    messages = []
    for gate in pod["spec"].get("readinessGates") or ():
        kind = gate["conditionType"]
        found = known.get(kind)
        if found is None:
            messages.append(f'corresponding condition of pod readiness gate "{kind}" does not exist.')
        elif found.get("status") != "True":
            messages.append(f'the status of pod readiness gate "{kind}" is not "True", but {found.get("status")}')
    return ("ReadinessGatesNotReady", ", ".join(messages)) if messages else ("", "")
