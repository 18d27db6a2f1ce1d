"""Bootstrap tokens and the Secrets that hold them (reference AUTHN-20 to AUTHN-22)."""

from __future__ import annotations

import hmac
import re
from base64 import b64decode
from typing import Final

import attrs

from orchtw.values.times import parse_time
from orchtw.wire.objects import Object

PREFIX: Final = "bootstrap-token-"
"""Prefix of the Secrets' names, before the token id."""

DEFAULT_GROUP: Final = "system:bootstrappers"
SECRET_TYPE: Final = "bootstrap.orch.io/token"

_ID: Final = re.compile(r"[a-z0-9]{6}")
_TOKEN: Final = re.compile(r"([a-z0-9]{6})\.([a-z0-9]{16})")
_GROUP: Final = re.compile(r"system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]")
_MICROSECONDS: Final = 1e6


class BadSecret(Exception):
    """A Secret whose token does not authenticate; the text says why."""


def split(token: str) -> tuple[str, str] | None:
    """Split a bootstrap token into its id and secret; None for any other token."""
    found = _TOKEN.fullmatch(token)
    return None if found is None else (found[1], found[2])


@attrs.frozen(slots=True)
class TokenSecret:
    """A Secret that holds a bootstrap token."""

    name: str
    terminating: bool
    data: dict[str, str] = attrs.field(repr=False)

    @classmethod
    def of(cls, secret: Object) -> TokenSecret:
        """Read a token from its Secret; a value that is not text counts as absent."""
        meta, data = secret["metadata"], secret.get("data") or {}
        return cls(
            meta["name"],
            bool(meta.get("deletionTimestamp")),
            {key: _text(value) for key, value in data.items()},
        )

    @property
    def token_id(self) -> str:
        """Return the public half of the token."""
        return self._value("token-id")

    @property
    def token_secret(self) -> str:
        """Return the secret half of the token."""
        return self._value("token-secret")

    def left_s(self, now: float) -> float | None:
        """Return the seconds until expiry at `now` (since the epoch), zero or less if expired; None: never.

        An expiration that cannot be parsed counts as expired.
        """
        text = self._value("expiration")
        if not text:
            return None
        try:
            seconds, microseconds = parse_time(text)
        except ValueError:
            return 0.0
        return seconds + microseconds / _MICROSECONDS - now

    def has_expired(self, now: float) -> bool:
        """Report whether the token has expired at `now`, in seconds since the epoch."""
        left_s = self.left_s(now)
        return left_s is not None and left_s <= 0

    def groups(self, token_id: str, token_secret: str, now: float) -> tuple[str, ...]:
        """Return the groups of the token's user, sorted. Raises BadSecret if the token does not authenticate."""
        if self.terminating:
            raise BadSecret("its Secret is being deleted")
        if not hmac.compare_digest(self.token_secret.encode(), token_secret.encode()):
            raise BadSecret("the secret does not match")
        if self.token_id != token_id:
            raise BadSecret("its Secret has another token id")
        if self.has_expired(now):
            raise BadSecret("it has expired")
        if self._value("usage-bootstrap-authentication") != "true":
            raise BadSecret("it is not for authentication")
        extra = self._value("auth-extra-groups")
        groups = {DEFAULT_GROUP, *(extra.split(",") if extra else ())}
        if not all(map(_GROUP.fullmatch, groups - {DEFAULT_GROUP})):
            raise BadSecret("its extra groups must all be bootstrapper groups")
        return tuple(sorted(groups))

    def signs(self, now: float) -> bool:
        """Report whether the token signs `cluster-info`; its secret may have another form than those of tokens."""
        return (
            _ID.fullmatch(self.token_id) is not None
            and self.token_secret != ""
            and self.name == PREFIX + self.token_id
            and not self.terminating
            and not self.has_expired(now)
            and self._value("usage-bootstrap-signing") == "true"
        )

    def _value(self, key: str) -> str:
        return self.data.get(key, "")


def _text(value: object) -> str:
    try:
        return b64decode(str(value)).decode("utf-8")
    except ValueError:
        return ""
