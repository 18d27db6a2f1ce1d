"""One request that has been resolved to a resource: what every verb gets."""

from __future__ import annotations

import attrs

from orchtw.apply.managed import manager_name
from orchtw.registry.target import Target
from orchtw.registry.write_path import Write
from orchtw.request import Request, RequestInfo, UserInfo
from orchtw.rules.negotiation import Negotiated


@attrs.frozen(slots=True, kw_only=True, eq=False)
class Call:
    """The request, what it names, and the format of its answer."""

    request: Request
    info: RequestInfo
    user: UserInfo
    target: Target
    accept: Negotiated

    def write(
        self,
        *,
        dry_run: bool,
        name: str = "",
        namespace: str = "",
        from_live: bool = False,
        applies: bool = False,
    ) -> Write:
        """The write that this call stands for; `name` and `namespace` where the path has none.

        `from_live` and `applies` are those of `Write`.
        """
        request = self.request
        return Write(
            target=self.target,
            namespace=(namespace or self.info.namespace) if self.target.resource.namespaced else "",
            name=name or self.info.name,
            user=self.user,
            subresource=self.info.subresource,
            dry_run=dry_run,
            from_live=from_live,
            manager=manager_name(request.param("fieldManager"), request.headers.get("user-agent", "")),
            applies=applies,
            size_bytes=len(request.body),
        )
