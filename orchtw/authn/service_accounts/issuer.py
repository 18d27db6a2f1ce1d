"""Issuing of service account tokens: claims, lifetime and signature (reference AUTHN-25, AUTHN-30)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from orchtw.authn.service_accounts.keys import SigningKey, TokenKeys
from orchtw.naming.naming import Naming
from orchtw.wire.objects import Object

WARNED_S: Final = 3607
"""Lifetime that node agents request for a pod's default token; an extended token is stale after it (AUTHN-30)."""
EXTENDED_S: Final = 365 * 24 * 3600

USER_PREFIX: Final = "system:serviceaccount:"


class AccountTokens(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Rules for issuing and accepting service account tokens.

    The first of `issuers` is put into new tokens, all are accepted. `audiences` are those of this API. `max_s` caps
    requested lifetimes (0: no limit); `extends` extends the lifetime of pods' tokens (AUTHN-30). With `lookup`, a
    token in a Secret is valid only while the Secret holds it. `credential_ids`: issued tokens have an id, which their
    users carry; `node_info`: tokens of pods, and their users, name the node; `binds_nodes`: tokens may be bound to
    nodes.
    """

    naming: Naming
    keys: TokenKeys
    issuers: Sequence[str]
    audiences: Sequence[str]
    lookup: bool = True
    max_s: int = 0
    extends: bool = True
    jwks_uri: str = ""
    credential_ids: bool = False
    node_info: bool = False
    binds_nodes: bool = False

    @classmethod
    def default(cls, naming: Naming) -> AccountTokens:
        """Return the rules of a server without flags and files, whose key lives as long as the process."""
        issuers = (default_issuer(naming),)
        return cls(naming=naming, keys=TokenKeys.fresh(), issuers=issuers, audiences=issuers)

    def lifetime(self, asked_s: int, audiences: Sequence[str], *, pod_bound: bool) -> tuple[int, int]:
        """Return the seconds until a token expires, and until its use is counted as stale (0: never)."""
        own = set(audiences) <= set(self.audiences)
        if self.extends and pod_bound and asked_s == WARNED_S and own:
            return EXTENDED_S, asked_s
        return asked_s, 0

    def bound(
        self,
        account: Object,
        audiences: Sequence[str],
        now: int,
        lifetime: tuple[int, int],
        bound: Object | None,
        *,
        node: Object | None = None,
        token_id: str = "",
    ) -> str:
        """Issue a token for `audiences`, valid from `now` (seconds since the epoch); see `lifetime` for its lifetime.

        Deleting the Pod, Secret or Node `bound`, if given, revokes it. `node` is the name and uid of the pod's node,
        `token_id` the id of the token, empty if it has none (reference AUTHN-61).
        """
        meta, (ends_s, warns_s) = account["metadata"], lifetime
        own: Object = {"namespace": meta["namespace"]}
        if bound is not None:
            own[bound["kind"].lower()] = _named(bound["metadata"])
        if node is not None:
            own["node"] = node
        own = dict(sorted(own.items()))
        own["serviceaccount"] = _named(meta)
        if warns_s:
            own["warnafter"] = now + warns_s
        claims = {
            "aud": list(audiences),
            "exp": now + ends_s,
            "iat": now,
            "iss": self.issuers[0],
            **({"jti": token_id} if token_id else {}),
            self.naming.label_domain: own,
            "nbf": now,
            "sub": subject(meta),
        }
        return _signed(claims, self.keys.signing)

    def legacy(self, account: Object, secret_name: str) -> str:
        """Issue a token to be kept in a Secret; it does not expire."""
        meta, prefix = account["metadata"], f"{self.naming.label_domain}/serviceaccount/"
        claims = {
            "iss": self.naming.service_account_issuer,
            f"{prefix}namespace": meta["namespace"],
            f"{prefix}secret.name": secret_name,
            f"{prefix}service-account.name": meta["name"],
            f"{prefix}service-account.uid": meta["uid"],
            "sub": subject(meta),
        }
        return _signed(claims, self.keys.in_secrets)


def _signed(claims: Mapping[str, Any], signing: SigningKey) -> str:
    import jwt  # late: before the first token nothing needs it

    headers = {"kid": signing.public.kid, "typ": None}
    return jwt.encode(dict(claims), signing.key, signing.public.algorithm, headers=headers)


def default_issuer(naming: Naming) -> str:
    """Return the issuer for when no flag names one: the server's own name inside the cluster."""
    return f"https://{naming.service_host}.cluster.local"


def subject(meta: Object) -> str:
    """Return the user name of the account with this metadata."""
    return f"{USER_PREFIX}{meta['namespace']}:{meta['name']}"


def credential_id(token_id: str) -> str:
    """Return the id of a token as users and audit events carry it (reference AUTHN-61)."""
    return f"JTI={token_id}"


def _named(meta: Object) -> Object:
    return {"name": meta["name"], "uid": meta["uid"]}
