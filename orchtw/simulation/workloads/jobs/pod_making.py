"""Pods of a Job, with their completion index."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from orchtw.naming.naming import Naming
from orchtw.simulation.workloads.jobs.indexes import INDEX
from orchtw.simulation.workloads.pod_template import pod_maker
from orchtw.simulation.workloads.stateful.identity import INDEX_GATE
from orchtw.simulation.world import World
from orchtw.wire.objects import Object

ENVIRONMENT: Final = "JOB_COMPLETION_INDEX"
_LONGEST_HOST: Final = 63
_GENERATED: Final = 63 - 5
"""Characters of a pod's name before the random ones."""


class PodMaking:
    """Makes pods under the names of one vocabulary."""

    def __init__(self, naming: Naming, world: World) -> None:
        self.annotation = naming.translate(INDEX)
        self._label = self.annotation if world.enabled(INDEX_GATE) else ""

    def maker(self, job: Object, reference: Object) -> Callable[[int | None], Object]:
        """Return a function that makes a pod, of a completion index if it is given one."""
        make = pod_maker(job["spec"]["template"], job, reference)

        def made(index: int | None) -> Object:
            pod = make()
            if index is not None:
                self._number(job, pod, index)
            return pod

        return made

    def _number(self, job: Object, pod: Any, index: int) -> None:
        meta, spec, name = pod["metadata"], pod["spec"], job["metadata"]["name"]
        meta["annotations"] = {**(meta.get("annotations") or {}), self.annotation: str(index)}
        if self._label:
            meta["labels"] = {**(meta.get("labels") or {}), self._label: str(index)}
        ending = f"-{index}-"
        meta["generateName"] = name[: _GENERATED - len(ending)] + ending
        spec["hostname"] = f"{name}-{index}"[:_LONGEST_HOST]
        path = f"metadata.annotations['{self.annotation}']"
        variable = {"name": ENVIRONMENT, "valueFrom": {"fieldRef": {"fieldPath": path}}}
        for field in ("initContainers", "containers"):
            for container in spec.get(field) or ():
                if all(each["name"] != ENVIRONMENT for each in container.get("env") or ()):
                    container["env"] = [*(container.get("env") or ()), variable]
