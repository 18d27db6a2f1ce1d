"""Nodes as the controller of DaemonSets sees them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from orchtw.client.interface import Item
from orchtw.simulation.world import World
from orchtw.wire.objects import Object

_NO_LABELS: Final[Mapping[str, str]] = {}


class NodeView(msgspec.Struct, frozen=True):
    """A node, as far as it matters to where pods may run."""

    name: str
    labels: Mapping[str, str]
    taints: Sequence[Object]


Handler = Callable[[NodeView | None, NodeView | None], None]


class NodeViews:
    """Views of all nodes by name; one is replaced only when what it shows has changed."""

    def __init__(self, world: World) -> None:
        self.informer = world.informer("", "nodes")
        self.views: dict[str, NodeView] = {}
        self._handlers: list[Handler] = []
        self.informer.handle(self._seen)

    def handle(self, handler: Handler) -> None:
        """Call `handler` with the old and the new view of every changed node; to be added before the start."""
        self._handlers.append(handler)

    def _seen(self, old: Item | None, new: Item | None) -> None:
        item = new or old
        if item is None:
            return
        before = self.views.pop(item.key, None)
        after = None if new is None else _view(self.informer.load(new))
        if after is not None:
            self.views[item.key] = before if before == after and before is not None else after
        if before != after:
            for handler in self._handlers:
                handler(before, after)


def _view(node: Object) -> NodeView:
    meta = node["metadata"]
    return NodeView(meta["name"], meta.get("labels") or _NO_LABELS, node["spec"].get("taints") or ())
