"""Indexes of the shared informer of pods, by the names under which all controllers know them."""

from __future__ import annotations

from collections.abc import Iterable

from orchtw.simulation.informers import Index, SharedInformer
from orchtw.wire.objects import Object


def by_node(pods: SharedInformer) -> Index:
    """Return the index of pods by the names of their nodes."""
    return pods.index("node", _node)


def _node(pod: Object) -> Iterable[str]:
    name = pod["spec"].get("nodeName")
    return (name,) if name else ()
