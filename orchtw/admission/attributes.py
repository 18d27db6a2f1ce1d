"""Attributes of one write, as admission plugins see and change it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, Literal, Protocol, TypeVar

import attrs

from orchtw.admission.shown_options import options_object
from orchtw.errors import Cause, Forbidden, Timeout
from orchtw.request import Request, UserInfo
from orchtw.rules.options import DeleteOptions, WriteOptions
from orchtw.schema.catalogue import GroupVersionKind, ResourceType
from orchtw.values.names import qualified_name
from orchtw.wire.objects import Object

T = TypeVar("T")

Operation = Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]

NOT_READY: Final = "not yet ready to handle request"


class Surface(Protocol):
    """API of the server for admission beyond one write. Large objects are worked on off the reactor."""

    @property
    def meta_group(self) -> str:
        """The API group of the options' kinds."""

    def equivalents(self, resource: ResourceType) -> Mapping[str, ResourceType]:
        """The served resources behind which the same objects are stored, `resource` among them, by apiVersion."""

    async def convert(self, obj: Object, source: ResourceType, wanted: ResourceType, size_bytes: int) -> Object:
        """`obj`, which may be a hand-made one of `source`, as canonical object of `wanted`.

        Raises BadRequest (400) for what is no object of `source`.
        """

    async def copy(self, obj: Object, size_bytes: int) -> Object:
        """An object that shares nothing with `obj`."""

    def reader(self, resource: ResourceType, subresource: str) -> Callable[[Object], Object]:
        """Return a function that makes an object of a resource's or sub-resource's kind canonical, with all defaults.

        It raises BadRequest (400) for anything else.
        """

    async def run(self, size_bytes: int, work: Callable[[], T]) -> T:
        """The result of a pure computation on so many bytes. Raises what it raises, and TooManyRequests (429)."""


@attrs.define(slots=True, kw_only=True, eq=False)
class Attributes:
    """One write of one object.

    `resource` is what the request named, in its own version; `obj` and `old` are in that version too. At a
    sub-resource with a kind of its own, such as scale or eviction, they are of that kind, as `kind` says. `obj` is
    None for DELETE, `old` for CREATE and CONNECT; both are to be read only. A mutating plugin changes what `edit`
    returns, or assigns another object to `obj`; it need not be canonical. `changes` counts both. `canonical`: the
    object still is, with its defaults, as it was when admission began.

    `size_bytes` is about how large the object is. `given_options` are the request's options as they were parsed.
    `round` is 1 when the mutating plugins are asked again, else 0; `carried` is for the plugin that asked for it.
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
        """Let `obj` be the object from now on, which must be as canonical as the one before: nobody looks again.

        It may share what it does not change.
        """
        if self.finished or self._obj is None:
            raise TypeError("only a mutating plugin may change an object, and only one that there is")
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
        """Return the name for refusals: the prefix if the name is yet to be generated (reference ADM-9)."""
        meta: Object = (self.obj or {}).get("metadata", {})
        return self.name or meta.get("name") or meta.get("generateName") or "Unknown"

    def forbidden(self, why: str, causes: Sequence[Cause] = ()) -> Forbidden:
        """The refusal (403) of this write for a plugin to raise."""
        return Forbidden.of(self.resource.plural, self.resource.group, self.shown_name, why, causes)

    def warn(self, text: str) -> None:
        """Tell the client `text` in a Warning header, whatever becomes of the write."""
        if self.request is not None:
            self.request.warnings.append(text)

    def annotate(self, key: str, value: str, *, detailed: bool = False) -> bool:
        """Add an annotation to the request's audit event, a `detailed` one if the event shows the request's body.

        The first value of a key stays (reference HOOK-25). False: the key is not of the form `prefix/name`, and
        nothing is added (reference ADM-19).
        """
        if "/" not in key or qualified_name(key):
            return False
        if self.request is not None:
            found = self.request.detailed_annotations if detailed else self.request.annotations
            found.setdefault(key, value)
        return True

    async def until_known(self, due: Awaitable[None]) -> None:
        """Wait for `due`, which is what a cache wants awaited before it says that something is not there.

        Forbidden (403): it takes the cache too long (reference ADM-7).
        """
        try:
            await due
        except Timeout:
            raise self.forbidden(NOT_READY) from None

    async def edit(self) -> Object:
        """The object for a mutating plugin to change in place: a copy of its own, which is `obj` from now on."""
        if self._edited is None or self._edited is not self._obj:
            self._edited = await self.surface.copy(self._obj or {}, self.size_bytes)
        self.obj = self._edited
        return self._edited

    def request_reinvocation(self) -> None:
        """Let all mutating plugins that see such writes be asked once more when the round is over, this one too.

        In the second round nothing comes of it: there is no third (reference ADM-18).
        """
        self._again = True

    def begins_again(self) -> bool:
        """Report whether another round is to come, and begin it."""
        if not self._again or self.round:
            return False
        self.round = 1
        return True

    def finish(self, obj: Object) -> None:
        """Show validating plugins the object as it is to be stored, with its name; it cannot be changed any more."""
        self._obj = obj
        self.name = self.name or obj.get("metadata", {}).get("name", "")
        self.finished = True

    def on_end(self, ended: Callable[[], None]) -> None:
        """Call `ended` when this write has ended, whatever has become of it: what is stored can be seen then.

        For validating plugins, in creates and updates of what is stored. An update that is tried again is another
        write.
        """
        if self._endings is None:
            self._endings = []
        self._endings.append(ended)

    def release(self) -> None:
        """Hold the objects no longer: all plugins have seen them, and it is only the end that is waited for."""
        self._obj = self.old = self._edited = None

    def end(self) -> None:
        """The write has ended."""
        endings, self._endings = self._endings, None
        for ended in endings or ():
            ended()

    def equivalents(self) -> Mapping[str, ResourceType]:
        """The resources through which others may write the same object, by apiVersion."""
        return self.surface.equivalents(self.resource)

    async def converted(self, resource: ResourceType) -> Attributes:
        """This write as if it had come through `resource`, one of the equivalents. Changes to it need `adopt`."""
        other = attrs.evolve(self, resource=resource)
        if other.kind != self.kind:
            convert, size = self.surface.convert, self.size_bytes
            obj = None if self.obj is None else await convert(self.obj, self.resource, resource, size)
            old = None if self.old is None else await convert(self.old, self.resource, resource, size)
            other = attrs.evolve(other, obj=obj, old=old)
        other.finished, other.round = self.finished, self.round
        return other

    async def adopt(self, other: Attributes) -> None:
        """Take over the changes that were made to what `converted` returned, if any. Raises BadRequest (400)."""
        if not other.changes or other.obj is None:
            return
        if other.kind == self.kind:
            self.obj = other.obj
        else:
            self.obj = await self.surface.convert(other.obj, other.resource, self.resource, self.size_bytes)


def kind_of(resource: ResourceType, subresource: str) -> GroupVersionKind:
    """The kind that is written through a resource, or through a sub-resource of it."""
    for sub in resource.subresources:
        if sub.name == subresource:
            return GroupVersionKind(group=sub.group, version=sub.version, kind=sub.kind)
    return GroupVersionKind(group=resource.group, version=resource.version, kind=resource.kind)
