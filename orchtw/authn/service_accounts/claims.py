"""Claims of service account tokens, built and parsed, and the signature check (reference AUTHN-25, AUTHN-61)."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from orchtw.authn.service_accounts.keys import TokenKeys
from orchtw.errors import Unauthorized
from orchtw.naming.naming import Naming
from orchtw.wire.json_values import loads
from orchtw.wire.objects import Object

USER_PREFIX: Final = "system:serviceaccount:"

MAX_TOKEN_BYTES: Final = 32 << 10
"""Size limit of a token: ours have less than 4 KiB, and parsing longer ones would let clients waste our time."""

_SIGNATURE_ONLY: Final[Any] = {
    "verify_signature": True,
    **dict.fromkeys(
        ("verify_exp", "verify_nbf", "verify_iat", "verify_aud", "verify_iss", "verify_sub", "verify_jti"), False
    ),
}
_PADDED: Final = 4


class Reference(msgspec.Struct, frozen=True):
    """An object that must exist with this uid (empty: any) for the token to be valid."""

    plural: str
    name: str
    uid: str


class Claims(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Claims of a token that one of our keys signed.

    The first of `references` is the account. `audiences` is None if the token names none: it is valid for all of this
    API's. The token is valid from `begins` to `ends` and should be renewed before `warns`: seconds since the epoch,
    0 for no such limit. `token_id` is its jti, `node` the name and uid of the node that it names; empty for none.
    """

    namespace: str
    references: Sequence[Reference]
    audiences: Sequence[str] | None
    begins: float = 0.0
    ends: float = 0.0
    warns: float = 0.0
    token_id: str = ""
    node: tuple[str, str] = ("", "")

    @property
    def kept_in_secret(self) -> bool:
        """Report whether the token comes from a Secret, which must still hold it."""
        return self.audiences is None


def build_bound_claims(
    naming: Naming,
    issuer: str,
    account: Object,
    audiences: Sequence[str],
    now: int,
    lifetime: tuple[int, int],
    bound: Object | None,
    *,
    node: Object | None,
    token_id: str,
) -> Mapping[str, Any]:
    """Return the claims of a token that `AccountTokens.bound` issues; see there for the arguments."""
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
    return {
        "aud": list(audiences),
        "exp": now + ends_s,
        "iat": now,
        "iss": issuer,
        **({"jti": token_id} if token_id else {}),
        naming.label_domain: own,
        "nbf": now,
        "sub": _subject(meta["namespace"], meta["name"]),
    }


def build_legacy_claims(naming: Naming, account: Object, secret_name: str) -> Mapping[str, Any]:
    """Return the claims of a token to be kept in a Secret."""
    meta, prefix = account["metadata"], f"{naming.label_domain}/serviceaccount/"
    return {
        "iss": naming.service_account_issuer,
        f"{prefix}namespace": meta["namespace"],
        f"{prefix}secret.name": secret_name,
        f"{prefix}service-account.name": meta["name"],
        f"{prefix}service-account.uid": meta["uid"],
        "sub": _subject(meta["namespace"], meta["name"]),
    }


def _named(meta: Object) -> Object:
    return {"name": meta["name"], "uid": meta["uid"]}


def unverified_issuer(token: str) -> str | None:
    """Return the issuer that a token names, without verifying the token; None if it is not a JWT."""
    if len(token) > MAX_TOKEN_BYTES or token.count(".") != 2:
        return None
    parts = token.split(".")
    try:
        payload = loads(base64.b64decode(parts[1] + "=" * (-len(parts[1]) % _PADDED), altchars=b"-_"))
    except (ValueError, binascii.Error):
        return None
    issuer = payload.get("iss") if isinstance(payload, dict) else None
    return issuer if isinstance(issuer, str) else None


