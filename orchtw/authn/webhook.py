"""Webhook token authentication: the webhook answers a TokenReview with the token's user
(reference AUTHN-36, AUTHN-37).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

import orjson
from twisted.internet.defer import DeferredSemaphore

from orchtw.authn.audiences import common
from orchtw.authn.method import AuthnHost, ShownToken, authenticated
from orchtw.authn.shared_calls import SharedCalls
from orchtw.authn.token_cache import Accepted, Refused, Verdict, Verdicts, accepted
from orchtw.config.authentication import AuthenticationOptions
from orchtw.errors import ConfigError, Unauthorized
from orchtw.metrics.token_cache import TokenCache
from orchtw.outbound import retries
from orchtw.outbound.caller import CallFailed
from orchtw.outbound.kubeconfig import load
from orchtw.request import UserInfo
from orchtw.values.causes import go_quote
from orchtw.wire.json_values import loads
from orchtw.wire.objects import Object

ANSWER_BYTES: Final = 256 * 1024
"""Size limit of a response: ten thousand groups. Checking one of only extra keys takes 40 ms."""

_SHOWN: Final = 200
"""Most characters of the webhook's error that are logged."""

CALLS: Final = 100
"""Maximum number of concurrent calls, each a connection; further tokens wait, since any client can invent tokens."""

Ask = Callable[[bytes], Awaitable[bytes]]


class BadTokenReview(Exception):
    """A response that is not a valid TokenReview; the text says why."""


class WebhookTokens:
    """Authenticator that calls the webhook and caches both kinds of verdict for `ttl_s`; failed calls are not cached.

    `ask` posts a body and returns the response's, or raises CallFailed. Concurrent requests with the same token share
    one call.
    """

    def __init__(
        self,
        ask: Ask,
        verdicts: Verdicts,
        *,
        api_version: str,
        ttl_s: float,
        audiences: Sequence[str] = (),
        metrics: TokenCache | None = None,
    ) -> None:
        """`audiences` are this API's."""
        self._metrics = metrics or TokenCache()
        self._ask = ask
        self._verdicts = verdicts
        self._api_version = api_version
        self._ttl_s = ttl_s
        self._audiences = tuple(audiences)
        self._calls: SharedCalls[bytes, Verdict] = SharedCalls()
        self._seats = DeferredSemaphore(CALLS)

    def find(self, shown: ShownToken) -> UserInfo | Awaitable[UserInfo]:
        """Return the token's user. Raises Unauthorized (401) if the webhook rejects the token or the call fails."""
        digest = self._verdicts.digest(shown.token, shown.audiences)
        known = self._verdicts.known(digest)
        if known is None:
            return self._found(shown, digest)
        self._metrics.hit()
        return _user_of(known, shown)

    async def _found(self, shown: ShownToken, digest: bytes) -> UserInfo:
        running = digest in self._calls
        asked = self._calls.result(digest, lambda: self._asked(shown.token, shown.audiences, digest))
        return _user_of(await self._metrics.missed(asked, shared=running), shown)

    async def _asked(self, token: str, audiences: Sequence[str], digest: bytes) -> Verdict:
        try:
            body = orjson.dumps(self._question(token, audiences))
        except TypeError:
            return Refused("webhook: the token is not UTF-8 text")
        await self._seats.acquire()
        try:
            verdict = verdict_of(await self._ask(body), self._api_version, audiences, self._audiences)
        except (CallFailed, BadTokenReview) as problem:
            raise Unauthorized(f"webhook: {problem}") from None
        finally:
            self._seats.release()
        self._verdicts.keep(digest, verdict, self._ttl_s)
        return verdict

    def _question(self, token: str, audiences: Sequence[str]) -> Object:
        spec: Object = {"token": token}
        if audiences:
            spec["audiences"] = list(audiences)
        return {
            "kind": "TokenReview",
            "apiVersion": self._api_version,
            "metadata": {"creationTimestamp": None},
            "spec": spec,
            "status": {"user": {}},
        }


def from_flags(host: AuthnHost, options: AuthenticationOptions) -> WebhookTokens:
    """Return the webhook of `--authentication-token-webhook-config-file`.

    Raises ConfigError for an invalid file.
    """
    path = options.webhook.config_file
    assert path is not None
    try:
        remote = load(path, host.naming, host.clock)
    except ConfigError as error:
        raise ConfigError(f"--authentication-token-webhook-config-file: {error}") from None

    def ask(body: bytes) -> Awaitable[bytes]:
        return retries.post(host.caller, remote, body, host.clock, host.random, limit_bytes=ANSWER_BYTES)

    return WebhookTokens(
        ask,
        Verdicts(host.key, host.clock.seconds),
        api_version=host.naming.api_version(f"authentication.orch.io/{options.webhook.version}"),
        ttl_s=options.webhook.cache_ttl_s,
        audiences=host.accounts.audiences,
        metrics=host.metrics.cache,
    )


def _user_of(verdict: Verdict, shown: ShownToken) -> UserInfo:
    found = accepted(verdict)
    shown.accepted = found.audiences
    return found.user


def verdict_of(body: bytes, api_version: str, audiences: Sequence[str] = (), own: Sequence[str] = ()) -> Verdict:
    """Parse a TokenReview; of `audiences`, if given, it must accept at least one. Raises BadTokenReview.

    A response that names no audiences is valid for the API's `own`.
    """
    try:
        review = loads(body)
    except ValueError:
        raise BadTokenReview("the answer is not JSON") from None
    if not isinstance(review, dict) or review.get("kind") != "TokenReview":
        raise BadTokenReview("the answer is not a TokenReview")
    if review.get("apiVersion") != api_version:
        raise BadTokenReview(f"the answer's apiVersion is {_shown(review.get('apiVersion'))}, expected {api_version}")
    status = _typed(review, "status", dict, {})
    if not _typed(status, "authenticated", bool, False):
        return Refused(_line(_typed(status, "error", str, "")))
    meant = common(audiences, _texts(status, "audiences") or own)
    if audiences and not meant:
        return Refused("webhook: the token is for other audiences")
    return Accepted(_user(_typed(status, "user", dict, {})), meant)


def _user(user: Object) -> UserInfo:
    extra = _typed(user, "extra", dict, {})
    return authenticated(
        UserInfo(
            name=_typed(user, "username", str, ""),
            uid=_typed(user, "uid", str, ""),
            groups=_texts(user, "groups"),
            extra={key: _texts(extra, key) for key in extra},
        )
    )


def _typed(obj: Object, name: str, kind: type, default: Any) -> Any:
    value = obj.get(name)
    if value is None:
        return default
    if not isinstance(value, kind):
        raise BadTokenReview(f"the answer's {_shown(name)} has the wrong type")
    return value


def _texts(obj: Object, name: str) -> tuple[str, ...]:
    found = _typed(obj, name, list, [])
    if not all(isinstance(each, str) for each in found):
        raise BadTokenReview(f"the answer's {_shown(name)} contains a non-string value")
    return tuple(found)


def _line(text: str) -> str:
    """Return the beginning of the webhook's text, with characters that could forge a log line replaced."""
    return "".join(char if char.isprintable() else " " for char in text[:_SHOWN])


def _shown(value: object) -> str:
    return go_quote(str(value)[:_SHOWN])
