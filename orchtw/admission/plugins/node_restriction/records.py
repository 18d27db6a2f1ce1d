"""Records of stored pods and nodes for the rules."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Final

import attrs

from orchtw.registry.targets import Targets
from orchtw.storage.freshness import MOST_RECENT

NODE_NAME: Final = "spec.nodeName"


@attrs.frozen(slots=True)
class PodRecord:
    """A pod's identity, and the node that it runs on."""

    uid: str
    node: str


class Records:
    """Looks pods and nodes up in their caches; what is missing there is looked for once more."""

    def __init__(self, targets: Targets) -> None:
        self._pods = targets.stored_target("", "v1", "pods").stored
        self._nodes = targets.stored_target("", "v1", "nodes").stored
        self._node_of = self._pods.field_names.index(NODE_NAME)

    async def pod(self, namespace: str, name: str) -> PodRecord | None:
        """The pod, or None."""
        entry = self._pods.get(namespace, name)
        if entry is None and await _waited(self._pods.cache.freshness.due(MOST_RECENT)):
            entry = self._pods.get(namespace, name)
        if entry is None:
            return None
        return PodRecord(self._pods.metadata(entry, owned=False).get("uid", ""), entry.fields[self._node_of])

    async def node_uid(self, name: str) -> str | None:
        """The node's uid; None: there is no such node."""
        entry = self._nodes.get("", name)
        if entry is None and await _waited(self._nodes.cache.freshness.due(MOST_RECENT)):
            entry = self._nodes.get("", name)
        return None if entry is None else str(self._nodes.metadata(entry, owned=False).get("uid", ""))


async def _waited(due: Awaitable[None] | None) -> bool:
    if due is None:
        return False
    await due
    return True
