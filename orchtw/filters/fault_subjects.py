"""Objects of requests that fault rules select by name or labels: the stored one, or that in the body of a create."""

from __future__ import annotations

from functools import partial

from orchtw.errors import StatusError
from orchtw.faults.rule import FaultSubject
from orchtw.registry.offload import Offload
from orchtw.registry.target import Target
from orchtw.registry.targets import Targets
from orchtw.request import Request, RequestInfo
from orchtw.rules.negotiation import Negotiator
from orchtw.schema.codec.body import read_body
from orchtw.schema.codec.strict_fields import IGNORE


class FaultSubjects:
    """Finder of the objects that requests are for."""

    def __init__(self, targets: Targets, offload: Offload, negotiator: Negotiator) -> None:
        self._targets = targets
        self._offload = offload
        self._negotiator = negotiator

    async def of(self, request: Request, info: RequestInfo) -> FaultSubject:
        """Return name and labels of a request's object.

        A create is for the object in its body; all others are for the stored one, whatever their body says. Where
        there is none, it cannot be read, or another server keeps it, there are no labels.
        """
        target = self._targets.find(info.group, info.version, info.resource)
        if target is None:
            return FaultSubject(name=info.name)
        try:
            if info.verb == "create" and not info.subresource:
                return await self._sent(request, target)
            return _stored(target, info)
        except StatusError:  # the request itself is told of it
            return FaultSubject(name=info.name)

    async def _sent(self, request: Request, target: Target) -> FaultSubject:
        codec, body = target.codec, request.body
        form = self._negotiator.body_format(request.headers.get("content-type", ""), protobuf=codec.protobuf)
        work = partial(read_body, codec, body, form, IGNORE)
        obj, _ = await self._offload.run(codec.work_bytes(len(body)), work)
        meta = obj.get("metadata") or {}
        return FaultSubject(name=meta.get("name") or "", labels=meta.get("labels") or {})


def _stored(target: Target, info: RequestInfo) -> FaultSubject:
    entry = target.stored.get(info.namespace, info.name)
    return FaultSubject(name=info.name, labels={} if entry is None else entry.labels)
