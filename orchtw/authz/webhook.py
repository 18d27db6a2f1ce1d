"""Mode Webhook: another server decides on SubjectAccessReviews (reference AUTHZ-34, AUTHZ-35)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import Final

import msgspec
import orjson
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from orchtw.authn.shared_calls import SharedCalls
from orchtw.authz.decision import AuthzHost, Decision, UserRules
from orchtw.authz.remembered import Remembered
from orchtw.authz.webhook_review import decision_of, review, spec_of
from orchtw.config.authorization import AuthorizationOptions
from orchtw.errors import ConfigError
from orchtw.outbound import retries
from orchtw.outbound.answers import BadResponse
from orchtw.outbound.caller import CallFailed
from orchtw.outbound.kubeconfig import load
from orchtw.outbound.remote import Remote
from orchtw.request import RequestInfo, UserInfo
from orchtw.wire.objects import Object

LONG_QUESTION: Final = 10_000
"""Length of the client-chosen attributes, in characters, from which decisions are not cached (reference AUTHZ-35)."""

ANSWER_BYTES: Final = 256 * 1024
"""Size limit of a response, which is normally short: this much JSON is parsed in one or two milliseconds."""

LOG_INTERVAL_S: Final = 1.0
"""Minimum time between logged errors: thousands of requests may arrive while the webhook is down."""

_UNLISTED: Final = UserRules(incomplete=True, error="webhook authorizer does not support user rule resolution")

Ask = Callable[[bytes], Awaitable[bytes]]
"""Function that sends a review and returns the webhook's response, both as JSON. It raises CallFailed."""


class AuthzWebhookSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of the webhook: the review's `version`, its full `api_version`, and lifetimes of cached decisions.

    `selectors`: the review has those of the request.
    """

    version: str
    api_version: str
    authorized_ttl_s: float
    unauthorized_ttl_s: float
    selectors: bool = False


class Webhook:
    """Authorizer that calls a webhook through `ask`; concurrent identical reviews share one call.

    A failed call means no opinion and is not cached. Allowed decisions have a cache of their own, so that users
    without permissions cannot evict them.
    """

    _log = Logger()

    def __init__(self, ask: Ask, settings: AuthzWebhookSettings, clock: IReactorTime) -> None:
        self._ask = ask
        self._settings = settings
        self._clock = clock
        self._allowed, self._others = Remembered(clock.seconds), Remembered(clock.seconds)
        self._calls: SharedCalls[bytes, Decision] = SharedCalls()
        self._silent_until_s = 0.0

    def authorize(self, user: UserInfo, info: RequestInfo) -> Decision | Awaitable[Decision]:
        """Return the webhook's decision, at once if it is cached."""
        spec = spec_of(user, info, self._settings.version, selectors=self._settings.selectors)
        try:
            key = sha256(orjson.dumps(spec)).digest()
        except TypeError:
            return self._unanswered("the review is not UTF-8 text")
        known = self._allowed.find(key) or self._others.find(key)
        if known is not None:
            return known
        return self._calls.result(key, lambda: self._asked(key, spec, remember=_length(info) < LONG_QUESTION))

    def rules_for(self, user: UserInfo, namespace: str) -> UserRules:
        """Return no rules, and the reason why the list is incomplete."""
        return _UNLISTED

    async def _asked(self, key: bytes, spec: Object, *, remember: bool) -> Decision:
        settings = self._settings
        try:
            answer = await self._ask(review(spec, settings.api_version))
            decision = decision_of(answer, settings.api_version)
        except (CallFailed, BadResponse) as problem:
            return self._unanswered(str(problem))
        if remember:
            if decision.allowed:
                self._allowed.keep(key, decision, settings.authorized_ttl_s)
            else:
                self._others.keep(key, decision, settings.unauthorized_ttl_s)
        return decision

    def _unanswered(self, why: str) -> Decision:
        now = self._clock.seconds()
        if now >= self._silent_until_s:
            self._silent_until_s = now + LOG_INTERVAL_S
            self._log.error("the webhook authorizer could not be asked: {why}", why=why)
        return Decision(None, error=why)


def _length(info: RequestInfo) -> int:
    """Return the length of the client-chosen attributes, in characters."""
    texts = (info.namespace, info.verb, info.group, info.version, info.resource, info.subresource, info.name)
    return sum(map(len, texts)) + len(info.path) + len(info.field_selector) + len(info.label_selector)


def from_flags(host: AuthzHost, options: AuthorizationOptions) -> Webhook:
    """Return the webhook of `--authorization-webhook-config-file`. Raises ConfigError for an invalid file."""
    path = options.webhook.config_file
    assert path is not None
    try:
        remote = load(path, host.naming, host.clock)
    except ConfigError as error:
        raise ConfigError(f"--authorization-webhook-config-file: {error}") from None

    webhook = options.webhook
    return calling(host, remote, webhook.version, (webhook.cache_authorized_ttl_s, webhook.cache_unauthorized_ttl_s))


def calling(
    host: AuthzHost,
    remote: Remote,
    version: str,
    ttls_s: tuple[float, float],
    *,
    timeout_s: float = retries.ALL_S,
) -> Webhook:
    """Return the webhook at `remote`.

    `ttls_s` are the lifetimes of allowed and of other decisions, `timeout_s` that of a call with its retries.
    """

    def ask(body: bytes) -> Awaitable[bytes]:
        return retries.post(
            host.caller, remote, body, host.clock, host.random, limit_bytes=ANSWER_BYTES, all_s=timeout_s
        )

    settings = AuthzWebhookSettings(
        version=version,
        api_version=host.naming.translate(f"authorization.orch.io/{version}"),
        authorized_ttl_s=ttls_s[0],
        unauthorized_ttl_s=ttls_s[1],
        selectors=host.selectors,
    )
    return Webhook(ask, settings, host.clock)
