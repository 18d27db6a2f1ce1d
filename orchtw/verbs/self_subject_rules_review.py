"""POST of a SelfSubjectRulesReview: the requester's rules in a namespace (reference AUTHZ-29)."""

from __future__ import annotations

from functools import partial
from typing import Final

from orchtw.authz.decision import Authorizer, UserRules
from orchtw.errors import BadRequest
from orchtw.request import Request, Response
from orchtw.verbs.reviews import Reviews
from orchtw.wire.objects import Object

RULE_BYTES: Final = 512
NAME_BYTES: Final = 16
"""Bytes that a rule and each of its resources and names count as: many are encoded off the reactor."""


async def review_self_rules(reviews: Reviews, authorizer: Authorizer, request: Request) -> Response:
    """Answer with the requester's rules in a namespace: 201. Raises BadRequest (400) without one."""
    review = await reviews.read(request, "SelfSubjectRulesReview")
    if not review["spec"].get("namespace"):
        raise BadRequest("no namespace on request")
    assert request.user is not None
    rules = authorizer.rules_for(request.user, review["spec"]["namespace"])
    size = RULE_BYTES * (len(rules.resources) + len(rules.paths))
    size += NAME_BYTES * sum(len(rule.resources) + len(rule.names) for rule in rules.resources)
    status = await reviews.offload.run(size, partial(_rules_json, rules))
    answer = {**review, "metadata": {}, "spec": {}}
    return await reviews.offload.run(size, partial(reviews.answer, request, answer, status))


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
