"""Request resolved to a resource: the argument of every verb."""

from __future__ import annotations

import msgspec

from orchtw.admission.attributes import Operation
from orchtw.apply.managed_fields import manager_name
from orchtw.registry.target import Target
from orchtw.registry.write import Write, WriteView
from orchtw.request import Request, RequestInfo, UserInfo
from orchtw.rules.delete_options import DeleteOptions
from orchtw.rules.negotiation import Negotiated
from orchtw.rules.write_options import WriteOptions
from orchtw.wire.objects import Object
from orchtw.writes.admissions import Submission


class VerbCall(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A request, its target, and the format of its response."""

    request: Request
    info: RequestInfo
    user: UserInfo
    target: Target
    accept: Negotiated

    def write(
        self,
        options: WriteOptions | DeleteOptions,
        *,
        name: str = "",
        namespace: str = "",
        from_live: bool = False,
        shares: bool = False,
        whole: bool = False,
        applies: bool = False,
        view: WriteView | None = None,
        admitted: bool = False,
    ) -> Write:
        """Return the write of this call; `name` and `namespace` are for paths without them.

        `from_live`, `shares`, `whole`, `applies`, `view` and `admitted` are those of `Write`.
        """
        request = self.request
        return Write(
            target=self.target,
            namespace=(namespace or self.info.namespace) if self.target.resource.namespaced else "",
            name=name or self.info.name,
            user=self.user,
            subresource=self.info.subresource,
            dry_run=options.dry_run,
            from_live=from_live,
            shares=shares,
            whole=whole,
            manager=manager_name(request.param("fieldManager"), request.headers.get("user-agent", "")),
            applies=applies,
            size_bytes=len(request.body),
            options=options,
            request=request,
            view=view,
            admitted=admitted,
        )

    def submission(self, operation: Operation, obj: Object, options: WriteOptions | None = None) -> Submission:
        """Return what admission checks of a call whose own object is not stored, such as an Eviction."""
        return Submission(
            operation=operation,
            resource=self.target.resource,
            namespace=self.info.namespace if self.target.resource.namespaced else "",
            name=self.info.name,
            user=self.user,
            subresource=self.info.subresource,
            obj=obj,
            options=options,
            request=self.request,
        )
