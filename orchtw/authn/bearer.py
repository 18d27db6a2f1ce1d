"""Bearer tokens: the header, and the sources that are asked about it (reference AUTHN-8, AUTHN-9)."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence

from orchtw.authn.method import TokenMethod
from orchtw.errors import Unauthorized
from orchtw.request import Request, UserInfo, utf8_text

UNKNOWN = "the bearer token is nobody's"


class BearerTokens:
    """Authenticates by `Authorization: Bearer <token>`; the sources are asked in order, the first success counts.

    A source that refuses does not stop the others; what it has against the token is for the log.
    """

    def __init__(self, methods: Sequence[TokenMethod]) -> None:
        self._methods = tuple(methods)

    def authenticate(self, request: Request) -> UserInfo | None | Awaitable[UserInfo | None]:
        """The token's user, None without a token. Raises Unauthorized (401) for a token that nobody knows.

        After a success the header is gone from the request, so that no later stage can show the token.
        """
        token = bearer_token(request.headers.get("authorization", ""))
        if not token:
            return None
        reasons: list[str] = []
        for index, method in enumerate(self._methods):
            try:
                found = method.find(token)
            except Unauthorized as refusal:
                reasons.append(refusal.why)
                continue
            if isinstance(found, UserInfo):
                return _accept(request, found)
            if found is not None:
                return self._ask_on(request, token, found, index + 1, reasons)
        raise _nobody(reasons)

    async def _ask_on(
        self, request: Request, token: str, asked: Awaitable[UserInfo | None], index: int, reasons: list[str]
    ) -> UserInfo | None:
        """Wait for the first answer that takes time, then go on with the sources from `index`."""
        found = None
        try:
            found = await asked
        except Unauthorized as refusal:
            reasons.append(refusal.why)
        for method in self._methods[index:]:
            if found is not None:
                break
            try:
                answer = method.find(token)
                found = answer if answer is None or isinstance(answer, UserInfo) else await answer
            except Unauthorized as refusal:
                reasons.append(refusal.why)
        if found is None:
            raise _nobody(reasons)
        return _accept(request, found)


def _nobody(reasons: Sequence[str]) -> Unauthorized:
    return Unauthorized("; ".join((UNKNOWN, *(reason for reason in reasons if reason))))


def _accept(request: Request, user: UserInfo) -> UserInfo:
    request.headers = {name: value for name, value in request.headers.items() if name != "authorization"}
    return user


def bearer_token(header: str) -> str:
    """The token of an Authorization header; empty for another scheme (in any case of letters) or none.

    Bytes of the token that are no UTF-8 are kept as surrogates, so that each token has one text.
    """
    parts = utf8_text(header, "surrogateescape").strip().split(" ", 2)
    return parts[1] if len(parts) > 1 and parts[0].lower() == "bearer" else ""
