"""Signing keys of an OIDC issuer: discovery, JWKS, and refreshing them (reference AUTHN-33)."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

import jwt
import msgspec
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from jwt.algorithms import ECAlgorithm, RSAAlgorithm, get_default_algorithms
from twisted.application.service import Service
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall
from twisted.logger import Logger
from twisted.python.failure import Failure

from orchtw.authn.compact import Compact
from orchtw.outbound.caller import CallAnswer, Caller, CallFailed, Question
from orchtw.outbound.policy import TLSPolicy
from orchtw.outbound.remote import Remote
from orchtw.values.causes import go_quote
from orchtw.wire.json_values import loads
from orchtw.wire.objects import Object

RETRY_S: Final = 10.0
"""Delay after an attempt before a failure or a token with an unknown key causes the next one."""

FRESH_S: Final = (60.0, 300.0, 3600.0)
"""Lifetime of a key set: the minimum, the default if the issuer does not say, and the maximum."""

CALL_S: Final = 30.0
ANSWER_BYTES: Final = 1 << 20
KEYS: Final = 100
RSA_BITS: Final = range(2048, 8192 + 1)

CURVES: Final = {"ES256": "secp256r1", "ES384": "secp384r1", "ES512": "secp521r1"}
"""The curve of each ECDSA algorithm; all other algorithms use RSA keys."""

_SHOWN: Final = 200
_MAX_AGE: Final = re.compile(r"(?:^|[\s,])max-age=\"?(\d{1,9})\"?(?:$|[\s,])", re.IGNORECASE)
_NOT_KEPT: Final = re.compile(r"(?:^|[\s,])no-(?:store|cache)(?:$|[\s,=])", re.IGNORECASE)
_OK: Final = 200
_algorithms = get_default_algorithms()


class NoKeys(Exception):
    """Failure to fetch or read the issuer's keys; the text is for the log."""


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """A public key; `kid` and `algorithm` are empty if its document does not name them."""

    kid: str
    algorithm: str
    public: RSAPublicKey | EllipticCurvePublicKey

    def verifies(self, token: Compact, algorithm: str) -> bool:
        """Report whether this key verifies the token's signature; False for an algorithm of another kind of key."""
        curve = self.public.curve.name if isinstance(self.public, EllipticCurvePublicKey) else None
        if self.algorithm not in ("", algorithm) or CURVES.get(algorithm) != curve:
            return False
        return bool(_algorithms[algorithm].verify(token.signed, self.public, token.signature))


class Fetched(msgspec.Struct, frozen=True):
    """A fetched key set, and its lifetime in seconds."""

    keys: tuple[Key, ...]
    fresh_s: float


def keys_of(document: Object) -> tuple[Key, ...]:
    """Return the usable keys of a JWKS, of its first KEYS; empty if the issuer has withdrawn all of them.

    Raises NoKeys if the document is not a JWKS.
    """
    listed = document.get("keys")
    if not isinstance(listed, list):
        raise NoKeys("the issuer's answer is not a set of keys")
    return tuple(_keys(listed[:KEYS]))


def _keys(listed: Sequence[Any]) -> Iterator[Key]:
    for each in listed:
        if not isinstance(each, dict) or each.get("use") not in (None, "sig"):
            continue
        kid, algorithm = each.get("kid") or "", each.get("alg") or ""
        if isinstance(kid, str) and isinstance(algorithm, str) and (public := _public(each)) is not None:
            yield Key(kid=kid, algorithm=algorithm, public=public)


def _public(each: Object) -> RSAPublicKey | EllipticCurvePublicKey | None:
    """Return the public key of a JWK; None if its type, size or encoding is not supported."""
    try:
        if each.get("kty") == "RSA":
            key: Any = RSAAlgorithm.from_jwk({"kty": "RSA", "n": each["n"], "e": each["e"]})
            return key if key.key_size in RSA_BITS else None
        if each.get("kty") == "EC":
            key = ECAlgorithm.from_jwk({name: each[name] for name in ("kty", "crv", "x", "y")})
            return key if key.curve.name in CURVES.values() else None
    except (jwt.PyJWTError, ValueError, TypeError, KeyError, AttributeError):
        pass
    return None


class Provider:
    """Client for an issuer's discovery document and JWKS; `authorities` are its CAs (PEM; empty: the system's)."""

    def __init__(self, caller: Caller, issuer: str, authorities: bytes, discovery_url: str = "") -> None:
        self._caller = caller
        self._issuer = issuer
        self._url = discovery_url or issuer.rstrip("/") + "/.well-known/openid-configuration"
        self._tls = TLSPolicy(authorities=authorities)

    async def fetch(self) -> Fetched:
        """Fetch the current keys. Raises NoKeys."""
        found = await self._document(self._url)
        document = _object(found)
        if document.get("issuer") != self._issuer:
            shown = go_quote(str(document.get("issuer"))[:_SHOWN])
            raise NoKeys(
                "oidc: issuer did not match the issuer returned by provider, "
                f"expected {go_quote(self._issuer)} got {shown}"
            )
        url = document.get("jwks_uri")
        if not isinstance(url, str) or not is_https(url):
            raise NoKeys(f"oidc: the issuer's jwks_uri {go_quote(str(url)[:_SHOWN])} is not an https URL")
        answer = await self._document(url)
        return Fetched(keys_of(_object(answer)), fresh_s(answer.headers))

    async def _document(self, url: str) -> CallAnswer:
        parts = urlsplit(url)
        remote = Remote(url=parts._replace(query="", fragment="").geturl(), tls=self._tls)
        question = Question(query=parts.query, headers={"Accept": "application/json"})
        try:
            answer = await self._caller.ask(remote, question, timeout_s=CALL_S, limit_bytes=ANSWER_BYTES)
        except CallFailed as problem:
            raise NoKeys(str(problem)) from None
        if answer.code != _OK:
            raise NoKeys(f"Get {go_quote(url)}: the status is {answer.code}")
        return answer


