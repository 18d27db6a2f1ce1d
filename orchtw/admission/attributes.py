"""Attributes of one write, as admission plugins see and change it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, Literal, Protocol, TypeVar

import attrs

from orchtw.admission.shown_options import options_object
from orchtw.errors import Cause, Forbidden, Timeout
from orchtw.registry.listers.lister import Lister
from orchtw.request import Request, UserInfo
from orchtw.rules.delete_options import DeleteOptions
from orchtw.rules.write_options import WriteOptions
from orchtw.schema.catalogue import ResourceType
from orchtw.schema.declarations import GroupVersionKind
from orchtw.values.names import qualified_name
from orchtw.wire.objects import Object

T = TypeVar("T")

Operation = Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]

NOT_READY: Final = "not yet ready to handle request"


class Surface(Protocol):
    """Server functions for admission, beyond one write. Large objects are processed off the reactor."""

    @property
    def meta_group(self) -> str:
        """The API group of the options' kinds."""

    def equivalents(self, resource: ResourceType) -> Mapping[str, ResourceType]:
        """Return the served resources with the same stored objects as `resource`, itself included, by apiVersion."""

    async def convert(self, obj: Object, source: ResourceType, wanted: ResourceType, size_bytes: int) -> Object:
        """Convert `obj` of `source`, canonical or not, into a canonical object of `wanted`.

        Raises BadRequest (400) for anything but an object of `source`.
        """

    async def copy(self, obj: Object, size_bytes: int) -> Object:
        """Return an object that shares nothing with `obj`."""

    def reader(self, resource: ResourceType, subresource: str) -> Callable[[Object], Object]:
        """Return a function that makes an object of a resource's or sub-resource's kind canonical, with all defaults.

        It raises BadRequest (400) for anything else.
        """

    async def run(self, size_bytes: int, work: Callable[[], T]) -> T:
        """Return the result of `work`, a pure computation on `size_bytes` of input.

        Raises what `work` raises, and TooManyRequests (429).
        """


