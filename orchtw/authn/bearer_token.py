"""Bearer tokens: the Authorization header, and the token sources tried in order (reference AUTHN-8, AUTHN-9)."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence

from orchtw.authn.first_success import first_success
from orchtw.authn.method import LastingTokens, ShownToken, TokenMethod
from orchtw.authn.validity import FOREIGN, Validity, together
from orchtw.errors import Unauthorized
from orchtw.request import Request, UserInfo, utf8_text

UNKNOWN = "invalid bearer token"


class BearerTokens:
    """Authenticator for `Authorization: Bearer <token>`; sources are tried in order and the first success wins.

    A source that rejects the token does not stop the search; its reason goes to the log and to token reviews.
    `audiences` are this API's.
    """

    def __init__(self, methods: Sequence[TokenMethod], audiences: Sequence[str] = ()) -> None:
        self._asked = tuple(methods)
        self._methods = tuple(method.find for method in methods)
        self._audiences = tuple(audiences)
        self._own = frozenset(audiences)

    def authenticate(self, request: Request) -> UserInfo | None | Awaitable[UserInfo | None]:
        """Return the token's user, or None without a token. Raises Unauthorized (401) if no source accepts it.

        On success the header is removed from the request, so that no later stage can leak the token.
        """
        token = bearer_token(request.headers.get("authorization", ""))
        if not token:
            return None
        found = self._find(
            ShownToken(
                token=token,
                audiences=self._audiences,
                annotations=request.annotations,
                warnings=request.warnings,
            )
        )
        return _accept(request, found) if isinstance(found, UserInfo) else _accept_later(request, found)

    def lasts(self, request: Request) -> Validity | None:
        """Return for how long the sources say the same of the request's token, see `validity.Lasting`."""
        token = bearer_token(request.headers.get("authorization", ""))
        if not token:
            return FOREIGN
        shown = ShownToken(token=token, audiences=self._audiences)
        return together(source.lasts(shown) if isinstance(source, LastingTokens) else None for source in self._asked)

    async def whose(self, token: str, audiences: Sequence[str] = ()) -> tuple[UserInfo, Sequence[str]]:
        """Return a token's user, and those of `audiences` (empty: this API's) that the token is valid for.

        Raises Unauthorized (401) if no source accepts the token.
        """
        if not token.strip():
            raise Unauthorized(UNKNOWN)
        asked = tuple(audiences) or self._audiences
        text = token.encode("utf-8", "surrogatepass").decode("utf-8", "surrogateescape")
        shown = ShownToken(token=text, audiences=asked, own=not asked or not self._own.isdisjoint(asked))
        found = self._find(shown)
        user = found if isinstance(found, UserInfo) else await found
        return user, shown.accepted

    def _find(self, shown: ShownToken) -> UserInfo | Awaitable[UserInfo]:
        reasons: list[str] = []
        found = first_success(self._methods, shown, reasons)
        if found is None:
            raise _nobody(reasons)
        return found if isinstance(found, UserInfo) else _known(found, reasons)


async def _known(waiting: Awaitable[UserInfo | None], reasons: list[str]) -> UserInfo:
    found = await waiting
    if found is None:
        raise _nobody(reasons)
    return found


def _nobody(reasons: Sequence[str]) -> Unauthorized:
    """Return the error for a rejected token, with every source's reason once (reference AUTHN-5)."""
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
    """Return the bearer token of an Authorization header, or an empty string. The scheme's case is ignored.

    Bytes of the token that are not UTF-8 become surrogates, so that distinct tokens stay distinct.
    """
    parts = utf8_text(header, "surrogateescape").strip().split(" ", 2)
    return parts[1] if len(parts) > 1 and parts[0].lower() == "bearer" else ""
