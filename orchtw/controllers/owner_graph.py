"""Graph of owners and dependents, known to the garbage collector without lookups (reference CTRL-13).

Only objects that have owners, dependents or a collector's finalizer to wait for have a node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from sys import intern
from typing import Final

import msgspec

from orchtw.client.interface import Resource
from orchtw.client.owner_references import OwnerMetadata, OwnerReference
from orchtw.writes.propagation import FOREGROUND, ORPHAN

PART_NODES: Final = 256


class Presence(Enum):
    """Presence of a node's object, as far as known: only referred to, seen, or looked up in vain."""

    UNKNOWN = 0
    PRESENT = 1
    ABSENT = 2


class OwnerNode:
    """One object, by uid. Its coordinates are certain only if its presence is not UNKNOWN.

    `dependents` maps each to whether it blocks a foreground deletion; `blocking` counts those. `foreground` and
    `orphaning`: the object is terminating and waits for its dependents to go, or to be let go.
    """

    __slots__ = (
        "blocking", "dependents", "foreground", "name", "namespace", "orphaning", "owners", "presence", "resource",
        "terminating", "uid",
    )

    def __init__(self, uid: str) -> None:
        self.uid = uid
        self.presence = Presence.UNKNOWN
        self.resource: Resource | None = None
        self.namespace = ""
        self.name = ""
        self.owners: tuple[OwnerReference, ...] = ()
        self.dependents: dict[OwnerNode, bool] | None = None
        self.blocking = 0
        self.terminating = False
        self.foreground = False
        self.orphaning = False

    def place(self, resource: Resource, namespace: str, name: str) -> None:
        """Note where the object lives."""
        self.resource, self.namespace, self.name = resource, intern(namespace), name

    def is_one_of(self, resource: Resource) -> bool:
        """Report whether the object is known to exist in that resource."""
        return self.presence is Presence.PRESENT and (self.resource is resource or self.resource == resource)

    def is_at(self, resource: Resource, namespace: str, name: str) -> bool:
        """Report whether the object is known to live here, or known to be missing."""
        return (
            self.presence is not Presence.UNKNOWN
            and self.name == name
            and self.namespace == namespace
            and (self.resource is resource or self.resource == resource)
        )

    def bind(self, meta: OwnerMetadata) -> None:
        """Note the object's own state."""
        self.presence = Presence.PRESENT
        self.terminating = meta.terminating
        self.foreground = meta.terminating and FOREGROUND in meta.finalizers
        self.orphaning = meta.terminating and ORPHAN in meta.finalizers


