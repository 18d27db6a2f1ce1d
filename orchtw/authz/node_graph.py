"""Graph of pods by node and of their references, kept up to date from the caches (reference AUTHZ-31, AUTHZ-38).

A node's pods are known by a field of their cache entries. Their references are read at the first question about
the node, each pod once: writes of pods cost next to nothing, and so does a start with many.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from typing import Any, Final

import attrs
from twisted.application.service import Service
from twisted.internet.task import deferLater
from twisted.logger import Logger

from orchtw.authz.node_references import SECRETS, Reference, of_pod, of_volume
from orchtw.errors import InternalError
from orchtw.naming.names import Naming
from orchtw.registry.stored import Stored
from orchtw.registry.targets import Targets
from orchtw.watch.entry import Entry
from orchtw.watch.log import Event
from orchtw.wire.objects import Object

SLICE_S: Final = 0.01
"""Of reading at a time; then others have as long, however many wait for what is read."""

STRIDE: Final = 64
"""Pods that are taken in between two looks at the clock."""

_NODE: Final = "spec.nodeName"


@attrs.define(slots=True, eq=False)
class _Node:
    """The pods of a node: keys of those that are yet to be read, and references of the others."""

    unread: set[str] = attrs.field(factory=set)
    read: dict[str, frozenset[Reference]] = attrs.field(factory=dict)
    referred: Counter[Reference] = attrs.field(factory=Counter)

    def add(self, key: str, references: frozenset[Reference]) -> None:
        """A pod has been read."""
        self.unread.discard(key)
        self.read[key] = references
        self.referred.update(references)

    def forget(self, key: str) -> None:
        """A pod is gone."""
        self.unread.discard(key)
        for reference in self.read.pop(key, ()):
            self.referred[reference] -= 1
            if not self.referred[reference]:
                del self.referred[reference]


class _Volumes:
    """Secrets of PersistentVolumes, and whose claims these are for. See `Follower`."""

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
        """Take in an event, as a `Follower`."""
        self.unread.discard(event.key)
        for secret in self._secrets.pop(event.key, ()):
            of_secret = self._claims[secret]
            del of_secret[event.key]
            if not of_secret:
                del self._claims[secret]
        if event.new is not None:
            self.unread.add(event.key)

    def closed(self) -> None:
        """Never happens: the resource is one of the release."""

    def read(self, key: str, volume: Object | None) -> None:
        """Take in one of the unread."""
        self.unread.discard(key)
        claim, secrets = of_volume(volume or {})
        if claim is not None and secrets:
            self._secrets[key] = secrets
            for secret in secrets:
                self._claims.setdefault(secret, {})[key] = claim

    def claims_of(self, secret: Reference) -> set[Reference]:
        """The claims of the volumes that use a secret."""
        return set(self._claims.get(secret, {}).values())


class NodeGraph(Service):
    """Says whether pods on a node refer to an object; empty until it is started. See `Follower`."""

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
        """Follow, and take in what there is when a node asks for the first time."""
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
        """Report whether pods on the node refer to an object, secrets also by volumes: at once if all are read."""
        answer = self._known(node, reference)
        return self._slowly(node, reference) if answer is None else answer

    def uses_volume(self, node: str, name: str) -> bool | Awaitable[bool]:
        """Report whether pods on the node use the claim that a PersistentVolume is bound to."""
        claim, _ = of_volume(self._loaded(self._volumes, name) or {})
        return claim is not None and self.refers(node, claim)

    def has_attachment(self, node: str, name: str) -> bool:
        """Report whether a VolumeAttachment is for the node."""
        spec: Object = (self._loaded(self._attachments, name) or {}).get("spec") or {}
        return bool(node == spec.get("nodeName"))

    def _known(self, node: str, reference: Reference) -> bool | None:
        """The answer, or None if there is more to read than a slice lasts."""
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
        """A pod has come, gone, or been changed; what it refers to never changes while it stays on its node."""
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
        """Never happens: the resource is one of the release."""

    def _node_of(self, entry: Entry | None) -> str:
        return "" if entry is None else entry.fields[self._node_field]

    def _arrived(self, entry: Entry | None) -> None:
        if entry is not None and (node := self._node_of(entry)):
            self._nodes.setdefault(node, _Node()).unread.add(entry.key)

    # Reading

    def _take_rest(self) -> bool:
        """Take in, for a slice, pods that were there at the start; whether all have been."""
        if self._overtaken is None:
            return True
        now_s = self._clock.seconds()
        if now_s < self._resume_s:
            return False
        for count, key in enumerate(self._left):
            if key not in self._overtaken:
                with suppress(InternalError):  # one that is damaged
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
        """Read for a slice, unless one has just ended; whether there is nothing left."""
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
        """Return the references that a pod opens to its node: none for a mirror pod."""
        if pod is None or self._mirror in (pod["metadata"].get("annotations") or {}):
            return frozenset()
        return of_pod(pod)

    def _loaded(self, stored: Stored, key: str) -> Object | None:
        """An object as it is in the cache; None if there is none, or none that can be read."""
        try:
            entry = stored.cache.get(key)
            return None if entry is None else stored.load(entry)
        except InternalError:
            return None
        except Exception:  # noqa: BLE001 - one object that cannot be read is not the end of all others
            self._log.failure("{key} cannot be read", key=key)
            return None


