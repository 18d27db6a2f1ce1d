"""Graph of pods by node and of their references, kept up to date from the caches (reference AUTHZ-31, AUTHZ-38).

A node's pods are found by a field of their cache entries. Pods are decoded, once each, only when their node makes a
request: that keeps writes of pods cheap, and startup with many pods fast.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from typing import Any, Final

import msgspec
from twisted.application.service import Service
from twisted.internet.task import deferLater
from twisted.logger import Logger

from orchtw.authz.node_references import SECRETS, Reference, of_pod, of_volume
from orchtw.errors import InternalError
from orchtw.naming.naming import Naming
from orchtw.registry.stored import Stored
from orchtw.registry.targets import Targets
from orchtw.watch.entry import Entry
from orchtw.watch.event_log import Event
from orchtw.wire.objects import Object

SLICE_S: Final = 0.01
"""Time spent decoding in one reactor turn, and then left to other work, however many requests wait."""

STRIDE: Final = 64
"""Pods taken from the startup snapshot between two looks at the clock."""

_NODE: Final = "spec.nodeName"


class _Node(msgspec.Struct, eq=False):
    """The pods of a node: keys of those not decoded yet, and references of the others.

    `referred` counts the pods by reference.
    """

    unread: set[str] = msgspec.field(default_factory=set)
    read: dict[str, frozenset[Reference]] = msgspec.field(default_factory=dict)
    referred: Counter[Reference] = msgspec.field(default_factory=Counter)

    def add(self, key: str, references: frozenset[Reference]) -> None:
        """Add the references of a pod."""
        self.unread.discard(key)
        self.read[key] = references
        self.referred.update(references)

    def forget(self, key: str) -> None:
        """Drop a pod that is gone from the node."""
        self.unread.discard(key)
        for reference in self.read.pop(key, ()):
            self.referred[reference] -= 1
            if not self.referred[reference]:
                del self.referred[reference]


class _Volumes:
    """Secrets of PersistentVolumes, and the claims bound to the volumes. Implements `Follower`."""

    def __init__(self, stored: Stored) -> None:
        self._stored = stored
        self.unread: set[str] = set()
        self._secrets: dict[str, frozenset[Reference]] = {}
        self._claims: dict[Reference, dict[str, Reference]] = {}

    def open(self) -> None:
        self.unread.update(entry.key for entry in self._stored.cache.snapshot())
        self._stored.cache.follow(self)

    def close(self) -> None:
        self._stored.cache.leave(self)

    def take(self, event: Event) -> None:
        """Drop what is known of a changed volume, and decode it again later."""
        self.unread.discard(event.key)
        for secret in self._secrets.pop(event.key, ()):
            of_secret = self._claims[secret]
            del of_secret[event.key]
            if not of_secret:
                del self._claims[secret]
        if event.new is not None:
            self.unread.add(event.key)

    def closed(self) -> None:
        """Do nothing: the resource is built in, so its cache never closes."""

    def read(self, key: str, volume: Object | None) -> None:
        """Record the secrets and the claim of an unread volume; None if it is gone or damaged."""
        self.unread.discard(key)
        claim, secrets = of_volume(volume or {})
        if claim is not None and secrets:
            self._secrets[key] = secrets
            for secret in secrets:
                self._claims.setdefault(secret, {})[key] = claim

    def claims_of(self, secret: Reference) -> set[Reference]:
        """Return the claims of the volumes that use a secret."""
        return set(self._claims.get(secret, {}).values())


class NodeGraph(Service):
    """Graph that tells whether pods on a node refer to an object; empty until started. Implements `Follower`."""

    _log = Logger()

    def __init__(self, targets: Targets, naming: Naming, clock: Any) -> None:
        self._pods = targets.stored_target("", "v1", "pods").stored
        self._volumes = targets.stored_target("", "v1", "persistentvolumes").stored
        group = naming.group("storage.orch.io")
        self._attachments = targets.stored_target(group, "v1", "volumeattachments").stored
        self._node_field = self._pods.field_names.index(_NODE)
        self._mirror = f"{naming.label_domain}/config.mirror"
        self._clock = clock
        self._nodes: dict[str, _Node] = {}
        self._of_volumes = _Volumes(self._volumes)
        self._resume_s = 0.0
        self._left: Iterator[str] = iter(())
        self._overtaken: set[str] | None = None

    def startService(self) -> None:
        """Follow the caches; existing pods are indexed when a node makes its first request."""
        super().startService()  # type: ignore[no-untyped-call]
        self._left, self._overtaken = iter([entry.key for entry in self._pods.cache.snapshot()]), set()
        self._pods.cache.follow(self)
        self._of_volumes.open()

    def stopService(self) -> None:
        """Stop following the caches."""
        super().stopService()  # type: ignore[no-untyped-call]
        self._pods.cache.leave(self)
        self._of_volumes.close()

    def refers(self, node: str, reference: Reference) -> bool | Awaitable[bool]:
        """Report whether pods on the node refer to an object (to secrets also by way of volumes).

        The result is an awaitable if not all of them are decoded.
        """
        answer = self._known(node, reference)
        return self._slowly(node, reference) if answer is None else answer

    def uses_volume(self, node: str, name: str) -> bool | Awaitable[bool]:
        """Report whether pods on the node use the claim that a PersistentVolume is bound to."""
        claim, _ = of_volume(self._loaded(self._volumes, name) or {})
        return claim is not None and self.refers(node, claim)

    def has_attachment(self, node: str, name: str) -> bool:
        """Report whether a VolumeAttachment exists and is for the node."""
        spec: Object = (self._loaded(self._attachments, name) or {}).get("spec") or {}
        return bool(node == spec.get("nodeName"))

    def _known(self, node: str, reference: Reference) -> bool | None:
        """Return the answer, or None if there is more to decode than fits in a slice."""
        if not self._take_rest():
            return None
        pods = self._nodes.get(node)
        if pods is None:
            return False
        if not self._read_pods(pods):
            return None
        if reference in pods.referred:
            return True
        if reference[0] != SECRETS:
            return False
        if not self._read_volumes():
            return None
        return any(claim in pods.referred for claim in self._of_volumes.claims_of(reference))

    async def _slowly(self, node: str, reference: Reference) -> bool:
        while (answer := self._known(node, reference)) is None:
            await deferLater(self._clock, SLICE_S)
        return answer

    # Following

    def take(self, event: Event) -> None:
        """Apply a change of a pod, whose references are immutable while it stays on its node."""
        old, new = self._node_of(event.old), self._node_of(event.new)
        if self._overtaken is not None:
            self._overtaken.add(event.key)
        elif event.old is not None and event.new is not None and old == new:
            return
        pods = self._nodes.get(old)
        if pods is not None:
            pods.forget(event.key)
            if not pods.unread and not pods.read:
                del self._nodes[old]
        if event.new is not None:
            self._arrived(event.new)

    def closed(self) -> None:
        """Do nothing: the resource is built in, so its cache never closes."""

    def _node_of(self, entry: Entry | None) -> str:
        return "" if entry is None else entry.fields[self._node_field]

    def _arrived(self, entry: Entry | None) -> None:
        if entry is not None and (node := self._node_of(entry)):
            self._nodes.setdefault(node, _Node()).unread.add(entry.key)

    # Reading

    def _take_rest(self) -> bool:
        """Index pods of the startup snapshot for a slice; report whether all are indexed."""
        if self._overtaken is None:
            return True
        now_s = self._clock.seconds()
        if now_s < self._resume_s:
            return False
        for count, key in enumerate(self._left):
            if key not in self._overtaken:
                with suppress(InternalError):  # a damaged object
                    self._arrived(self._pods.cache.get(key))
            if not count % STRIDE and self._clock.seconds() >= now_s + SLICE_S:
                self._resume_s = self._clock.seconds() + SLICE_S
                return False
        self._overtaken = None
        return True

    def _read_pods(self, pods: _Node) -> bool:
        def read(key: str) -> None:
            pods.add(key, self._references(self._loaded(self._pods, key)))

        return self._read(pods.unread, read)

    def _read_volumes(self) -> bool:
        volumes = self._of_volumes
        return self._read(volumes.unread, lambda key: volumes.read(key, self._loaded(self._volumes, key)))

    def _read(self, unread: set[str], read: Callable[[str], None]) -> bool:
        """Decode for a slice, unless one has just ended; report whether all are decoded."""
        now_s = self._clock.seconds()
        if not unread or now_s < self._resume_s:
            return not unread
        while unread:
            read(next(iter(unread)))
            if self._clock.seconds() >= now_s + SLICE_S:
                self._resume_s = self._clock.seconds() + SLICE_S
                break
        return not unread

    def _references(self, pod: Object | None) -> frozenset[Reference]:
        """Return the references that its node may read because of a pod; empty for a mirror pod."""
        if pod is None or self._mirror in (pod["metadata"].get("annotations") or {}):
            return frozenset()
        return of_pod(pod)

    def _loaded(self, stored: Stored, key: str) -> Object | None:
        """Return a cached object, or None if it does not exist or cannot be decoded."""
        try:
            entry = stored.cache.get(key)
            return None if entry is None else stored.load(entry)
        except InternalError:
            return None
        except Exception:  # noqa: BLE001 - one undecodable object must not break requests for the others
            self._log.failure("{key} cannot be read", key=key)
            return None
