"""Lister of nodes: the labels and amounts that admission needs."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from orchtw.registry.listers.lister import CachedLister, Lister
from orchtw.registry.stored import Stored
from orchtw.registry.targets import Targets
from orchtw.watch.entry import Entry


class NodeState(msgspec.Struct, frozen=True):
    """Labels of a node, and its `status.allocatable` as quantities by resource name."""

    labels: Mapping[str, str]
    allocatable: Mapping[str, str]


def nodes(targets: Targets) -> Lister[NodeState]:
    """Return the lister of the server's nodes."""
    return CachedLister(targets.stored_target("", "v1", "nodes").stored, _state)


def _state(stored: Stored, entry: Entry) -> NodeState:
    status = stored.load(entry).get("status") or {}
    return NodeState(entry.labels, status.get("allocatable") or {})
