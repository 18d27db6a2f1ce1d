"""Settings of the simulated cluster, which its flag switches on (reference SIM-1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from orchtw.config.about import about
from orchtw.config.subjects import options, setting
from orchtw.flags.flag import FLOAT, FlagKind, parse_integer, split_list

NODES, WORKLOADS, VOLUMES, SERVICES = "nodes", "workloads", "volumes", "services"

MOST_NODES: Final = 100_000
_NODES_ALONE: Final = 3
"""Number of nodes where the flag gives none."""

CONTROLLERS: Final[Mapping[str, tuple[str, ...]]] = {
    NODES: ("simulated-nodes", "nodelifecycle", "scheduler", "simulated-pods", "podgc", "simulated-metrics"),
    WORKLOADS: (
        *("replicationcontroller", "replicaset", "deployment", "statefulset", "daemonset", "job", "cronjob"),
        *("ttl-after-finished", "horizontalpodautoscaling", "disruption"),
    ),
    VOLUMES: ("persistentvolume-binder", "persistentvolume-expander", "ephemeral-volume"),
    SERVICES: ("endpoint", "endpointslice", "endpointslicemirroring", "service"),
}
"""Names in `--controllers` of what each part runs; the release's names where it has the controller."""

ALL_CONTROLLERS: Final = tuple(name for names in CONTROLLERS.values() for name in names)


class Parts(msgspec.Struct, frozen=True):
    """Parts of the cluster that are simulated; `nodes` is None where there are no simulated nodes."""

    nodes: int | None = None
    workloads: bool = False
    volumes: bool = False
    services: bool = False

    def __bool__(self) -> bool:
        return self.nodes is not None or self.workloads or self.volumes or self.services

    @property
    def controllers(self) -> tuple[str, ...]:
        """Names of the controllers that these parts consist of."""
        chosen = {
            NODES: self.nodes is not None,
            WORKLOADS: self.workloads,
            VOLUMES: self.volumes,
            SERVICES: self.services,
        }
        return tuple(name for part, names in CONTROLLERS.items() if chosen[part] for name in names)


NOTHING: Final = Parts()
EVERYTHING: Final = Parts(_NODES_ALONE, workloads=True, volumes=True, services=True)


def parse_parts(texts: Sequence[str]) -> Parts:
    """Return the parts that the flag names. Raises ValueError for unknown ones."""
    names = split_list(texts)
    if names == ("true",):
        return EVERYTHING
    if names == ("false",):
        return NOTHING
    chosen: dict[str, bool] = {}
    nodes: int | None = None
    for text in names:
        name, equals, value = text.partition("=")
        if name == NODES:
            nodes = _count(value) if equals else _NODES_ALONE
        elif name in CONTROLLERS and not equals:
            chosen[name] = True
        else:
            raise ValueError(f'"{text}": the parts are nodes=N, workloads, volumes and services')
    return Parts(nodes, **chosen)


def _count(text: str) -> int:
    number = parse_integer(text)
    if number > MOST_NODES:
        raise ValueError(f"at most {MOST_NODES} nodes can be simulated")
    return number


def _show(parts: Parts) -> str:
    named = ["" if parts.nodes is None else f"{NODES}={parts.nodes}"]
    named += [name for name in (WORKLOADS, VOLUMES, SERVICES) if getattr(parts, name)]
    return ",".join(filter(None, named))


PARTS: Final = FlagKind("parts", parse_parts, _show, unset="true")


@options
class SimulationOptions:
    """Options of the simulated cluster."""

    parts: Parts = setting(
        default=NOTHING,
        metadata=about(
            "Simulation",
            "Simulate a cluster: nodes=N (nodes, the scheduler, and pods that seem to run), workloads (controllers "
            "of Deployments, Jobs and the like), volumes, services, or several of them, separated by commas. "
            f"Without a value: {_show(EVERYTHING)}.",
            PARTS,
            flag="simulate",
        ),
    )
    speed: float = setting(
        default=1.0,
        metadata=about(
            "Simulation",
            "Speed of the simulated cluster's delays, back-offs, schedules and grace periods; 10 is ten times real "
            "time. 0 stops its time: only POST /debug/simulation advances it.",
            FLOAT,
            flag="simulate-speed",
        ),
    )
