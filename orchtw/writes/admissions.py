"""Admission as writes pass it: the chain, and what it is shown of each write."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import attrs

from orchtw.admission.attributes import Attributes, Operation, Surface
from orchtw.admission.chain import NOBODY, AdmissionPlan, Chain
from orchtw.registry.identity import match_shown
from orchtw.registry.offload import Offload
from orchtw.registry.write import Write
from orchtw.request import Request, UserInfo
from orchtw.rules.options import DeleteOptions, WriteOptions
from orchtw.schema.catalogue import ResourceType
from orchtw.schema.codec.codecs import KindCodec
from orchtw.wire.objects import Object

Settle = Callable[[Object], None]
"""Completes an object in place, and refuses it by raising a StatusError."""


def as_it_is(obj: Object) -> None:
    """There is nothing to check or complete."""


@attrs.frozen(slots=True, kw_only=True)
class Submission:
    """A request whose own object is not stored: an Eviction, a Binding, a review, the options of an exec.

    `obj` is canonical. `options` are None for CONNECT.
    """

    operation: Operation
    resource: ResourceType
    namespace: str
    name: str
    user: UserInfo
    subresource: str = ""
    obj: Object
    options: WriteOptions | None
    request: Request


class Admission:
    """One write on its way through the chain. `validates`: there are plugins that look at the finished object."""

    __slots__ = ("_attributes", "_plan", "_wanted", "_write", "validates")

    def __init__(self, write: Write, plan: AdmissionPlan, attributes: Attributes, wanted: Object) -> None:
        self._write = write
        self._plan = plan
        self._attributes = attributes
        self._wanted = wanted
        self.validates = bool(plan.validating)

    def admit(self) -> Awaitable[None]:
        """Run the mutating half; the first refusal ends the write."""
        return self._plan.mutating.run(self._attributes)

    def outcome(self) -> Object:
        """The wanted object as the mutating plugins left it: canonical, with defaults, in the target's version.

        Raises BadRequest (400) where a plugin left what is no object of the kind, and what a view raises; of a view
        that it is another object's BadRequest and Conflict (409).
        """
        attributes, view = self._attributes, self._write.view
        if not attributes.changes or attributes.obj is None:
            return self._wanted
        if view is not None:
            outcome = view.absorb(self._wanted, attributes.obj)
            match_shown(self._write, attributes.obj, self._wanted)
            return outcome
        if attributes.canonical:
            return attributes.obj
        target = self._write.target
        obj = _canonical(target.codec, attributes.obj)
        target.complete(obj)
        return obj

    def finish(self, obj: Object) -> None:
        """Show `obj`, a draft, to validating plugins."""
        served, view = self._write.target.shown_draft(obj), self._write.view
        self._attributes.finish(view.show(served) if view else served)

    def validate(self) -> Awaitable[None]:
        """Run the validating half; the first refusal ends the write."""
        return self._plan.validating.run(self._attributes)

    def release(self) -> None:
        """Hold the objects no longer: all plugins have seen them."""
        self._wanted = {}
        self._attributes.release()

    def end(self) -> None:
        """The write has ended."""
        self._attributes.end()


class Admissions:
    """Shows writes to the plugins of a chain; what is large is made ready for them off the reactor.

    `metrics` is what the chain measures.
    """

    def __init__(self, chain: Chain, surface: Surface, offload: Offload) -> None:
        self._chain = chain
        self._surface = surface
        self._run = offload.run
        self.metrics = chain.metrics

    def of(
        self, write: Write, operation: Operation, wanted: Object, old: Object | None, size_bytes: int
    ) -> Admission | None:
        """The admission of a create or update, None if no plugin handles it; objects are in the target's version."""
        plan = self._plan(write, operation)
        if plan.empty:
            return None
        show = write.view.show if write.view else _same
        attributes = self._attributes(write, operation, show(wanted), None if old is None else show(old), size_bytes)
        return Admission(write, plan, attributes, wanted)

    async def deleting(self, write: Write, old: Object, options: DeleteOptions, size_bytes: int) -> None:
        """Ask both halves about the end of `old`, a draft. Raises what plugins raise."""
        plan = self._plan(write, "DELETE")
        if plan.empty:
            return
        target = write.target
        shown = old if target.from_storage is None else await self._run(size_bytes, lambda: target.shown_draft(old))
        attributes = self._attributes(write, "DELETE", None, shown, size_bytes)
        attributes.given_options = options
        await plan.both(attributes)

    async def permit(self, asked: Submission, codec: KindCodec, settle: Settle = as_it_is) -> Object:
        """Ask both halves about an object that is not stored; returns it as it is after them.

        `codec` is that of its kind. Between the halves `settle` completes the object in place and rejects an
        invalid one, whether the client or a plugin has made it so. Raises what plugins and `settle` raise, and
        BadRequest (400) where plugins left no such object.
        """
        plan, obj = self._chain.plan(asked.operation, asked.resource, asked.subresource), asked.obj
        if plan.empty:
            settle(obj)
            return obj
        attributes = self._submitted(asked)
        await plan.mutating.run(attributes)
        changed = attributes.obj if attributes.changes else None
        if changed is not None:
            obj = await self._run(attributes.size_bytes, lambda: _canonical(codec, changed))
        settle(obj)
        attributes.finish(obj)
        await plan.validating.run(attributes)
        return obj

    def _submitted(self, asked: Submission) -> Attributes:
        meta = asked.obj.get("metadata")
        if asked.operation == "CREATE" and asked.namespace and type(meta) is dict:
            meta.setdefault("namespace", asked.namespace)
        return Attributes(
            operation=asked.operation,
            resource=asked.resource,
            namespace=asked.namespace,
            name=asked.name,
            user=asked.user,
            surface=self._surface,
            subresource=asked.subresource,
            obj=asked.obj,
            dry_run=asked.options is not None and asked.options.dry_run,
            given_options=asked.options,
            request=asked.request,
            size_bytes=len(asked.request.body),
        )

    def _plan(self, write: Write, operation: Operation) -> AdmissionPlan:
        if write.admitted:
            return NOBODY
        return self._chain.plan(operation, write.target.resource, write.subresource)

    def _attributes(
        self, write: Write, operation: Operation, obj: Object | None, old: Object | None, size_bytes: int
    ) -> Attributes:
        """On a collection the name is the object's own, if it has one; a Namespace is in itself, as in its path."""
        resource = write.target.resource
        name = write.name or ("" if obj is None else obj["metadata"].get("name", ""))
        return Attributes(
            operation=operation,
            resource=resource,
            namespace=name if resource.qualified == "namespaces" else write.namespace,
            name=name,
            user=write.user,
            surface=self._surface,
            subresource=write.subresource,
            obj=obj,
            old=old,
            dry_run=write.dry_run,
            given_options=write.options,
            request=write.request,
            size_bytes=size_bytes,
        )


def _canonical(codec: KindCodec, obj: Object) -> Object:
    """An object that a plugin has changed in canonical form, with its declared defaults. Raises BadRequest (400)."""
    found = codec.normalise(obj)
    codec.set_defaults(found)
    return found


def _same(obj: Object) -> Object:
    return obj
