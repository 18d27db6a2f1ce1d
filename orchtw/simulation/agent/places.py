"""Ways to simulated nodes and pods: paths of the one agent that stands for all of them (reference SIM-24)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final
from urllib.parse import quote, unquote

from orchtw.outbound.destination import Destination
from orchtw.outbound.tls import ClientTLS
from orchtw.simulation.agent.identity import LOOPBACK
from orchtw.simulation.nodes.marks import is_gone, is_managed
from orchtw.wire.objects import Object

NODES: Final = "/nodes/"
PODS: Final = "/pods/"
DIAL_S: Final = 10.0
UNREACHABLE_PORT: Final = 1


class SimulatedPlaces:
    """Places of the agent; `port` is where it listens, 0 while it does not."""

    def __init__(self, tls: ClientTLS, port: Callable[[], int]) -> None:
        self._tls = tls
        self._port = port

    def agent(self, node: Object) -> Destination | None:
        """Return the agent of a node, None for a node that is not simulated."""
        if not is_managed(node):
            return None
        return self._at(f"{NODES}{quote(node['metadata']['name'], safe='')}", node)

    def pod(self, node: Object, pod: Object, port: str) -> Destination | None:
        """Return a port of a pod on a node, None if the node is not simulated."""
        if not is_managed(node):
            return None
        meta = pod["metadata"]
        return self._at(f"{PODS}{meta['namespace']}/{meta['name']}/{quote(port or '80', safe='')}", node)

    def _at(self, prefix: str, node: Object) -> Destination:
        # Nobody listens for a machine without power.
        port = UNREACHABLE_PORT if is_gone(node) else self._port()
        return Destination(
            scheme="https",
            host=LOOPBACK,
            port=port or UNREACHABLE_PORT,
            tls=self._tls,
            timeout_s=DIAL_S,
            prefix=prefix,
        )


def split_place(path: str) -> tuple[str, list[str], str]:
    """Return what a path of the agent names: `nodes` with a node, or `pods` with namespace, pod and port; and the
    path there. Empty for other paths.
    """
    for prefix, count in ((NODES, 1), (PODS, 3)):
        if path.startswith(prefix):
            parts = path.removeprefix(prefix).split("/", count)
            if len(parts) >= count:
                rest = parts[count] if len(parts) > count else ""
                return prefix.strip("/"), [unquote(each) for each in parts[:count]], f"/{rest}"
    return "", [], path
