"""Bootstrap tokens: credentials for nodes that join the cluster (reference AUTHN-20 to AUTHN-22)."""

from __future__ import annotations

from collections.abc import Callable

from orchtw.authn.method import AuthnHost, authenticated
from orchtw.authn.validity import FOREIGN, Validity
from orchtw.config.authentication import AuthenticationOptions
from orchtw.errors import Unauthorized
from orchtw.naming.naming import Naming
from orchtw.registry.stored import Stored
from orchtw.request import UserInfo
from orchtw.rules.bootstrap_tokens import PREFIX, SECRET_TYPE, BadSecret, TokenSecret, split


class BootstrapTokens:
    """Authenticator for bootstrap tokens: looks them up in the cached Secrets of the system namespace.

    Deleting a Secret revokes its token at once. `seconds` returns the time since the epoch.
    """

    def __init__(self, secrets: Stored, naming: Naming, seconds: Callable[[], float]) -> None:
        self._secrets = secrets
        self._namespace = naming.system_namespace
        self._type = naming.translate(SECRET_TYPE)
        self._seconds = seconds

    def find(self, token: str) -> UserInfo | None:
        """Return the token's user, or None if it is not formed like a bootstrap token. Raises Unauthorized (401)."""
        halves = split(token)
        if halves is None:
            return None
        token_id, token_secret = halves
        entry = self._secrets.get(self._namespace, PREFIX + token_id)
        if entry is None:
            raise Unauthorized(f"bootstrap token {token_id}: there is no such Secret")
        secret = self._secrets.load(entry)
        if secret.get("type") != self._type:
            raise Unauthorized(f"bootstrap token {token_id}: its Secret is of another type")
        try:
            groups = TokenSecret.of(secret).groups(token_id, token_secret, self._seconds())
        except BadSecret as problem:
            raise Unauthorized(f"bootstrap token {token_id}: {problem}") from None
        return authenticated(UserInfo(name=f"system:bootstrap:{token_id}", groups=groups))

    def lasts(self, token: str) -> Validity | None:
        """Have the Secret looked at each time, see `lasting.LastingPlainTokens`."""
        return FOREIGN if split(token) is None else None


def from_flags(host: AuthnHost, options: AuthenticationOptions) -> BootstrapTokens | None:
    """Return the authenticator that `--enable-bootstrap-token-auth` enables, or None."""
    if not options.enable_bootstrap_token_auth:
        return None
    return BootstrapTokens(host.targets.stored_target("", "v1", "secrets").stored, host.naming, host.seconds)
