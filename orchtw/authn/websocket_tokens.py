"""Bearer tokens in WebSocket subprotocols, for browsers, whose scripts cannot set an Authorization header
(reference AUTHN-11).
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode
from collections.abc import Awaitable, Iterable

from orchtw.authn.method import Authenticator
from orchtw.authn.validity import FOREIGN, Validity
from orchtw.errors import Unauthorized
from orchtw.request import Request, UserInfo
from orchtw.rules.websocket import BEARER, PROTOCOLS, is_websocket, subprotocols

_ENCODED = re.compile(r"[A-Za-z0-9_-]+")
_PADDED = 4


class WebSocketTokens:
    """Authenticator for the subprotocol `base64url.bearer.authorization.<domain>.<token>`.

    The token is passed to `bearer` as if in an Authorization header. `domains` are the API's, such as `k8s.io`.
    """

    def __init__(self, bearer: Authenticator, domains: Iterable[str]) -> None:
        self._bearer = bearer
        self._prefixes = tuple(f"{BEARER}{domain}." for domain in domains)

    def authenticate(self, request: Request) -> UserInfo | None | Awaitable[UserInfo | None]:
        """Return the token's user, or None without a token. The token is removed from the request.

        Raises Unauthorized (401) for a token that is unknown or cannot be decoded, for more than one token, and if no
        other subprotocol is offered, which would leave none to agree on.
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

    def lasts(self, request: Request) -> Validity | None:
        """Have WebSockets asked each time, see `validity.Lasting`."""
        return None if PROTOCOLS in request.headers else FOREIGN

    def _decoded(self, name: str) -> str:
        """Decode the token to one character per byte, as in a header, where whitespace would end it.

        Raises Unauthorized (401) if it cannot be decoded or contains whitespace.
        """
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
