"""The API as controllers see it, whether the server is this process or another one.

Objects are canonical dicts of the resource's version. Every refusal is a `StatusError`, as a remote client gets it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import attrs

from orchtw.client.owner_references import OwnerMetadata
from orchtw.errors import StatusError
from orchtw.rules.options import DeleteOptions
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
        """Return the group version, `v1` or `apps/v1`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def allows(self, *verbs: str) -> bool:
        """Report whether all of these verbs are served."""
        return all(verb in self.verbs for verb in verbs)


ResourcesChanged = Callable[[Sequence[Resource], Sequence[Resource]], None]
"""Is told which resources are gone and which have come; of none of either if that is not known."""


class Item(Protocol):
    """An object as lists and watches hand it out: decoded only as far as it is asked for.

    Two items of one `key` and `version` are the same state.
    """

    @property
    def key(self) -> str:
        """`namespace/name`, or `name` at cluster scope."""

    @property
    def namespace(self) -> str:
        """The object's namespace; empty at cluster scope."""

    @property
    def name(self) -> str:
        """Return the name of the object."""

    @property
    def version(self) -> str:
        """Return the resourceVersion of the object."""

    @property
    def size_bytes(self) -> int:
        """About how long it is: who loads a large one holds up everybody else."""

    def owner_metadata(self) -> OwnerMetadata:
        """Its owner references, finalizers and termination; the cheapest look at it."""

    def metadata(self) -> Object:
        """A private copy of its metadata."""

    def load(self) -> Object:
        """A private copy of the whole object."""


@attrs.frozen(slots=True)
class Listing:
    """A list at one version."""

    items: Sequence[Item]
    version: str


@attrs.frozen(slots=True)
class Discovered:
    """Result of discovery: each stored kind once, and why a group version (`apps/v1`) could not be asked."""

    resources: Sequence[Resource]
    failures: Mapping[str, str] = attrs.field(factory=dict)


class Receiver(Protocol):
    """Receiver of a watch's events. No call comes after `Watch.stop`."""

    def changed(self, item: Item) -> None:
        """The object was created, or changed."""

    def removed(self, item: Item) -> None:
        """The object is gone; `item` is its last state."""

    def ended(self, error: StatusError | None) -> None:
        """The watch is over: `Expired` asks for a new list, anything else for another watch."""


class Watch(Protocol):
    """Handle of a running watch."""

    def stop(self) -> None:
        """End it; safe to call twice."""


class Client(Protocol):
    """Reads and writes under one user. `get` and `list` see every write acknowledged before the call."""

    async def discover(self) -> Discovered:
        """All resources, those added at run time too."""

    def follow_discovery(self, changed: ResourcesChanged) -> Callable[[], None]:
        """Call `changed` when the client learns that the resources have changed. Returns a function that ends it.

        A client that cannot learn it never calls: callers ask `discover` now and then besides.
        """

    def resource(self, group: str, version: str, plural: str) -> Resource:
        """The resource of that path; KeyError when it is not served."""

    def resource_of(self, api_version: str, kind: str) -> Resource | None:
        """The resource that serves a kind, or None."""

    async def get(self, resource: Resource, namespace: str, name: str) -> Object:
        """The object; raises NotFound (404)."""

    async def find(self, resource: Resource, namespace: str, name: str) -> Item | None:
        """The object, undecoded, or None."""

    async def list(self, resource: Resource, namespace: str = "", *, labels: str = "", fields: str = "") -> Listing:
        """All objects, or those of one namespace, that the selectors match."""

    def watch(self, resource: Resource, since: str, receiver: Receiver) -> Watch:
        """Follow all objects of a resource from a listed version on."""

    async def create(self, resource: Resource, namespace: str, obj: Object) -> Object:
        """Create; returns the stored object. Raises AlreadyExists (409), Invalid (422), Forbidden (403)."""

    async def update(
        self, resource: Resource, namespace: str, name: str, obj: Object, subresource: str = ""
    ) -> Object:
        """Replace; a resourceVersion in `obj` must be the stored one. Raises Conflict (409), NotFound (404)."""

    async def patch(
        self, resource: Resource, namespace: str, name: str, changes: Object, subresource: str = ""
    ) -> Object:
        """Merge `changes` (RFC 7386); uid and resourceVersion among them are preconditions. Raises as `update`."""

    async def apply(
        self, resource: Resource, namespace: str, name: str, wanted: Object, manager: str, size_bytes: int = 0
    ) -> None:
        """Server-side apply of `wanted` to an object that is there: its fields come to be the manager's.

        `size_bytes`: about how long it is. Raises NotFound (404) and as `update`.
        """

    async def delete(
        self, resource: Resource, namespace: str, name: str, options: DeleteOptions = PLAIN_DELETE
    ) -> bool:
        """Delete; whether the object is gone at once. Raises NotFound (404), Conflict (409, a precondition)."""

    async def delete_collection(
        self, resource: Resource, namespace: str, options: DeleteOptions = PLAIN_DELETE, *, labels: str = "",
        fields: str = "",
    ) -> int:
        """Delete all that match; returns how many were deleted or began to end.

        All are tried; the first refusal is raised.
        """
