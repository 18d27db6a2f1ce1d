"""Claims of ID tokens: audience and time checks, and the user they map to (reference AUTHN-33 to AUTHN-35)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final, Protocol

import attrs

from orchtw.authn.method import authenticated
from orchtw.config.authentication import OIDCOptions
from orchtw.request import UserInfo
from orchtw.values.causes import go_quote
from orchtw.wire.objects import Object

NBF_LEEWAY_S: Final = 60.0
"""Tolerance for tokens that are not valid yet: the issuer's clock may be ahead."""

_SHOWN: Final = 200
_MOST: Final = 10
_NO_PREFIX: Final = "-"


class BadToken(Exception):
    """An invalid token of the issuer; the text is the reference server's, for the log."""


class TokenMapping(Protocol):
    """Mapping of the claims of one issuer's tokens to users."""

    @property
    def issuer(self) -> str:
        """Issuer that tokens name."""

    @property
    def groups_claim(self) -> str:
        """Claim with the groups, which may be a distributed claim; empty without one."""

    def check(self, claims: Object, now: float) -> None:
        """Check audience and times of a token. Raises BadToken."""

    def user(self, claims: Object) -> UserInfo:
        """Return the user of verified claims. Raises BadToken."""


@attrs.frozen(slots=True, kw_only=True)
class Mapping:
    """Mapping of claims to a user, as the `--oidc-*` flags configure it."""

    issuer: str
    client_id: str
    username_claim: str = "sub"
    username_prefix: str = ""
    groups_claim: str = ""
    groups_prefix: str = ""
    required: Sequence[tuple[str, str]] = ()

    @classmethod
    def of(cls, options: OIDCOptions) -> Mapping:
        """Return the mapping of the flags, with the default username prefix."""
        prefix = options.username_prefix
        if not prefix and options.username_claim != "email":
            prefix = f"{options.issuer_url}#"
        return cls(
            issuer=options.issuer_url,
            client_id=options.client_id,
            username_claim=options.username_claim,
            username_prefix="" if prefix == _NO_PREFIX else prefix,
            groups_claim=options.groups_claim,
            groups_prefix=options.groups_prefix,
            required=options.required_claim,
        )

    def check(self, claims: Object, now: float) -> None:
        """Check that the token is for this client and valid at `now`, in seconds since the epoch. Raises BadToken."""
        self.check_audience(claims, (self.client_id,))
        self.check_times(claims, now)

    @staticmethod
    def check_audience(claims: Object, wanted: Sequence[str]) -> None:
        """Check that the token is for one of these audiences. Raises BadToken."""
        audiences = claims.get("aud")
        audiences = [audiences] if isinstance(audiences, str) else audiences
        if not isinstance(audiences, list) or not any(each in audiences for each in wanted):
            expected = go_quote(wanted[0]) if len(wanted) == 1 else f"in {_shown(list(wanted))}"
            raise _unverified(f"expected audience {expected} got {_shown(audiences)}")

    @staticmethod
    def check_times(claims: Object, now: float) -> None:
        """Check that the token is valid at `now`. Raises BadToken."""
        expiry = _number(claims, "exp")
        if expiry is None or expiry < now:
            raise _unverified(f"token is expired (Token Expiry: {_moment(expiry or 0)})")
        begin = _number(claims, "nbf")
        if begin is not None and now + NBF_LEEWAY_S < begin:
            raise _unverified(f"current time {_moment(now)} before the nbf (not before) time: {_moment(begin)}")

    def user(self, claims: Object) -> UserInfo:
        """Return the user of verified claims. Raises BadToken."""
        name, groups = self.name(claims), self.group_names(claims)
        self.check_required(claims)
        return authenticated(UserInfo(name=name, groups=groups))

    def check_required(self, claims: Object) -> None:
        """Check the claims that tokens must have. Raises BadToken."""
        for claim, want in self.required:
            _require(claims, claim, want)

    def group_names(self, claims: Object) -> tuple[str, ...]:
        """Return the groups of a token, with their prefix. Raises BadToken."""
        return tuple(self.groups_prefix + group for group in self._groups(claims))

    def name(self, claims: Object) -> str:
        """Return the user name of a token, with its prefix. Raises BadToken."""
        claim = self.username_claim
        if claim not in claims:
            raise BadToken(f"oidc: parse username claims {go_quote(claim)}: claim not present")
        name = claims[claim]
        if not isinstance(name, str):
            raise BadToken(f"oidc: parse username claims {go_quote(claim)}: must be a string")
        if claim == "email" and "email_verified" in claims:
            verified = claims["email_verified"]
            if verified is not None and not isinstance(verified, bool):
                raise BadToken("oidc: parse 'email_verified' claim: must be true or false")
            if not verified:
                raise BadToken("oidc: email not verified")
        return self.username_prefix + name

    def _groups(self, claims: Object) -> list[str]:
        found = claims.get(self.groups_claim) if self.groups_claim else None
        found = [found] if isinstance(found, str) else found
        if found is None:
            return []
        if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
            claim = go_quote(self.groups_claim)
            raise BadToken(f"oidc: parse groups claim {claim}: must be a string or a list of strings")
        return found


def _require(claims: Object, claim: str, want: str) -> None:
    if claim not in claims:
        raise BadToken(f"oidc: required claim {claim} not present in ID token")
    found = claims[claim]
    if not isinstance(found, str):
        raise BadToken(f"oidc: parse claim {claim}: must be a string")
    if found != want:
        raise BadToken(f"oidc: required claim {claim} value does not match. Got = {_line(found)}, want = {want}")


def _number(claims: Object, name: str) -> float | None:
    """Return a claim that is a time, in seconds since the epoch, or None if absent. Raises BadToken."""
    found: Any = claims.get(name)
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, (int, float)):
        raise _unverified(f"failed to unmarshal claims: {name} must be a number")
    return float(found)


def _unverified(why: str) -> BadToken:
    return BadToken(f"oidc: verify token: oidc: {why}")


def _line(text: str) -> str:
    """Return the beginning of a text, with characters that could forge a log line replaced."""
    return "".join(char if char.isprintable() else " " for char in text[:_SHOWN])


def _shown(audiences: Any) -> str:
    """Return the beginning of a list of audiences, formatted as in the reference server."""
    texts = [go_quote(str(each)[:_SHOWN]) for each in audiences[:_MOST]] if isinstance(audiences, list) else []
    return f"[{' '.join(texts)}]"


def _moment(seconds: float) -> str:
    """Format a time as Go's `time.Time` does."""
    try:
        return f"{datetime.fromtimestamp(int(seconds), UTC):%Y-%m-%d %H:%M:%S} +0000 UTC"
    except (ValueError, OverflowError, OSError):
        return str(seconds)