@attrs.define(slots=True, kw_only=True, eq=False)
class Attributes:
    """One write of one object.

    `resource` is the requested resource, in the requested version. `obj` and `old` are of `kind`: the resource's, or
    that of a sub-resource with its own kind, such as scale or eviction. `obj` is None for DELETE, `old` for CREATE
    and CONNECT; neither may be changed in place. A mutating plugin changes the copy that `edit` returns, or assigns
    another object to `obj`, which need not be canonical. `changes` counts changes of all kinds. `canonical`: the
    object is still canonical, with its defaults, as it was when admission began.

    `size_bytes` is the approximate size of the object. `given_options` are the request's parsed options. `round` is 1
    in the second round of the mutating plugins, else 0; `carried` is state between the rounds, for the plugins
    that request the second.
    """

    operation: Operation
    resource: ResourceType
    namespace: str
    name: str
    user: UserInfo
    surface: Surface
    subresource: str = ""
    _obj: Object | None = attrs.field(default=None, alias="obj")
    old: Object | None = None
    dry_run: bool = False
    given_options: WriteOptions | DeleteOptions | None = None
    request: Request | None = None
    size_bytes: int = 0
    changes: int = attrs.field(default=0, init=False)
    canonical: bool = attrs.field(default=True, init=False)
    finished: bool = attrs.field(default=False, init=False)
    round: int = attrs.field(default=0, init=False)
    carried: Any = attrs.field(default=None, init=False)
    _again: bool = attrs.field(default=False, init=False)
    _edited: Object | None = attrs.field(default=None, init=False)
    _endings: list[Callable[[], None]] | None = attrs.field(default=None, init=False)

    @property
    def obj(self) -> Object | None:
        """The new object; None for DELETE."""
        return self._obj

    @obj.setter
    def obj(self, obj: Object) -> None:
        self.fill(obj)
        self.canonical = False

    def fill(self, obj: Object) -> None:
        """Replace the object by `obj`, which must be as canonical as the one before: this is not checked.

        It may share unchanged parts. Raises TypeError in the validating pass, and for a write without an object.
        """
        if self.finished or self._obj is None:
            raise TypeError("only a mutating plugin may change the object, and only if there is one")
        self._obj = obj
        self.changes += 1

    @property
    def kind(self) -> GroupVersionKind:
        """The kind of `obj` and `old`: the resource's, or the sub-resource's own."""
        return kind_of(self.resource, self.subresource)

    @property
    def options(self) -> Object | None:
        """The CreateOptions, UpdateOptions or DeleteOptions of the request; None for CONNECT."""
        if self.given_options is None:
            return None
        return options_object(self.operation, self.given_options, self.surface.meta_group)

    @property
    def shown_name(self) -> str:
        """Return the name for refusals: the name, else the generateName, else `Unknown` (reference ADM-9)."""
        meta: Object = (self.obj or {}).get("metadata", {})
        return self.name or meta.get("name") or meta.get("generateName") or "Unknown"

    def forbidden(self, why: str, causes: Sequence[Cause] = ()) -> Forbidden:
        """Return a Forbidden (403) for this write, for a plugin to raise."""
        return Forbidden.of(self.resource.plural, self.resource.group, self.shown_name, why, causes)

    def warn(self, text: str) -> None:
        """Send `text` to the client in a Warning header, whatever the outcome of the write."""
        if self.request is not None:
            self.request.warnings.append(text)

    def annotate(self, key: str, value: str, *, detailed: bool = False) -> bool:
        """Annotate the request's audit events, from level Metadata on, or, if `detailed`, from level Request on.

        The first value of a key stays (reference HOOK-25). Returns False, and adds nothing, for a key that is not of
        the form `prefix/name` (reference ADM-19).
        """
        if "/" not in key or qualified_name(key):
            return False
        if self.request is not None:
            found = self.request.detailed_annotations if detailed else self.request.annotations
            found.setdefault(key, value)
        return True

    async def until_known(self, due: Awaitable[T]) -> T:
        """Return the result of `due`, which waits for a cache to be current.

        Raises Forbidden (403) if that takes too long (reference ADM-7).
        """
        try:
            return await due
        except Timeout:
            raise self.forbidden(NOT_READY) from None

    async def find(self, lister: Lister[T], namespace: str, name: str) -> T | None:
        """Return a lister's value of an object, or None; a miss is repeated once the cache is current.

        Raises Forbidden (403) if that takes too long (reference ADM-7).
        """
        found = lister.get(namespace, name)
        if found is None and (due := lister.due()) is not None:
            await self.until_known(due)
            found = lister.get(namespace, name)
        return found

    async def edit(self) -> Object:
        """Return a copy of the object for a mutating plugin to change in place; `obj` is this copy from now on."""
        if self._edited is None or self._edited is not self._obj:
            self._edited = await self.surface.copy(self._obj or {}, self.size_bytes)
        self.obj = self._edited
        return self._edited

    def request_reinvocation(self) -> None:
        """Request a second round of all mutating plugins that handle the write, the caller included.

        In the second round this has no effect: there is no third (reference ADM-18).
        """
        self._again = True

    def begins_again(self) -> bool:
        """Begin the second round if one was requested, and report whether it was."""
        if not self._again or self.round:
            return False
        self.round = 1
        return True

    def finish(self, obj: Object) -> None:
        """Set the object and its name as they will be stored, for the validating pass; it is final."""
        self._obj = obj
        self.name = self.name or obj.get("metadata", {}).get("name", "")
        self.finished = True

    def on_end(self, ended: Callable[[], None]) -> None:
        """Call `ended` when this write has ended, whatever its outcome: a stored object is visible by then.

        For validating plugins, in creates and updates of stored objects. A retried update is another write.
        """
        if self._endings is None:
            self._endings = []
        self._endings.append(ended)

    def release(self) -> None:
        """Release the objects: all plugins have seen them, and only `end` is still to come."""
        self._obj = self.old = self._edited = None

    def end(self) -> None:
        """Call the functions given to `on_end`."""
        endings, self._endings = self._endings, None
        for ended in endings or ():
            ended()

    def equivalents(self) -> Mapping[str, ResourceType]:
        """Return the resources through which the same object can be written, by apiVersion."""
        return self.surface.equivalents(self.resource)

    async def converted(self, resource: ResourceType) -> Attributes:
        """Return this write as if it had come through `resource`, one of the equivalents. Raises BadRequest (400).

        Changes to it take effect through `adopt`.
        """
        other = attrs.evolve(self, resource=resource)
        if other.kind != self.kind:
            convert, size = self.surface.convert, self.size_bytes
            obj = None if self.obj is None else await convert(self.obj, self.resource, resource, size)
            old = None if self.old is None else await convert(self.old, self.resource, resource, size)
            other = attrs.evolve(other, obj=obj, old=old)
        other.finished, other.round, other.canonical = self.finished, self.round, self.canonical
        return other

    async def adopt(self, other: Attributes) -> None:
        """Apply the changes of a write that `converted` returned, if any. Raises BadRequest (400)."""
        if not other.changes or other.obj is None:
            return
        if other.kind == self.kind:
            self.obj = other.obj
        else:
            self.obj = await self.surface.convert(other.obj, other.resource, self.resource, self.size_bytes)


def kind_of(resource: ResourceType, subresource: str) -> GroupVersionKind:
    """Return the kind of the objects that are written through a resource or its sub-resource."""
    for sub in resource.subresources:
        if sub.name == subresource:
            return GroupVersionKind(group=sub.group, version=sub.version, kind=sub.kind)
    return GroupVersionKind(group=resource.group, version=resource.version, kind=resource.kind)
