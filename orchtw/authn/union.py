"""Union of authentication methods: the first success wins; no credentials means anonymous (reference AUTHN-3)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from twisted.logger import Logger

from orchtw.authn import methods, token_sources
from orchtw.authn.audiences import ForThisAPI
from orchtw.authn.bearer_token import BearerTokens
from orchtw.authn.first_success import first_success
from orchtw.authn.method import (
    ANONYMOUS,
    AnonymousRule,
    Authenticator,
    AuthnHost,
    TokenReviewer,
    authenticated,
)
from orchtw.authn.validity import Lasting, Validity, together
from orchtw.authn.websocket_tokens import WebSocketTokens
from orchtw.config.authentication import AuthenticationOptions
from orchtw.errors import Unauthorized
from orchtw.naming.naming import Naming
from orchtw.plugins.entry_points import NO_PLUGINS, Plugins
from orchtw.request import Request, UserInfo

_log = Logger()

Refused = Callable[[Request, list[str]], None]
"""Callback for a rejected request, with the methods' reasons."""

AllowsAll = Callable[[], bool]
"""Reports whether authorizers that may change allow every request at present."""


def _say_nothing(request: Request, reasons: list[str]) -> None:
    """Ignore the rejection: the default without a log."""


class AuthenticatorUnion:
    """Methods tried in order. A rejection does not stop the search, but the request cannot become anonymous."""

    def __init__(
        self,
        methods: Sequence[Authenticator],
        *,
        anonymous: bool,
        refused: Refused = _say_nothing,
        tokens: TokenReviewer | None = None,
        rule: AnonymousRule | None = None,
        allows_all: AllowsAll | None = None,
    ) -> None:
        """`rule` decides what may be anonymous; where it is silent, `anonymous` and not `allows_all` do. `refused` is
        called for each rejected request; `tokens` authenticates bearer tokens for TokenReviews.
        """
        self.tokens: TokenReviewer = tokens or BearerTokens([])
        self._asked = tuple(methods)
        self._methods = tuple(method.authenticate for method in methods)
        self._anonymous = anonymous
        self._rule = rule
        self._allows_all = allows_all
        self._refused = refused

    def authenticate(self, request: Request) -> UserInfo | Awaitable[UserInfo]:
        """Return the user, or an awaitable of the user if a method must call another process.

        Raises Unauthorized (401) for invalid credentials, or without any while anonymous requests are off.
        """
        reasons: list[str] = []
        found = first_success(self._methods, request, reasons)
        if found is None or isinstance(found, UserInfo):
            return self._decide(request, found, reasons)
        return self._decide_later(request, found, reasons)

    def lasts(self, request: Request) -> Validity | None:
        """Return for how long the user of a request that has just been authenticated stays the same.

        None where requests without credentials depend on their paths or on a file.
        """
        found = together(method.lasts(request) if isinstance(method, Lasting) else None for method in self._asked)
        varies = self._rule is not None or self._allows_all is not None
        return None if varies and found is not None and not found.known else found

    async def _decide_later(
        self, request: Request, waiting: Awaitable[UserInfo | None], reasons: list[str]
    ) -> UserInfo:
        return self._decide(request, await waiting, reasons)

    def _decide(self, request: Request, found: UserInfo | None, reasons: list[str]) -> UserInfo:
        if found is not None:
            return authenticated(found)
        if reasons or not self._may_be_anonymous(request):
            self._refused(request, reasons)
            raise Unauthorized
        return ANONYMOUS

    def _may_be_anonymous(self, request: Request) -> bool:
        allowed = self._anonymous and not (self._allows_all is not None and self._allows_all())
        return allowed if self._rule is None else self._rule.allows_anonymous(request.path, otherwise=allowed)


def chain(
    host: AuthnHost,
    options: AuthenticationOptions,
    installed: Plugins = NO_PLUGINS,
    *,
    modes: Sequence[str] = (),
    refused: Refused = _say_nothing,
    allows_all: AllowsAll | None = None,
) -> AuthenticatorUnion:
    """Return the union of the methods that the flags enable, in the reference server's order.

    Anonymous requests are off if AlwaysAllow is among the authorization `modes`, and while `allows_all`, unless a
    file says otherwise. Raises ConfigError for files that cannot be used.
    """
    first = [method for make in methods(installed) if (method := make(host, options)) is not None]
    sources = [found for make_source in token_sources(installed) if (found := make_source(host, options)) is not None]
    bearer = BearerTokens(sources, host.accounts.audiences)
    domains = Naming.orch().api_domain, Naming.kubernetes().api_domain
    anonymous = options.anonymous_auth
    if anonymous and "AlwaysAllow" in modes:
        _log.warn("anonymous-auth is not allowed with authorization mode AlwaysAllow: it is off. Use another mode")
        anonymous = False
    asked = [*first, bearer, WebSocketTokens(bearer, domains)]
    behind = (each.source for each in sources if isinstance(each, ForThisAPI))
    rule = next((each for each in behind if isinstance(each, AnonymousRule)), None)
    return AuthenticatorUnion(
        asked, anonymous=anonymous, refused=refused, tokens=bearer, rule=rule, allows_all=allows_all
    )
