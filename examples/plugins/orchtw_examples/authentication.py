"""Source of bearer tokens signed-names: `name.signature`, with an HMAC-SHA256 under a shared key."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Any

from orchtw.authn.audiences import plain
from orchtw.authn.method import AuthnHost, authenticated
from orchtw.errors import ConfigError, Unauthorized
from orchtw.flags.flag import PATH, Flag
from orchtw.plugins import AuthenticationPlugin
from orchtw.request import UserInfo

FLAG = "signed-names-key-file"
KEY_BYTES = 32
"""The shortest key: as long as the signature."""


class SignedNames:
    """Users whose names somebody with the key has signed."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def token(self, name: str) -> str:
        """Return the token of a user."""
        return f"{name}.{hmac.digest(self._key, name.encode(), 'sha256').hex()}"

    def find(self, token: str) -> UserInfo | None:
        """Return the user of a token, None for other tokens. Raises Unauthorized (401) for a wrong signature."""
        name, dot, signature = token.rpartition(".")
        if not dot or not name or len(signature) != 64:
            return None
        if not hmac.compare_digest(self.token(name).encode(), token.encode()):
            raise Unauthorized
        return authenticated(UserInfo(name=name))


def make(host: AuthnHost, values: Mapping[str, Any]) -> SignedNames | None:
    """Return the source with the key of `--signed-names-key-file`; None without the flag."""
    path = values[FLAG]
    if path is None:
        return None
    try:
        key = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"--{FLAG}: {path}: {error.strerror}") from None
    if len(key) < KEY_BYTES:
        raise ConfigError(f"--{FLAG}: {path}: must hold at least {KEY_BYTES} bytes")
    return SignedNames(key)


SIGNED_NAMES = AuthenticationPlugin(
    make=plain(make),
    tokens=True,
    before="service-accounts",
    flags=(
        Flag(
            name=FLAG,
            kind=PATH,
            default=None,
            help="File with the key under which tokens of the form name.signature are signed.",
            section="Signed names",
        ),
    ),
)
