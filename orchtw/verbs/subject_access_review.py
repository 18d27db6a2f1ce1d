"""Reviews, which are answered and not stored: access reviews and token reviews (reference REQ-2, AUTHZ-26,
AUTHN-44).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Final

import msgspec

from orchtw.authn.method import TokenReviewer
from orchtw.authz.decision import Authorizer, Decision, UserRules
from orchtw.errors import BadRequest, Cause, Invalid, Unauthorized
from orchtw.registry.metadata import rfc3339
from orchtw.registry.offload import Offload
from orchtw.request import Request, RequestInfo, Response, UserInfo
from orchtw.responses.accept import Acceptance
from orchtw.responses.representation import Representations
from orchtw.rules.negotiation import Negotiator
from orchtw.rules.selector_attributes import selector_texts
from orchtw.rules.write_options import create_options
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.codec.kind_codec import KindCodec
from orchtw.verbs.request_bodies import read
from orchtw.verbs.subject_access_review_validation import access_causes, local_access_causes
from orchtw.wire.objects import Object
from orchtw.writes.admissions import Admissions, Submission

Review = Callable[[Request], Awaitable[Response]]

AUDIENCES: Final = 1000
"""Audiences in one review: each source of tokens checks all of them."""

REASONS: Final = 1024
"""Characters of the error about a rejected token."""

RULE_BYTES: Final = 512
NAME_BYTES: Final = 16
"""Bytes that a rule and each of its resources and names count as: many are encoded off the reactor."""


class Reviews(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Handlers of reviews, with the same authorizer and sources of tokens that requests pass."""

    codecs: Codecs
    negotiator: Negotiator
    acceptance: Acceptance
    representations: Representations
    authorizer: Authorizer
    tokens: TokenReviewer
    offload: Offload
    admissions: Admissions
    now: Callable[[], float]

    def by_plural(self) -> Mapping[str, Review]:
        """Return the handler of each kind of review by its plural."""
        return {
            "tokenreviews": self.token,
            "subjectaccessreviews": self.subject_access,
            "selfsubjectaccessreviews": self.self_access,
            "localsubjectaccessreviews": self.local_access,
            "selfsubjectrulesreviews": self.self_rules,
            "selfsubjectreviews": self.self_subject,
        }

    async def token(self, request: Request) -> Response:
        """Authenticate the token of a TokenReview (reference AUTHN-50). 201; BadRequest (400) without a token."""
        review = await self._read(request, "TokenReview")
        token = review["spec"].get("token", "")
        if not token:
            raise BadRequest("token is required for TokenReview in authentication")
        if namespace := review["metadata"].get("namespace"):
            raise BadRequest(f"namespace is not allowed on this type: {namespace}")
        asked = review["spec"].get("audiences") or ()
        if len(asked) > AUDIENCES:
            raise BadRequest(f"spec.audiences: Too many: {len(asked)}: must have at most {AUDIENCES} items")
        try:
            user, audiences = await self.tokens.whose(token, asked)
        except Unauthorized as refusal:
            return self._answer(request, review, {"user": {}, "error": refusal.why[:REASONS]})
        status = {"authenticated": True, "user": _user_json(user), "audiences": list(audiences)}
        return self._answer(request, review, status)

    async def subject_access(self, request: Request) -> Response:
        """Answer if a subject may do something: 201. Raises Invalid (422) for an incomplete question."""
        review = await self._read(request, "SubjectAccessReview")
        _refuse(request, access_causes(review, subject=True))
        return await self._decide(request, review, _subject(review["spec"]))

    async def self_access(self, request: Request) -> Response:
        """Answer if the requester may do something: 201. Raises Invalid (422)."""
        review = await self._read(request, "SelfSubjectAccessReview")
        _refuse(request, access_causes(review, subject=False))
        assert request.user is not None
        return await self._decide(request, review, request.user)

    async def local_access(self, request: Request) -> Response:
        """Answer if a subject may do something in this namespace: 201. Raises Invalid (422) for another namespace."""
        assert request.info is not None
        review = await self._read(request, "LocalSubjectAccessReview")
        namespace = request.info.namespace
        _refuse(request, local_access_causes(review, namespace))
        if review["spec"]["resourceAttributes"].get("namespace") != namespace:
            raise BadRequest(f"spec.resourceAttributes.namespace must match namespace: {namespace}")
        review = {**review, "metadata": {**review["metadata"], "namespace": namespace}}
        return await self._decide(request, review, _subject(review["spec"]))

    async def self_rules(self, request: Request) -> Response:
        """Answer with the requester's rules in a namespace: 201. Raises BadRequest (400) without one."""
        review = await self._read(request, "SelfSubjectRulesReview")
        if not review["spec"].get("namespace"):
            raise BadRequest("no namespace on request")
        assert request.user is not None
        rules = self.authorizer.rules_for(request.user, review["spec"]["namespace"])
        size = RULE_BYTES * (len(rules.resources) + len(rules.paths))
        size += NAME_BYTES * sum(len(rule.resources) + len(rule.names) for rule in rules.resources)
        status = await self.offload.run(size, partial(_rules_json, rules))
        answer = {**review, "metadata": {}, "spec": {}}
        return await self.offload.run(size, partial(self._answer, request, answer, status))

    async def self_subject(self, request: Request) -> Response:
        """Answer with the user that the request is made as (reference AUTHN-60). 201."""
        review = await self._read(request, "SelfSubjectReview")
        assert request.user is not None
        answer = {**review, "metadata": {"creationTimestamp": rfc3339(int(self.now()))}}
        return self._answer(request, answer, {"userInfo": _user_json(request.user)})

    async def _read(self, request: Request, kind: str) -> Object:
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

    def _codec(self, info: RequestInfo, kind: str) -> KindCodec:
        return self.codecs.kind(f"{info.group}/{info.version}", kind)

    async def _decide(self, request: Request, review: Object, user: UserInfo) -> Response:
        asked, ignored = _asked(review["spec"])
        decision = self.authorizer.authorize(user, asked)
        if not isinstance(decision, Decision):
            decision = await decision
        return self._answer(request, review, _decision_json(decision, ignored))

    def _answer(self, request: Request, review: Object, status: Object) -> Response:
        assert request.info is not None
        codec = self._codec(request.info, review["kind"])
        answer = codec.normalise({**review, "status": status})
        return self.representations.obj(answer, self.acceptance.plain(request), 201)


