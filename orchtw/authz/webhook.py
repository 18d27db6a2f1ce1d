"""Mode Webhook: another server is asked by SubjectAccessReviews (reference AUTHZ-34, AUTHZ-35)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import Final

import attrs
import orjson
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from orchtw.authn.shared_calls import SharedCalls
from orchtw.authz.decision import AuthzHost, Decision, UserRules
from orchtw.authz.remembered import Remembered
from orchtw.authz.webhook_review import decision_of, review, spec_of
from orchtw.config import Config
from orchtw.errors import ConfigError
from orchtw.outbound import retries
from orchtw.outbound.answers import BadResponse
from orchtw.outbound.caller import CallFailed
from orchtw.outbound.kubeconfig import load
from orchtw.request import RequestInfo, UserInfo
from orchtw.wire.objects import Object

LONG_QUESTION: Final = 10_000
"""Characters that the requester chose, from which on an answer is not remembered (reference AUTHZ-35)."""

ANSWER_BYTES: Final = 256 * 1024
"""Of an answer, which is a few words: so much JSON is read in a millisecond or two."""

LOG_INTERVAL_S: Final = 1.0
"""Between two lines about troubles: requests may come in thousands while the webhook is away."""

_UNLISTED: Final = UserRules(incomplete=True, error="webhook authorizer does not support user rule resolution")

Ask = Callable[[bytes], Awaitable[bytes]]
"""The webhook's answer to a review, both as JSON. Raises CallFailed."""


@attrs.frozen(slots=True, kw_only=True)
class WebhookSettings:
    """Reviews are of `version` of the group that `api_version` names whole; answers are remembered so long."""

    version: str
    api_version: str
    authorized_ttl_s: float
    unauthorized_ttl_s: float


class Webhook:
    """Authorizer that calls a webhook by `ask`, once for equal questions at the same time.

    A webhook that cannot be asked has no opinion; that is not cached. Permissions are cached apart from refusals:
    users who are allowed nothing cannot evict them.
    """

    _log = Logger()

    def __init__(self, ask: Ask, settings: WebhookSettings, clock: IReactorTime) -> None:
        self._ask = ask
        self._settings = settings
        self._clock = clock
        self._allowed, self._others = Remembered(clock.seconds), Remembered(clock.seconds)
        self._calls: SharedCalls[bytes, Decision] = SharedCalls()
        self._silent_until_s = 0.0

    def authorize(self, user: UserInfo, info: RequestInfo) -> Decision | Awaitable[Decision]:
        """Return the webhook's decision, at once if it is cached."""
        spec = spec_of(user, info, self._settings.version)
        try:
            key = sha256(orjson.dumps(spec)).digest()
        except TypeError:
            return self._unanswered("the question is not UTF-8 text")
        known = self._allowed.find(key) or self._others.find(key)
        if known is not None:
            return known
        return self._calls.result(key, lambda: self._asked(key, spec, remember=_length(info) < LONG_QUESTION))

    def rules_for(self, user: UserInfo, namespace: str) -> UserRules:
        """Nothing, and the reason why that is not all."""
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
    """Characters of what the requester chose."""
    texts = (info.namespace, info.verb, info.group, info.version, info.resource, info.subresource, info.name)
    return sum(map(len, texts)) + len(info.path)


def from_flags(host: AuthzHost, config: Config) -> Webhook:
    """The webhook of `--authorization-webhook-config-file`. Raises ConfigError for a file that is no good."""
    path = config.authorization_webhook_config_file
    assert path is not None
    try:
        remote = load(path, host.naming, host.clock)
    except ConfigError as error:
        raise ConfigError(f"--authorization-webhook-config-file: {error}") from None

    def ask(body: bytes) -> Awaitable[bytes]:
        return retries.post(host.caller, remote, body, host.clock, host.random, limit_bytes=ANSWER_BYTES)

    version = config.authorization_webhook_version
    settings = WebhookSettings(
        version=version,
        api_version=host.naming.translate(f"authorization.orch.io/{version}"),
        authorized_ttl_s=config.authorization_webhook_cache_authorized_ttl_s,
        unauthorized_ttl_s=config.authorization_webhook_cache_unauthorized_ttl_s,
    )
    return Webhook(ask, settings, host.clock)
