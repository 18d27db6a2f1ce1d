"""Methods in order: the first success wins, and without credentials a request is anonymous (reference AUTHN-3)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from twisted.logger import Logger

from orchtw.authn import methods, token_sources
from orchtw.authn.bearer import BearerTokens
from orchtw.authn.method import ANONYMOUS, Authenticator, AuthnHost, TokenReviewer, authenticated
from orchtw.authn.websocket_tokens import WebSocketTokens
from orchtw.config import Config
from orchtw.errors import Unauthorized
from orchtw.naming.names import Naming
from orchtw.request import Request, UserInfo

_log = Logger()

Refused = Callable[[Request, list[str]], None]
"""Is told of a request that is refused, and of what its methods had against it."""


def _say_nothing(request: Request, reasons: list[str]) -> None:
    """Record nothing: the default without a log."""


class AuthenticatorUnion:
    """Tries each method. A method's refusal does not stop the next, but forbids going on as anonymous."""

    def __init__(
        self,
        methods: Sequence[Authenticator],
        *,
        anonymous: bool,
        refused: Refused = _say_nothing,
        tokens: TokenReviewer | None = None,
    ) -> None:
        """`refused` is told of each refusal and its reasons; `tokens` is what the methods know of bearer tokens."""
        self.tokens: TokenReviewer = tokens or BearerTokens([])
        self._methods = tuple(methods)
        self._anonymous = anonymous
        self._refused = refused

    def authenticate(self, request: Request) -> UserInfo | Awaitable[UserInfo]:
        """The user, at once unless a method has to ask somebody; then an awaitable of the user.

        Raises Unauthorized (401) when credentials were wrong, or there were none and anonymous requests are off.
        """
        reasons: list[str] = []
        for index, method in enumerate(self._methods):
            try:
                found = method.authenticate(request)
            except Unauthorized as refusal:
                reasons.append(refusal.why)
                continue
            if isinstance(found, UserInfo):
                return authenticated(found)
            if found is not None:
                return self._go_on(request, found, index + 1, reasons)
        return self._without(request, reasons)

    async def _go_on(
        self, request: Request, asked: Awaitable[UserInfo | None], index: int, reasons: list[str]
    ) -> UserInfo:
        """Wait for the first answer that takes time, then go on with the methods from `index`."""
        found = None
        try:
            found = await asked
        except Unauthorized as refusal:
            reasons.append(refusal.why)
        for method in self._methods[index:]:
            if found is not None:
                break
            try:
                answer = method.authenticate(request)
                found = answer if answer is None or isinstance(answer, UserInfo) else await answer
            except Unauthorized as refusal:
                reasons.append(refusal.why)
        return self._without(request, reasons) if found is None else authenticated(found)

    def _without(self, request: Request, reasons: list[str]) -> UserInfo:
        if reasons or not self._anonymous:
            self._refused(request, reasons)
            raise Unauthorized
        return ANONYMOUS


def chain(host: AuthnHost, config: Config, *, refused: Refused = _say_nothing) -> AuthenticatorUnion:
    """The methods that the flags ask for, in the reference server's order.

    Anonymous requests are off when everybody may do everything. Raises ConfigError for files that cannot be used.
    """
    first = [method for make in methods(config) if (method := make(host, config)) is not None]
    sources = [source for make_source in token_sources(config) if (source := make_source(host, config)) is not None]
    bearer = BearerTokens(sources, host.accounts.audiences)
    domains = Naming.orch().api_domain, Naming.kubernetes().api_domain
    anonymous = config.anonymous_auth
    if anonymous and "AlwaysAllow" in config.authorization_mode:
        _log.warn("anonymous-auth is not allowed with authorization mode AlwaysAllow: it is off. Use another mode")
        anonymous = False
    asked = [*first, bearer, WebSocketTokens(bearer, domains)]
    return AuthenticatorUnion(asked, anonymous=anonymous, refused=refused, tokens=bearer)