def verified(token: str, keys: TokenKeys) -> Mapping[str, Any]:
    """Verify a token's signature and return its claims. Raises Unauthorized (401)."""
    import jwt  # late: before the first token nothing needs it

    try:
        header = jwt.get_unverified_header(token)
        for each in keys.candidates(str(header.get("kid", ""))):
            if each.algorithm == header.get("alg"):
                try:
                    found: Mapping[str, Any] = jwt.decode(
                        token, each.key, algorithms=[each.algorithm], options=_SIGNATURE_ONLY
                    )
                except jwt.InvalidSignatureError:
                    continue
                return found
    except (jwt.PyJWTError, ValueError, RecursionError) as error:
        raise Unauthorized(f"the service account token cannot be read: {type(error).__name__}") from None
    raise Unauthorized("the service account token is not signed by a trusted key")


def legacy_claims(claims: Mapping[str, Any], naming: Naming) -> Claims:
    """Parse the claims of a token kept in a Secret. Raises Unauthorized (401) if some are missing or inconsistent."""
    prefix = f"{naming.label_domain}/serviceaccount/"
    namespace, name = _text(claims, f"{prefix}namespace"), _text(claims, f"{prefix}service-account.name")
    uid, secret = _text(claims, f"{prefix}service-account.uid"), _text(claims, f"{prefix}secret.name")
    _check_subject(claims, namespace, name)
    references = (Reference("serviceaccounts", name, uid), Reference("secrets", secret, ""))
    return Claims(namespace=namespace, references=references, audiences=None)


def bound_claims(claims: Mapping[str, Any], naming: Naming) -> Claims:
    """Parse the claims of an issued token. Raises Unauthorized (401) if some are missing or inconsistent."""
    own = claims.get(naming.label_domain)
    if not isinstance(own, dict):
        raise Unauthorized("the service account token lacks required claims")
    namespace, references = _text(own, "namespace"), [_reference(own, "serviceaccount")]
    references += [_reference(own, kind) for kind in ("pod", "secret") if own.get(kind) is not None]
    node = own.get("node")
    if node is not None and own.get("pod") is None:  # bound to the node; a pod's only tells where it runs
        references.append(_reference(own, "node"))
    token_id = claims.get("jti")
    _check_subject(claims, namespace, references[0].name)
    audiences = claims.get("aud")
    listed = [audiences] if isinstance(audiences, str) else audiences
    if not isinstance(listed, list) or not all(isinstance(each, str) for each in listed):
        raise Unauthorized("the audiences of the service account token must be strings")
    begins = max(_number(claims, "nbf", 0.0), _number(claims, "iat", 0.0))
    return Claims(
        namespace=namespace,
        references=tuple(references),
        audiences=tuple(listed),
        begins=begins,
        ends=_number(claims, "exp", None),
        warns=_number(own, "warnafter", 0.0),
        token_id=token_id if isinstance(token_id, str) else "",
        node=_node(node),
    )


def _node(node: object) -> tuple[str, str]:
    if not isinstance(node, dict):
        return "", ""
    name, uid = node.get("name"), node.get("uid")
    return name if isinstance(name, str) else "", uid if isinstance(uid, str) else ""


def _reference(own: Mapping[str, Any], kind: str) -> Reference:
    named = own.get(kind)
    if not isinstance(named, dict):
        raise Unauthorized(f"the service account token has no {kind}")
    return Reference(f"{kind}s", _text(named, "name"), _text(named, "uid"))


def _subject(namespace: str, name: str) -> str:
    return f"{USER_PREFIX}{namespace}:{name}"


def _check_subject(claims: Mapping[str, Any], namespace: str, name: str) -> None:
    if claims.get("sub") != _subject(namespace, name):
        raise Unauthorized("the subject of the service account token is not its account")


def _text(claims: Mapping[str, Any], name: str) -> str:
    found = claims.get(name)
    if not isinstance(found, str) or not found:
        raise Unauthorized(f"the service account token has no claim {name}")
    return found


def _number(claims: Mapping[str, Any], name: str, default: float | None) -> float:
    found = claims.get(name, default)
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise Unauthorized(f"claim {name} of the service account token is not a valid timestamp")
    return float(found)
