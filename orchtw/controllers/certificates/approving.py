"""Approver of nodes' requests for client certificates, if they have the right (reference CTRL-30)."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator
from typing import Final

from orchtw.client.work_queue import Backoff, Retry
from orchtw.controllers.certificates import request_state as state
from orchtw.controllers.certificates.requests import RequestController
from orchtw.controllers.certificates.signer_rules import why_not_node_client
from orchtw.controllers.controller import ControllerHost
from orchtw.pki.cluster_signing import NODE_CLIENT
from orchtw.request import RequestInfo, UserInfo
from orchtw.rules.certificate_requests import CertificateRequest, read_request
from orchtw.wire.objects import Object

CONCURRENCY: Final = 5
REVIEWED: Final = Backoff(first_s=0.2, limit_s=1000.0)
"""Delay between looks at a request whose sender may get the right later."""

_REASON: Final = "AutoApproved"
_OWN, _ANY = "selfnodeclient", "nodeclient"
_MESSAGES: Final = {
    _OWN: "Auto approving self orchlet client certificate after SubjectAccessReview.",
    _ANY: "Auto approving orchlet client certificate after SubjectAccessReview.",
}


class Approver(RequestController):
    """Approver that checks the rights of the senders of nodes' requests."""

    name = "csrapproving"
    backoff = REVIEWED

    def __init__(self, host: ControllerHost) -> None:
        super().__init__(host, CONCURRENCY)
        self._signer = host.naming.translate(NODE_CLIENT)

    async def look_at(self, name: str, request: Object) -> None:
        """Approve a node's request if its sender may; Retry: it is undecided, and the sender has no right (yet)."""
        spec = request["spec"]
        decided = state.has(request, state.APPROVED, state.DENIED) or state.certificate(request)
        if decided or spec.get("signerName") != self._signer:
            return
        asked = _readable(spec)
        if asked is None or why_not_node_client(asked, spec.get("usages") or ()):
            return
        for right in _rights(asked, spec):
            if await self.host.access.allowed(_sender(spec), self._asked(right)):
                message = self.host.naming.translate_text(_MESSAGES[right])
                approved = state.with_condition(request, state.APPROVED, _REASON, message)
                await self.client.update(self.requests, "", name, approved, "approval")
                return
        raise Retry("the requester is not authorized for approval")

    def _asked(self, right: str) -> RequestInfo:
        return RequestInfo(
            is_resource=True,
            verb="create",
            path="",
            group=self.group,
            resource=self.requests.plural,
            subresource=right,
        )


def _readable(spec: Object) -> CertificateRequest | None:
    """Parse the request; None if it cannot be read, and so is not a node's."""
    try:
        return read_request(b64decode(spec["request"]))
    except ValueError:
        return None


def _rights(asked: CertificateRequest, spec: Object) -> Iterator[str]:
    """Yield the rights of which the sender needs one: for its own name there is a separate right."""
    if asked.common_name == spec.get("username"):
        yield _OWN
    yield _ANY


def _sender(spec: Object) -> UserInfo:
    extra = {key: tuple(values) for key, values in (spec.get("extra") or {}).items()}
    groups = tuple(spec.get("groups") or ())
    return UserInfo(name=spec.get("username", ""), uid=spec.get("uid", ""), groups=groups, extra=extra)