def _refuse(request: Request, causes: Sequence[Cause]) -> None:
    """Raise Invalid (422), which names no kind, for a question that cannot be answered."""
    if causes:
        assert request.info is not None
        raise Invalid.of("", request.info.group, "", causes)


def _subject(spec: Object) -> UserInfo:
    extra = {key: tuple(values) for key, values in (spec.get("extra") or {}).items()}
    groups = tuple(spec.get("groups") or ())
    return UserInfo(name=spec.get("user", ""), uid=spec.get("uid", ""), groups=groups, extra=extra)


def _asked(spec: Object) -> tuple[RequestInfo, Sequence[str]]:
    """Return the question in the form of a request, and the errors of selectors that are ignored."""
    path = spec.get("nonResourceAttributes")
    if path is not None:
        return RequestInfo(is_resource=False, verb=path.get("verb", ""), path=path.get("path", "")), ()
    names = ("verb", "group", "version", "namespace", "resource", "subresource", "name")
    attributes = {name: spec["resourceAttributes"].get(name, "") for name in names}
    attributes["version"] = attributes["version"] or "*"
    fields, labels, ignored = selector_texts(spec["resourceAttributes"])
    info = RequestInfo(is_resource=True, path="", **attributes, field_selector=fields, label_selector=labels)
    return info, ignored


def _decision_json(decision: Decision, ignored: Sequence[str]) -> Object:
    """Return a status; no opinion is neither allowed nor denied (reference AUTHZ-27)."""
    status: Object = {"allowed": decision.allowed is True, "reason": decision.reason}
    if decision.allowed is False:
        status["denied"] = True
    error = "; ".join(filter(None, (decision.error, *ignored)))
    return {**status, "evaluationError": error} if error else status


def _user_json(user: UserInfo) -> Object:
    extra = {key: list(values) for key, values in user.extra.items()}
    return {"username": user.name, "uid": user.uid, "groups": list(user.groups), "extra": extra}


def _rules_json(rules: UserRules) -> Object:
    resources = [
        {
            "verbs": list(rule.verbs),
            "apiGroups": list(rule.groups),
            "resources": list(rule.resources),
            **({"resourceNames": list(rule.names)} if rule.names else {}),
        }
        for rule in rules.resources
    ]
    paths = [{"verbs": list(rule.verbs), "nonResourceURLs": list(rule.paths)} for rule in rules.paths]
    status: Object = {"resourceRules": resources, "nonResourceRules": paths, "incomplete": rules.incomplete}
    return {**status, "evaluationError": rules.error} if rules.error else status
