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
    """Record of a pod: its uid, and the node that it runs on."""

    uid: str
    node: str


class Records:
    """Lookup of pods and nodes in their caches; a miss is repeated once the cache is current.

    Methods raise Timeout (504) if that takes too long.
    """

    def __init__(self, targets: Targets) -> None:
        self._pods = targets.stored_target("", "v1", "pods").stored
        self._nodes = targets.stored_target("", "v1", "nodes").stored
        self._node_of = self._pods.field_names.index(NODE_NAME)

    async def pod(self, namespace: str, name: str) -> PodRecord | None:
        """Return the pod, or None."""
        entry = self._pods.get(namespace, name)
        if entry is None and await _waited(self._pods.cache.freshness.due(MOST_RECENT)):
            entry = self._pods.get(namespace, name)
        if entry is None:
            return None
        return PodRecord(self._pods.metadata(entry, owned=False).get("uid", ""), entry.fields[self._node_of])

    async def node_uid(self, name: str) -> str | None:
        """Return the node's uid; None: there is no such node."""
        entry = self._nodes.get("", name)
        if entry is None and await _waited(self._nodes.cache.freshness.due(MOST_RECENT)):
            entry = self._nodes.get("", name)
        return None if entry is None else str(self._nodes.metadata(entry, owned=False).get("uid", ""))


async def _waited(due: Awaitable[None] | None) -> bool:
    if due is None:
        return False
    await due
    return True
