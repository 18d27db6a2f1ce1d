"""Claims of one issuer of `--authentication-config`: checks, and the user they map to (reference AUTHN-63)."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from orchtw.authn.identity_expressions import IdentityExpression, NoValue, shown_user
from orchtw.authn.method import authenticated
from orchtw.authn.oidc_claims import BadToken, Mapping
from orchtw.request import UserInfo
from orchtw.values.causes import go_quote
from orchtw.wire.objects import Object


class Rule(msgspec.Struct, frozen=True):
    """An expression that must be true, and the message for when it is not."""

    expression: IdentityExpression
    message: str = ""


class ClaimMapping(msgspec.Struct, frozen=True, kw_only=True):
    """Mapping of claims to a user: by the claims that `plain` names, or by expressions, which take precedence.

    A token is for one of `audiences`. Without `uid_claim` and `uid`, users have no uid; `extra` has an expression for
    each key.
    """

    plain: Mapping
    audiences: Sequence[str]
    claim_rules: Sequence[Rule] = ()
    username: IdentityExpression | None = None
    groups: IdentityExpression | None = None
    uid_claim: str = ""
    uid: IdentityExpression | None = None
    extra: Sequence[tuple[str, IdentityExpression]] = ()
    user_rules: Sequence[Rule] = ()

    @property
    def issuer(self) -> str:
        """Issuer that tokens name."""
        return self.plain.issuer

    @property
    def groups_claim(self) -> str:
        """Claim with the groups, which may be a distributed claim."""
        return self.plain.groups_claim

    def check(self, claims: Object, now: float) -> None:
        """Check that the token is for this API and valid at `now`, in seconds since the epoch. Raises BadToken."""
        self.plain.check_audience(claims, self.audiences)
        self.plain.check_times(claims, now)

    def user(self, claims: Object) -> UserInfo:
        """Return the user of verified claims. Raises BadToken."""
        for rule in self.claim_rules:
            _require(rule, claims, "validation expression")
        try:
            user = self._mapped(claims)
        except NoValue as why:
            raise BadToken(f"oidc: error evaluating claim expression: {why}") from None
        for rule in self.user_rules:
            _require(rule, shown_user(user), "user validation expression")
        return user

    def _mapped(self, claims: Object) -> UserInfo:
        name = self.plain.name(claims) if self.username is None else self.username.text(claims)
        if not name:
            raise BadToken("oidc: the user name is empty")
        groups = self.plain.group_names(claims) if self.groups is None else tuple(self.groups.texts(claims))
        self.plain.check_required(claims)
        uid = self._uid(claims)
        extra = {key: tuple(found) for key, each in self.extra if (found := each.texts(claims))}
        return authenticated(UserInfo(name=name, uid=uid, groups=groups, extra=extra))

    def _uid(self, claims: Object) -> str:
        if self.uid is not None:
            return self.uid.text(claims)
        if not self.uid_claim:
            return ""
        found = claims.get(self.uid_claim)
        if not isinstance(found, str):
            raise BadToken(f"oidc: parse uid claim {go_quote(self.uid_claim)}: must be a string")
        return found


def _require(rule: Rule, given: object, what: str) -> None:
    try:
        holds = rule.expression.holds(given)
    except NoValue as why:
        raise BadToken(f"oidc: error evaluating {what}: {why}") from None
    if not holds:
        source = go_quote(rule.expression.source)
        raise BadToken(f"oidc: error evaluating {what}: {what} {source} failed: {rule.message}")
