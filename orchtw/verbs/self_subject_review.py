"""POST of a SelfSubjectReview: the user that a request is made as (reference AUTHN-60)."""

from __future__ import annotations

from collections.abc import Callable

from orchtw.request import Request, Response
from orchtw.values.times import rfc3339
from orchtw.verbs.reviews import Reviews, user_json


async def review_self_subject(reviews: Reviews, now: Callable[[], float], request: Request) -> Response:
    """Answer with the requester, 201; `now` returns seconds since the epoch."""
    review = await reviews.read(request, "SelfSubjectReview")
    assert request.user is not None
    answer = {**review, "metadata": {"creationTimestamp": rfc3339(int(now()))}}
    return reviews.answer(request, answer, {"userInfo": user_json(request.user)})
