"""POST of a SubjectAccessReview, also of oneself or in a namespace (reference AUTHZ-26, AUTHZ-27, AUTHZ-28)."""

from __future__ import annotations

from collections.abc import Sequence

from orchtw.authz.decision import Authorizer, Decision
from orchtw.errors import BadRequest, Cause, Invalid
from orchtw.request import Request, RequestInfo, Response, UserInfo
from orchtw.rules.selector_attributes import selector_texts
from orchtw.verbs.reviews import Reviews
from orchtw.verbs.subject_access_review_validation import access_causes, local_access_causes
from orchtw.wire.objects import Object


async def review_subject_access(reviews: Reviews, authorizer: Authorizer, request: Request) -> Response:
    """Answer if a subject may do something: 201. Raises Invalid (422) for an incomplete question."""
    review = await reviews.read(request, "SubjectAccessReview")
    _refuse(request, access_causes(review, subject=True))
    return await _decide(reviews, authorizer, request, review, _subject(review["spec"]))


async def review_self_access(reviews: Reviews, authorizer: Authorizer, request: Request) -> Response:
    """Answer if the requester may do something: 201. Raises Invalid (422)."""
    review = await reviews.read(request, "SelfSubjectAccessReview")
    _refuse(request, access_causes(review, subject=False))
    assert request.user is not None
    return await _decide(reviews, authorizer, request, review, request.user)


async def review_local_access(reviews: Reviews, authorizer: Authorizer, request: Request) -> Response:
    """Answer if a subject may do something in this namespace: 201. Raises Invalid (422) for another namespace."""
    assert request.info is not None
    review = await reviews.read(request, "LocalSubjectAccessReview")
    namespace = request.info.namespace
    _refuse(request, local_access_causes(review, namespace))
    if review["spec"]["resourceAttributes"].get("namespace") != namespace:
        raise BadRequest(f"spec.resourceAttributes.namespace must match namespace: {namespace}")
    review = {**review, "metadata": {**review["metadata"], "namespace": namespace}}
    return await _decide(reviews, authorizer, request, review, _subject(review["spec"]))


async def _decide(
    reviews: Reviews, authorizer: Authorizer, request: Request, review: Object, user: UserInfo
) -> Response:
    """Answer with the decision of the authorizer that requests pass."""
    asked, ignored = _asked(review["spec"])
    decision = authorizer.authorize(user, asked)
    if not isinstance(decision, Decision):
        decision = await decision
    return reviews.answer(request, review, _decision_json(decision, ignored))


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
