"""Ground of reviews, which are answered and not stored: reading with admission, and answering (reference REQ-2)."""

from __future__ import annotations

import msgspec

from orchtw.registry.offload import Offload
from orchtw.request import Request, RequestInfo, Response, UserInfo
from orchtw.responses.accept import Acceptance
from orchtw.responses.representation import Representations
from orchtw.rules.negotiation import Negotiator
from orchtw.rules.write_options import create_options
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.codec.kind_codec import KindCodec
from orchtw.verbs.request_bodies import read
from orchtw.wire.objects import Object
from orchtw.writes.admissions import Admissions, Submission


class Reviews(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Services for the reviews of every kind."""

    codecs: Codecs
    negotiator: Negotiator
    acceptance: Acceptance
    representations: Representations
    offload: Offload
    admissions: Admissions

    async def read(self, request: Request, kind: str) -> Object:
        """Return the review as admission leaves it. Raises BadRequest (400), Invalid (422) and what plugins raise."""
        info, user, catalogue = request.info, request.user, self.codecs.catalogue
        assert info is not None and user is not None
        options = create_options(request.params, catalogue.naming)
        codec = self._codec(info, kind)
        review = await read(self.offload, request, codec, self.negotiator)
        resource = catalogue.find(info.group, info.version, info.resource)
        assert resource is not None
        asked = Submission(
            operation="CREATE",
            resource=resource,
            namespace=info.namespace,
            name=review["metadata"].get("name", ""),
            user=user,
            obj=review,
            options=options,
            request=request,
        )
        return await self.admissions.permit(asked, codec)

    def answer(self, request: Request, review: Object, status: Object) -> Response:
        """Return the review with its status, 201."""
        assert request.info is not None
        codec = self._codec(request.info, review["kind"])
        answer = codec.normalise({**review, "status": status})
        return self.representations.obj(answer, self.acceptance.plain(request), 201)

    def _codec(self, info: RequestInfo, kind: str) -> KindCodec:
        return self.codecs.kind(f"{info.group}/{info.version}", kind)


def user_json(user: UserInfo) -> Object:
    """Return a user as a `UserInfo` of the API group authentication."""
    extra = {key: list(values) for key, values in user.extra.items()}
    return {"username": user.name, "uid": user.uid, "groups": list(user.groups), "extra": extra}