def is_https(url: str) -> bool:
    """Report whether a text is an https URL with a host and without userinfo."""
    try:
        parts = urlsplit(url)
        return parts.scheme == "https" and bool(parts.hostname) and parts.port != 0 and parts.username is None
    except ValueError:
        return False


def _object(answer: CallAnswer) -> Object:
    try:
        found = loads(answer.body)
    except ValueError:
        raise NoKeys("the issuer's answer is not JSON") from None
    if not isinstance(found, dict):
        raise NoKeys("the issuer's answer is not a JSON object")
    return found


def fresh_s(headers: Mapping[str, str]) -> float:
    """Return the remaining freshness of a response in seconds: max-age minus Age, within the limits of FRESH_S."""
    least, usual, most = FRESH_S
    control, age = headers.get("cache-control", ""), headers.get("age", "").strip()
    if _NOT_KEPT.search(control):
        return least
    found = _MAX_AGE.search(control)
    if found is None:
        return usual
    passed = int(age) if age.isascii() and age.isdigit() and len(age) < 10 else 0
    return min(max(float(int(found[1]) - passed), least), most)


class IssuerKeys(Service):
    """Keys of an issuer, fetched at startup, when they become stale, and on `refreshed`.

    `keys` is None until the first success, and empty if the issuer has withdrawn all of them. While the issuer cannot
    be reached the last keys stay. `withdrawn` is called when a key has disappeared.
    """

    _log = Logger()

    def __init__(
        self, fetch: Callable[[], Coroutine[Deferred[Any], Any, Fetched]], clock: Any, withdrawn: Callable[[], None]
    ) -> None:
        self.keys: tuple[Key, ...] | None = None
        self._fetch = fetch
        self._clock = clock
        self._withdrawn = withdrawn
        self._not_before = 0.0
        self._running: Deferred[None] | None = None
        self._timer: IDelayedCall | None = None
        self._waiting: set[Deferred[None]] = set()
        self._told = ""
        self._wait_s = RETRY_S

    def startService(self) -> None:
        """Start fetching keys in the background."""
        super().startService()  # type: ignore[no-untyped-call]
        self._begin()

    def stopService(self) -> None:
        """Stop fetching keys and cancel the timer."""
        super().stopService()  # type: ignore[no-untyped-call]
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._running is not None:
            self._running.cancel()

    async def refreshed(self) -> None:
        """Fetch the keys and wait for them; return at once if an attempt ended less than RETRY_S ago."""
        if self._running is None:
            if not self.running or self._clock.seconds() < self._not_before:
                return
            self._begin()
        if self._running is None:
            return
        waiter: Deferred[None] = Deferred()
        self._waiting.add(waiter)
        try:
            await waiter
        finally:
            self._waiting.discard(waiter)

    def _begin(self) -> None:
        if self._timer is not None and self._timer.active():
            self._timer.cancel()
        self._timer = None
        running = self._running = Deferred.fromCoroutine(self._update())
        running.addErrback(self._failed)
        running.addBoth(self._ended)

    async def _update(self) -> None:
        self._wait_s = RETRY_S
        try:
            fetched = await self._fetch()
        except NoKeys as problem:
            self._tell(f"the issuer's keys cannot be fetched: {problem}")
            return
        self._wait_s = fetched.fresh_s
        self._take(fetched.keys)

    def _take(self, keys: tuple[Key, ...]) -> None:
        before, self.keys = self.keys or (), keys
        if any(key not in keys for key in before):
            self._withdrawn()
        if keys:
            self._told = ""
        else:
            self._tell("the issuer has no usable keys: its tokens are rejected")

    def _tell(self, why: str) -> None:
        if why != self._told:
            self._told = why
            self._log.warn("oidc: {why}", why=why)

    def _failed(self, failure: Failure) -> None:
        if self.running:
            self._log.failure("oidc: the issuer's keys cannot be fetched", failure)

    def _ended(self, _result: object) -> None:
        self._running = None
        self._not_before = self._clock.seconds() + RETRY_S
        if self.running:
            self._timer = self._clock.callLater(self._wait_s, self._begin)
        waiting, self._waiting = self._waiting, set()
        for each in waiting:
            each.callback(None)
