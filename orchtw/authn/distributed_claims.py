"""Distributed claims: groups that an ID token refers to at another endpoint (reference AUTHN-57, AUTHN-58)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
from twisted.application.service import MultiService
from twisted.internet.defer import DeferredSemaphore

from orchtw.authn.compact import CHARACTERS, Compact, compact
from orchtw.authn.oidc_claims import BadToken
from orchtw.authn.oidc_keys import CALL_S, IssuerKeys, Provider, is_https
from orchtw.authn.oidc_rules import UNSIGNED, TokenRules, is_signed
from orchtw.outbound.caller import Caller, CallFailed, Question
from orchtw.outbound.policy import TLSPolicy
from orchtw.outbound.remote import Remote
from orchtw.values.causes import go_quote
from orchtw.wire.objects import Object

CALLS: Final = 100
"""Maximum number of concurrent calls; further tokens wait."""

ISSUERS: Final = 16
"""Maximum number of distributed-claim issuers whose keys are kept."""

_PREFIX: Final = "oidc: could not expand distributed claims: "
_SHOWN: Final = 200


class ClaimSource(msgspec.Struct, frozen=True):
    """Endpoint of a distributed claim, and the bearer token to send there (empty: none)."""

    url: str
    access_token: str


def source_of(claims: Object, claim: str) -> ClaimSource | None:
    """Return the source of the claim; None if it is in the token, or nowhere. Raises BadToken if it is malformed."""
    if not claim or claim in claims or "_claim_names" not in claims:
        return None
    names, sources = claims["_claim_names"], claims.get("_claim_sources")
    if not isinstance(names, dict) or not all(isinstance(each, str) for each in names.values()):
        raise _bad("oidc: error parsing distributed claim names")
    if sources is None:
        raise _bad("oidc: no claim sources")
    if not isinstance(sources, dict):
        raise _bad("oidc: could not parse claim sources")
    if claim not in names:
        return None
    source = names[claim]
    if source not in sources:
        raise _bad(f"id token _claim_names contained a source {source[:_SHOWN]} missing in _claims_sources")
    return _source(sources[source])


def _source(found: Any) -> ClaimSource | None:
    """Return the endpoint; None for an aggregated claim, whose JWT is inline."""
    url = found.get("endpoint", "") if isinstance(found, dict) else None
    access_token = found.get("access_token", "") if isinstance(found, dict) else None
    if not isinstance(url, str) or not isinstance(access_token, str):
        raise _bad("oidc: could not parse claim sources")
    if not url:
        return None
    if not is_https(url):
        raise _bad(f"the endpoint {go_quote(url[:_SHOWN])} is not an https URL")
    if not access_token.isascii() or not access_token.isprintable():
        raise _bad("oidc: could not parse claim sources")
    return ClaimSource(url, access_token)


class OtherIssuers:
    """Keys of the issuers of distributed claims: fetched on first use, kept fresh for the ISSUERS used last."""

    def __init__(
        self,
        caller: Caller,
        authorities: bytes,
        clock: Any,
        services: MultiService,
        known: tuple[str, IssuerKeys],
        withdrawn: Callable[[], None],
    ) -> None:
        """`known` is the issuer of ID tokens, whose keys another service keeps; `withdrawn` as in `IssuerKeys`."""
        self._own = known
        self._withdrawn = withdrawn
        self._caller = caller
        self._authorities = authorities
        self._clock = clock
        self._services = services
        self._keys: OrderedDict[str, IssuerKeys] = OrderedDict()

    def keys_of(self, issuer: str) -> IssuerKeys:
        """Return the issuer's keys, which may not have been fetched yet."""
        if issuer == self._own[0]:
            return self._own[1]
        if (known := self._keys.get(issuer)) is None:
            while len(self._keys) >= ISSUERS:
                self._keys.popitem(last=False)[1].disownServiceParent()  # type: ignore[no-untyped-call]
            provider = Provider(self._caller, issuer, self._authorities)
            known = self._keys[issuer] = IssuerKeys(provider.fetch, self._clock, self._withdrawn)
            known.setServiceParent(self._services)  # type: ignore[no-untyped-call]
        self._keys.move_to_end(issuer)
        return known


class DistributedClaims:
    """Client for distributed claims; a response is verified like an ID token: signature, audience and times."""

    def __init__(
        self, claim: str, caller: Caller, authorities: bytes, rules: TokenRules, issuers: OtherIssuers
    ) -> None:
        self._claim = claim
        self._caller = caller
        self._tls = TLSPolicy(authorities=authorities)
        self._rules = rules
        self._issuers = issuers
        self._seats = DeferredSemaphore(CALLS)

    async def value(self, source: ClaimSource) -> Any:
        """Fetch and verify the claim. Raises BadToken."""
        await self._seats.acquire()
        try:
            token = compact(await self._asked(source))
        finally:
            self._seats.release()
        if token is None:
            raise self._failed("the answer is not a signed token")
        try:
            self._rules.check(token)
        except BadToken as problem:
            raise _bad(f"verify distributed claim token: {problem}") from None
        await self._verify(token)
        if self._claim not in token.claims:
            url = source.url[:_SHOWN]
            raise _bad(f"jwt returned by distributed claim endpoint {url} did not contain claim: {self._claim}")
        return token.claims[self._claim]

    async def _asked(self, source: ClaimSource) -> str:
        parts = urlsplit(source.url)
        remote = Remote(url=parts._replace(query="", fragment="").geturl(), tls=self._tls)
        headers = {"Authorization": f"Bearer {source.access_token}"} if source.access_token else {}
        question = Question(query=parts.query, headers=headers)
        try:
            answer = await self._caller.ask(remote, question, timeout_s=CALL_S, limit_bytes=CHARACTERS)
        except CallFailed as problem:
            raise self._failed(str(problem)) from None
        if not 200 <= answer.code <= 299:
            raise self._failed(f"error while getting distributed claim JWT: the status is {answer.code}")
        return answer.body.decode("ascii", "replace").strip()

    async def _verify(self, token: Compact) -> None:
        issuer = token.claims.get("iss")
        if not isinstance(issuer, str) or not is_https(issuer):
            raise _bad(f"verifier unavailable for untrusted issuer {str(issuer)[:_SHOWN]}")
        keys = self._issuers.keys_of(issuer)
        if keys.keys is None or not is_signed(token, keys.keys):
            await keys.refreshed()
        if not is_signed(token, keys.keys or ()):
            raise _bad(f"verify distributed claim token: {UNSIGNED}")

    def _failed(self, why: str) -> BadToken:
        return _bad(f"while getting distributed claim {go_quote(self._claim)}: {why}")


def _bad(why: str) -> BadToken:
    return BadToken(_PREFIX + why)
