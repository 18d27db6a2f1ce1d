"""POST of a TokenReview: the user of a token (reference AUTHN-44, AUTHN-50)."""

from __future__ import annotations

from typing import Final

from orchtw.authn.method import TokenReviewer
from orchtw.errors import BadRequest, Unauthorized
from orchtw.request import Request, Response
from orchtw.verbs.reviews import Reviews, user_json

AUDIENCES: Final = 1000
"""Audiences in one review: each source of tokens checks all of them."""

REASONS: Final = 1024
"""Characters of the error about a rejected token."""


async def review_token(reviews: Reviews, tokens: TokenReviewer, request: Request) -> Response:
    """Authenticate the token by the sources of tokens that requests pass. 201; BadRequest (400) without a token."""
    review = await reviews.read(request, "TokenReview")
    token = review["spec"].get("token", "")
    if not token:
        raise BadRequest("token is required for TokenReview in authentication")
    if namespace := review["metadata"].get("namespace"):
        raise BadRequest(f"namespace is not allowed on this type: {namespace}")
    asked = review["spec"].get("audiences") or ()
    if len(asked) > AUDIENCES:
        raise BadRequest(f"spec.audiences: Too many: {len(asked)}: must have at most {AUDIENCES} items")
    try:
        user, audiences = await tokens.whose(token, asked)
    except Unauthorized as refusal:
        return reviews.answer(request, review, {"user": {}, "error": refusal.why[:REASONS]})
    status = {"authenticated": True, "user": user_json(user), "audiences": list(audiences)}
    return reviews.answer(request, review, status)
