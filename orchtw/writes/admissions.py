"""Admission of writes: the chain, and the objects that it is shown."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from orchtw.admission.attributes import Attributes, Operation, Surface
from orchtw.admission.chain import NOBODY, AdmissionPlan, Chain
from orchtw.registry.offload import Offload
from orchtw.registry.write import Write
from orchtw.request import Request, UserInfo
from orchtw.rules.delete_options import DeleteOptions
from orchtw.rules.write_options import WriteOptions
from orchtw.schema.catalogue import ResourceType
from orchtw.schema.codec.body import fit_own
from orchtw.schema.codec.codec import Codec
from orchtw.wire.objects import Object
from orchtw.writes.identity import match_shown

Settle = Callable[[Object], None]
"""Completes an object in place, and raises a StatusError to reject it."""


def as_it_is(obj: Object) -> None:
    """Leave an object as it is: there is nothing to check or complete."""


class Submission(msgspec.Struct, frozen=True, kw_only=True):
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
    """One write on its way through the chain. `validates`: some plugins check the finished object."""

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
        """Return the wanted object as the mutating plugins left it: canonical, with defaults, in the target's
        version.

        Raises BadRequest (400) if a plugin left something else than an object of the kind, what a view raises, and
        BadRequest or Conflict (409) if the view is another object's.
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
        obj = fit_own(target.codec, attributes.obj)
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
        """Release the objects: all plugins have seen them."""
        self._wanted = {}
        self._attributes.release()

    def end(self) -> None:
        """End the admission with the write."""
        self._attributes.end()


class Admissions:
    """Admission of writes by the plugins of a chain; large objects are prepared off the reactor. `metrics` is the
    chain's.
    """

    def __init__(self, chain: Chain, surface: Surface, offload: Offload) -> None:
        self._chain = chain
        self._surface = surface
        self._run = offload.run
        self.metrics = chain.metrics

    def of(
        self, write: Write, operation: Operation, wanted: Object, old: Object | None, size_bytes: int
    ) -> Admission | None:
        """Return the admission of a create or update, None if no plugin handles it; objects are in the target's
        version.
        """
        plan = self._plan(write, operation)
        if plan.empty:
            return None
        show = write.view.show if write.view else _same
        attributes = self._attributes(write, operation, show(wanted), None if old is None else show(old), size_bytes)
        return Admission(write, plan, attributes, wanted)

    async def in_force(self) -> None:
        """Return when all plugins decide by the objects that the caches have."""
        await self._chain.in_force()

    async def deleting(self, write: Write, old: Object, options: DeleteOptions, size_bytes: int) -> None:
        """Run both halves on the deletion of `old`, a draft. Raises what plugins raise."""
        plan = self._plan(write, "DELETE")
        if plan.empty:
            return
        target = write.target
        shown = old if target.from_storage is None else await self._run(size_bytes, lambda: target.shown_draft(old))
        attributes = self._attributes(write, "DELETE", None, shown, size_bytes)
        attributes.given_options = options
        await plan.both(attributes)

    async def permit(self, asked: Submission, codec: Codec, settle: Settle = as_it_is) -> Object:
        """Run both halves on an object that is not stored; returns it as they leave it.

        `codec` is that of its kind. Between the halves `settle` completes the object in place and rejects an invalid
        one, whether the client or a plugin has made it so. Raises what plugins and `settle` raise, and BadRequest
        (400) if plugins left something else.
        """
        plan, obj = self._chain.plan(asked.operation, asked.resource, asked.subresource), asked.obj
        if plan.empty:
            settle(obj)
            return obj
        attributes = self._submitted(asked)
        await plan.mutating.run(attributes)
        changed = attributes.obj if attributes.changes else None
        if changed is not None:
            obj = await self._run(attributes.size_bytes, lambda: fit_own(codec, changed))
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
        """Return the attributes of a write: a collection's name is the object's own; a Namespace lies in itself."""
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


def _same(obj: Object) -> Object:
    return obj
