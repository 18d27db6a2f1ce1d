"""All methods in their order; the first success wins, and nobody's credentials are anonymous (supplement D1, D11)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from orchtw.authn import tokens
from orchtw.authn.bearer import BearerTokens
from orchtw.authn.certificates import ClientCertificates
from orchtw.authn.method import ANONYMOUS, Authenticator, authenticated
from orchtw.authn.websocket_tokens import WebSocketTokens
from orchtw.config import Config
from orchtw.errors import Unauthorized
from orchtw.naming import Naming
from orchtw.request import Request, UserInfo


class Union:
    """Tries each method. A method's refusal does not stop the next, but forbids going on as anonymous."""

    def __init__(self, methods: Sequence[Authenticator], *, anonymous: bool) -> None:
        self._methods = tuple(methods)
        self._anonymous = anonymous

    def authenticate(self, request: Request) -> UserInfo | Awaitable[UserInfo]:
        """The user, at once unless a method has to ask somebody; then an awaitable of the user.

        Raises Unauthorized (401) when credentials were wrong, or there were none and anonymous requests are off.
        """
        refused = False
        for index, method in enumerate(self._methods):
            try:
                found = method.authenticate(request)
            except Unauthorized:
                refused = True
                continue
            if isinstance(found, UserInfo):
                return authenticated(found)
            if found is not None:
                return self._go_on(request, found, index + 1, refused)
        return self._without(refused)

    async def _go_on(
        self, request: Request, asked: Awaitable[UserInfo | None], index: int, refused: bool
    ) -> UserInfo:
        """Wait for the first answer that takes time, then go on with the methods from `index`."""
        found = None
        try:
            found = await asked
        except Unauthorized:
            refused = True
        for method in self._methods[index:]:
            if found is not None:
                break
            try:
                answer = method.authenticate(request)
                found = answer if answer is None or isinstance(answer, UserInfo) else await answer
            except Unauthorized:
                refused = True
        return self._without(refused) if found is None else authenticated(found)

    def _without(self, refused: bool) -> UserInfo:
        if refused or not self._anonymous:
            raise Unauthorized
        return ANONYMOUS


def chain(config: Config, seconds: Callable[[], float], key: bytes) -> Union:
    """The methods that the flags ask for, in the reference server's order.

    `seconds` is the time since the epoch, `key` 32 random bytes. Anonymous requests are off when everybody
    may do everything. Raises ConfigError for a token file that cannot be used.
    """
    sources = [tokens.load(config.token_auth_file, key)] if config.token_auth_file else []
    anonymous = config.anonymous_auth and "AlwaysAllow" not in config.authorization_mode
    bearer = BearerTokens(sources)
    domains = Naming.orch().api_domain, Naming.kubernetes().api_domain
    return Union((ClientCertificates(seconds), bearer, WebSocketTokens(bearer, domains)), anonymous=anonymous)
