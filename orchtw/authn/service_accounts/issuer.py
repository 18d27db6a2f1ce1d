"""Issuing of service account tokens: settings and signature (reference AUTHN-24, AUTHN-25)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from orchtw.authn.service_accounts.claims import build_bound_claims, build_legacy_claims
from orchtw.authn.service_accounts.keys import SigningKey, TokenKeys
from orchtw.naming.naming import Naming
from orchtw.wire.objects import Object


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
        """Issue a token for `audiences`, valid from `now` (seconds since the epoch).

        `lifetime` is as `token_lifetime` returns it. Deleting the Pod, Secret or Node `bound`, if given, revokes the
        token. `node` is the name and uid of the pod's node, `token_id` the id of the token, empty if it has none
        (reference AUTHN-61).
        """
        claims = build_bound_claims(
            self.naming, self.issuers[0], account, audiences, now, lifetime, bound, node=node, token_id=token_id
        )
        return _signed(claims, self.keys.signing)

    def legacy(self, account: Object, secret_name: str) -> str:
        """Issue a token to be kept in a Secret; it does not expire."""
        return _signed(build_legacy_claims(self.naming, account, secret_name), self.keys.in_secrets)


def _signed(claims: Mapping[str, Any], signing: SigningKey) -> str:
    import jwt  # late: before the first token nothing needs it

    headers = {"kid": signing.public.kid, "typ": None}
    return jwt.encode(dict(claims), signing.key, signing.public.algorithm, headers=headers)


def default_issuer(naming: Naming) -> str:
    """Return the issuer for when no flag names one: the server's own name inside the cluster."""
    return f"https://{naming.service_host}.cluster.local"


def credential_id(token_id: str) -> str:
    """Return the id of a token as users and audit events carry it (reference AUTHN-61)."""
    return f"JTI={token_id}"
