"""Bearer tokens: the header, and the sources that are asked about it (reference AUTHN-8, AUTHN-9)."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence

from orchtw.authn.method import ShownCredentials, TokenMethod
from orchtw.errors import Unauthorized
from orchtw.request import Request, UserInfo, utf8_text

UNKNOWN = "invalid bearer token"


class BearerTokens:
    """Authenticates by `Authorization: Bearer <token>`; the sources are asked in order, the first success counts.

    A source that refuses does not stop the others; what it has against the token is for the log and for token
    reviews. `audiences` are this API's.
    """

    def __init__(self, methods: Sequence[TokenMethod], audiences: Sequence[str] = ()) -> None:
        self._methods = tuple(methods)
        self._audiences = tuple(audiences)
        self._own = frozenset(audiences)

    def authenticate(self, request: Request) -> UserInfo | None | Awaitable[UserInfo | None]:
        """The token's user, None without a token. Raises Unauthorized (401) for a token that nobody knows.

        After a success the header is gone from the request, so that no later stage can show the token.
        """
        token = bearer_token(request.headers.get("authorization", ""))
        if not token:
            return None
        found = self._find(ShownCredentials(token=token, audiences=self._audiences, annotations=request.annotations))
        return _accept(request, found) if isinstance(found, UserInfo) else _accept_later(request, found)

    async def whose(self, token: str, audiences: Sequence[str] = ()) -> tuple[UserInfo, Sequence[str]]:
        """The user of a token that is meant for one of these audiences (none: this API's), and which it is meant for.

        Raises Unauthorized (401) for a token that nobody knows.
        """
        if not token.strip():
            raise Unauthorized(UNKNOWN)
        asked = tuple(audiences) or self._audiences
        text = token.encode("utf-8", "surrogatepass").decode("utf-8", "surrogateescape")
        shown = ShownCredentials(token=text, audiences=asked, own=not asked or not self._own.isdisjoint(asked))
        found = self._find(shown)
        user = found if isinstance(found, UserInfo) else await found
        return user, shown.accepted

    def _find(self, shown: ShownCredentials) -> UserInfo | Awaitable[UserInfo]:
        reasons: list[str] = []
        for index, method in enumerate(self._methods):
            try:
                found = method.find(shown)
            except Unauthorized as refusal:
                reasons.append(refusal.why)
                continue
            if isinstance(found, UserInfo):
                return found
            if found is not None:
                return self._find_on(shown, found, index + 1, reasons)
        raise _nobody(reasons)

    async def _find_on(
        self, shown: ShownCredentials, asked: Awaitable[UserInfo | None], index: int, reasons: list[str]
    ) -> UserInfo:
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
                answer = method.find(shown)
                found = answer if answer is None or isinstance(answer, UserInfo) else await answer
            except Unauthorized as refusal:
                reasons.append(refusal.why)
        if found is None:
            raise _nobody(reasons)
        return found


def _nobody(reasons: Sequence[str]) -> Unauthorized:
    """Return the refusal with every source's reason against a token, each once (reference AUTHN-5)."""
    texts = dict.fromkeys((UNKNOWN, *(reason for reason in reasons if reason)))
    return Unauthorized(f"[{', '.join(texts)}]" if len(texts) > 1 else UNKNOWN)


async def _accept_later(request: Request, found: Awaitable[UserInfo]) -> UserInfo:
    return _accept(request, await found)


def _accept(request: Request, user: UserInfo) -> UserInfo:
    headers = dict(request.headers)
    del headers["authorization"]
    request.headers = headers
    return user


def bearer_token(header: str) -> str:
    """The token of an Authorization header; empty for another scheme (in any case of letters) or none.

    Bytes of the token that are no UTF-8 are kept as surrogates, so that each token has one text.
    """
    parts = utf8_text(header, "surrogateescape").strip().split(" ", 2)
    return parts[1] if len(parts) > 1 and parts[0].lower() == "bearer" else ""