class Graph(msgspec.Struct, eq=False):
    """Nodes by uid. `attention` is called with the uid of every node that may need work.

    `resource_of` finds the resource of an owner's apiVersion and kind; None: not served.
    """

    resource_of: Callable[[str, str], Resource | None]
    attention: Callable[[str], None]
    nodes: dict[str, OwnerNode] = msgspec.field(default_factory=dict)

    def changed(self, resource: Resource, namespace: str, name: str, meta: OwnerMetadata) -> None:
        """Note an existing object with this owner metadata."""
        node = self.nodes.get(meta.uid)
        waits = meta.terminating and (FOREGROUND in meta.finalizers or ORPHAN in meta.finalizers)
        if node is None:
            if not meta.owners and not waits:
                return
            node = self.nodes[meta.uid] = OwnerNode(meta.uid)
        waited = node.foreground, node.orphaning
        node.place(resource, namespace, name)
        node.bind(meta)
        if meta.owners != node.owners:
            self._set_owners(node, meta.owners)
        if (node.foreground, node.orphaning) != waited and waits:
            self.attention(node.uid)
            if node.foreground and not waited[0]:
                self._attention_to(node.dependents or ())
        self._drop_if_idle(node)

    def removed(self, uid: str) -> None:
        """Note that an object is gone; its node stays, as absent, while others refer to it."""
        node = self.nodes.get(uid)
        if node is None:
            return
        node.presence = Presence.ABSENT
        node.terminating = node.foreground = node.orphaning = False
        if node.owners:
            self._set_owners(node, ())
        if node.dependents:
            self._attention_to(node.dependents)
        self._drop_if_idle(node)

    def lost(self, resource: Resource) -> None:
        """Forget a resource that is no longer served: the fate of its objects is unknown."""
        for nodes in self.parts():
            for node in nodes:
                if node.is_one_of(resource):
                    self.removed(node.uid)
                    node.presence = Presence.UNKNOWN

    def has_seen_end(self, owner: OwnerReference, namespace: str) -> bool:
        """Report whether exactly the owner that an object of that namespace refers to is known to be gone."""
        node = self.nodes.get(owner.uid)
        if node is None or node.presence is not Presence.ABSENT or node.resource is None:
            return False
        resource = node.resource
        kind = owner.api_version.rpartition("/")[0], owner.kind
        place = namespace if resource.namespaced else ""
        return (resource.group, resource.kind) == kind and (node.namespace, node.name) == (place, owner.name)

    def found(self, resource: Resource, namespace: str, name: str, meta: OwnerMetadata) -> None:
        """Note an owner that was looked up and exists."""
        node = self.nodes.get(meta.uid)
        known = node is not None and node.presence is Presence.PRESENT and node.is_at(resource, namespace, name)
        if node is not None and not known:
            node.place(resource, namespace, name)
            node.bind(meta)

    def missing(self, resource: Resource, namespace: str, name: str, uid: str) -> None:
        """Note an owner that is not where the reference says; other references to it may be right."""
        node = self.nodes.get(uid)
        if node is not None and node.presence is not Presence.PRESENT:
            node.place(resource, namespace, name)
            node.presence = Presence.ABSENT

    def parts(self) -> Iterator[list[OwnerNode]]:
        """Yield the nodes present at the call, some at a time; meanwhile they may come and go."""
        nodes = list(self.nodes.values())
        return (nodes[start : start + PART_NODES] for start in range(0, len(nodes), PART_NODES))

    def settled(self, node: OwnerNode) -> bool:
        """Report whether all owners of a node are known to exist, to stay, and to be allowed to own it."""
        return all(self._stays(node, owner) for owner in node.owners)

    def _stays(self, node: OwnerNode, reference: OwnerReference) -> bool:
        owner = self.nodes.get(reference.uid)
        if owner is None or owner.presence is not Presence.PRESENT or owner.foreground:
            return False
        resource = self.resource_of(reference.api_version, reference.kind)
        if resource is None or (resource.namespaced and not node.namespace):
            return False
        return owner.is_at(resource, node.namespace if resource.namespaced else "", reference.name)

    def _set_owners(self, node: OwnerNode, references: tuple[OwnerReference, ...]) -> None:
        """Replace the node's edges, and queue the nodes concerned."""
        before, after = _blocking_by_uid(node.owners), _blocking_by_uid(references)
        node.owners = references
        for uid in before:
            if uid not in after:
                self._unlink(node, uid)
        for uid, blocking in after.items():
            self._link(node, uid, blocking)
        if references and not self.settled(node):
            self.attention(node.uid)

    def _link(self, node: OwnerNode, uid: str, blocking: bool) -> None:
        owner = self.nodes.get(uid)
        if owner is None:
            owner = self.nodes[uid] = OwnerNode(uid)
        if owner.dependents is None:
            owner.dependents = {}
        owner.blocking += blocking - owner.dependents.get(node, False)
        owner.dependents[node] = blocking
        if owner.foreground and not owner.blocking:
            self.attention(uid)

    def _unlink(self, node: OwnerNode, uid: str) -> None:
        owner = self.nodes.get(uid)
        if owner is None or not owner.dependents or node not in owner.dependents:
            return
        owner.blocking -= owner.dependents.pop(node)
        if owner.foreground and not owner.blocking:
            self.attention(uid)
        self._drop_if_idle(owner)

    def _drop_if_idle(self, node: OwnerNode) -> None:
        """Forget a node that says nothing any more."""
        if node.owners or node.dependents or node.foreground or node.orphaning:
            return
        self.nodes.pop(node.uid, None)

    def _attention_to(self, nodes: Iterable[OwnerNode]) -> None:
        for node in nodes:
            self.attention(node.uid)


def _blocking_by_uid(references: tuple[OwnerReference, ...]) -> dict[str, bool]:
    """Return whether an object blocks each of its owners; one that is named twice is blocked by either."""
    out: dict[str, bool] = {}
    for each in references:
        out[each.uid] = out.get(each.uid, False) or each.blocking
    return out
