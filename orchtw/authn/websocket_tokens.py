"""Bearer tokens of WebSockets, for browsers, whose scripts cannot set an Authorization header
(reference AUTHN-11).
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode
from collections.abc import Awaitable, Iterable

from orchtw.authn.method import Authenticator
from orchtw.errors import Unauthorized
from orchtw.request import Request, UserInfo
from orchtw.rules.websocket import BEARER, PROTOCOLS, is_websocket, subprotocols

_ENCODED = re.compile(r"[A-Za-z0-9_-]+")
_PADDED = 4


class WebSocketTokens:
    """Authenticates by the sub-protocol `base64url.bearer.authorization.<domain>.<token>`.

    `bearer` is asked about the token as if it had come in an Authorization header. `domains` are the API's, such as
    `k8s.io`.
    """

    def __init__(self, bearer: Authenticator, domains: Iterable[str]) -> None:
        self._bearer = bearer
        self._prefixes = tuple(f"{BEARER}{domain}." for domain in domains)

    def authenticate(self, request: Request) -> UserInfo | None | Awaitable[UserInfo | None]:
        """The token's user, None without a token. The token is gone from the request afterwards.

        Raises Unauthorized (401) for a token that nobody knows or that cannot be decoded, for two tokens, and when
        nothing else is offered, which would leave no sub-protocol to agree on.
        """
        if PROTOCOLS not in request.headers or not is_websocket(request.headers):
            return None
        offered = subprotocols(request.headers)
        tokens = [name for name in offered if name.startswith(self._prefixes)]
        if not tokens:
            return None
        rest = [name for name in offered if not name.startswith(BEARER)]
        request.headers = {**request.headers, PROTOCOLS: ", ".join(rest)}
        if len(tokens) > 1 or not rest:
            raise Unauthorized
        authorization = {"authorization": f"Bearer {self._decoded(tokens[0])}"}
        shown = Request(
            method=request.method,
            path=request.path,
            headers=authorization,
            peer=request.peer,
            annotations=request.annotations,
        )
        return self._bearer.authenticate(shown)

    def _decoded(self, name: str) -> str:
        """The token as a header holds it: a character a byte. A blank would end it there, so none may be in it."""
        encoded = next(name.removeprefix(prefix) for prefix in self._prefixes if name.startswith(prefix))
        if not _ENCODED.fullmatch(encoded):
            raise Unauthorized
        try:
            token = urlsafe_b64decode(encoded + "=" * (-len(encoded) % _PADDED))
            text = token.decode("utf-8")
        except ValueError:
            raise Unauthorized from None
        if any(character.isspace() for character in text):
            raise Unauthorized
        return token.decode("latin-1")
