"""Pods for tests of their runs."""

from __future__ import annotations

from typing import Any

from orchtw.simulation.pods.pod_run import PodRun
from orchtw.simulation.pods.status import Addresses, status_of
from orchtw.values.times import rfc3339
from orchtw.wire.objects import Object

NOW = 1_700_000_000.0
ADDRESSES = Addresses("10.1.0.1", "10.128.0.1")


def container(name: str = "c", **fields: Any) -> Object:
    """A container with these fields."""
    return {"name": name, "image": "app:1", **fields}


def pod(*containers: Object, annotations: dict[str, str] | None = None, **spec: Any) -> Object:
    """A pod that is bound to a node; annotations are without their prefix."""
    marks = {f"simulate.orch.io/{key}": value for key, value in (annotations or {}).items()}
    return {
        "metadata": {"name": "p", "namespace": "a", "uid": "u", "resourceVersion": "1", "annotations": marks},
        "spec": {"nodeName": "node-0", "containers": list(containers) or [container()], **spec},
        "status": {"phase": "Pending"},
    }


def deleted(obj: Object, grace_s: int = 30) -> Object:
    """The pod, under deletion."""
    meta = {**obj["metadata"], "deletionTimestamp": rfc3339(int(NOW)), "deletionGracePeriodSeconds": grace_s}
    return {**obj, "metadata": meta}


class Life:
    """A pod's run that is advanced by hand; `status` is what would be written."""

    def __init__(self, obj: Object, now: float = NOW) -> None:
        self.pod = obj
        self.now = now
        self.run = PodRun(obj, now)
        self.events: list[tuple[str, str]] = []
        self.pass_s(0)

    @property
    def status(self) -> Object:
        """The pod's status now."""
        return self.pod["status"]  # type: ignore[no-any-return]

    @property
    def state(self) -> Object:
        """The state of the first container."""
        return self.status["containerStatuses"][0]["state"]  # type: ignore[no-any-return]

    def pass_s(self, seconds: float) -> None:
        """Let the time pass."""
        self.now += seconds
        self.run.advance(self.now)
        self.events += [(each.reason, each.message) for each in self.run.happenings]
        self.run.happenings.clear()
        self.pod = {**self.pod, "status": status_of(self.run, self.pod, ADDRESSES, self.now)}

    def change(self, obj: Object) -> None:
        """Show a changed pod to the run."""
        self.pod = {**obj, "status": self.status}
        self.run.take(self.pod, self.now)
        self.pass_s(0)

    def restore(self) -> None:
        """Forget all but what is stored."""
        self.run = PodRun(self.pod, self.now)
        self.pass_s(0)

    def condition(self, kind: str) -> Object:
        """A condition by its type."""
        return next(each for each in self.status["conditions"] if each["type"] == kind)
