"""The API as controllers see it, for this server's process and for a remote one.

Objects are canonical dicts of the resource's version. Every error is a `StatusError`, as a remote client gets it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import attrs
import msgspec

from orchtw.client.owner_references import OwnerMetadata
from orchtw.errors import StatusError
from orchtw.rules.delete_options import DeleteOptions
from orchtw.wire.objects import Object

PLAIN_DELETE = DeleteOptions()
BACKGROUND = DeleteOptions(propagation="Background")


@attrs.frozen(slots=True, kw_only=True, cache_hash=True)
class Resource:
    """One kind of object that can be named in requests; versions of one stored kind are one Resource.

    `remote`: another API server serves it, behind an APIService.
    """

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool
    verbs: tuple[str, ...] = attrs.field(default=(), eq=False)
    remote: bool = False

    @property
    def api_version(self) -> str:
        """Group version of the resource: `v1` or `apps/v1`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def allows(self, *verbs: str) -> bool:
        """Report whether all of these verbs are served."""
        return all(verb in self.verbs for verb in verbs)


ResourcesChanged = Callable[[Sequence[Resource], Sequence[Resource]], None]
"""Function of the removed and the added resources; both are empty if these are not known."""


class Item(Protocol):
    """An object as lists and watches deliver it: decoded only as far as needed.

    Items of equal `key` and `version` are the same state.
    """

    @property
    def key(self) -> str:
        """`namespace/name`, or `name` at cluster scope."""

    @property
    def namespace(self) -> str:
        """The object's namespace; empty at cluster scope."""

    @property
    def name(self) -> str:
        """The object's name in its namespace."""

    @property
    def version(self) -> str:
        """The object's resourceVersion as text."""

    @property
    def size_bytes(self) -> int:
        """Approximate length in bytes: loading a large object blocks other work."""

    def owner_metadata(self) -> OwnerMetadata:
        """Return its owner references, finalizers and termination, at the lowest cost."""

    def stands_alone(self) -> bool:
        """Report whether it surely has no owner and is not being deleted; False where that takes a closer look."""

    def metadata(self) -> Object:
        """Return a private copy of its metadata."""

    def load(self) -> Object:
        """Return a private copy of the whole object."""


class Listing(msgspec.Struct, frozen=True):
    """Result of a list, at one version."""

    items: Sequence[Item]
    version: str


class Discovered(msgspec.Struct, frozen=True):
    """Result of discovery: each stored kind once, and errors by group version (`apps/v1`)."""

    resources: Sequence[Resource]
    failures: Mapping[str, str] = msgspec.field(default_factory=dict)


class Receiver(Protocol):
    """Receiver of a watch's events. No call comes after `Watch.stop`."""

    def changed(self, item: Item) -> None:
        """Handle a created or changed object."""

    def removed(self, item: Item) -> None:
        """Handle the end of an object; `item` is its last state."""

    def ended(self, error: StatusError | None) -> None:
        """Handle the end of the watch: `Expired` asks for a new list, anything else for another watch."""


class Watch(Protocol):
    """Handle of a running watch."""

    def stop(self) -> None:
        """End the watch; safe to call twice."""


class Client(Protocol):
    """Reads and writes under one user. `get` and `list` see every write acknowledged before the call."""

    async def discover(self) -> Discovered:
        """Return all resources, including those added at run time."""

    def follow_discovery(self, changed: ResourcesChanged) -> Callable[[], None]:
        """Call `changed` when the client learns of changed resources. Returns a function that ends it.

        A client that cannot learn of changes never calls it: callers should also call `discover` periodically.
        """

    def resource(self, group: str, version: str, plural: str) -> Resource:
        """Return the resource of that path. Raises KeyError if it is not served."""

    def resource_of(self, api_version: str, kind: str) -> Resource | None:
        """Return the resource that serves a kind, or None."""

    async def get(self, resource: Resource, namespace: str, name: str) -> Object:
        """Return the object. Raises NotFound (404)."""

    async def find(self, resource: Resource, namespace: str, name: str) -> Item | None:
        """Return the object, undecoded, or None."""

    async def list(self, resource: Resource, namespace: str = "", *, labels: str = "", fields: str = "") -> Listing:
        """Return all objects, or those of one namespace, that match the selectors."""

    def watch(self, resource: Resource, since: str, receiver: Receiver) -> Watch:
        """Follow all objects of a resource from a listed version on."""

    async def create(self, resource: Resource, namespace: str, obj: Object, *, whole: bool = True) -> Object:
        """Create and return the stored object. Raises AlreadyExists (409), Invalid (422), Forbidden (403).

        Unless it is wanted `whole`, the result may have no more than its name, namespace and resourceVersion.
        """

    async def update(
        self, resource: Resource, namespace: str, name: str, obj: Object, subresource: str = ""
    ) -> Object:
        """Replace the object; a resourceVersion must be the stored one. Raises Conflict (409), NotFound (404)."""

    async def patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        changes: Object,
        subresource: str = "",
        *,
        whole: bool = True,
    ) -> Object:
        """Merge `changes` (RFC 7386); uid and resourceVersion in them are preconditions. Raises as `update`.

        `whole` is that of `create`.
        """

    async def apply(
        self, resource: Resource, namespace: str, name: str, wanted: Object, manager: str, size_bytes: int = 0
    ) -> None:
        """Apply `wanted` server-side to an existing object: its fields become the manager's.

        `size_bytes` is its approximate length. Raises NotFound (404) and as `update`.
        """

    async def delete(
        self, resource: Resource, namespace: str, name: str, options: DeleteOptions = PLAIN_DELETE
    ) -> bool:
        """Delete; report whether the object is gone. Raises NotFound (404), Conflict (409, a precondition)."""

    async def delete_collection(
        self, resource: Resource, namespace: str, options: DeleteOptions = PLAIN_DELETE, *, labels: str = "",
        fields: str = "",
    ) -> int:
        """Delete all matching objects; return how many were deleted or began to terminate.

        All are tried; the first error is raised.
        """
