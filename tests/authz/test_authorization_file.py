"""File of `--authorization-config`: mistakes, conditions of webhooks, failure policies, and following it."""
# covers: orchtw.authz.configured, orchtw.authz.match_conditions

from __future__ import annotations

from collections.abc import Awaitable
from pathlib import Path
from random import Random
from typing import Any, cast

import orjson
from twisted.application.service import MultiService
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.authz.authorization_file import Entry, read
from orchtw.authz.configured import Configured, from_file
from orchtw.authz.decision import ALLOWED, NO_OPINION, AuthzHost, Decision, UserRules
from orchtw.authz.fixed import AlwaysAllow, AlwaysDeny
from orchtw.authz.match_conditions import Conditional, condition_of
from orchtw.errors import ConfigError
from orchtw.naming.naming import Naming
from orchtw.outbound.followed_file import INTERVAL_S
from orchtw.request import RequestInfo, UserInfo
from orchtw.schema.cel.environment import environment

MODES = ("ABAC", "AlwaysAllow", "AlwaysDeny", "Node", "RBAC", "Webhook")
ANN = UserInfo(name="ann", uid="1", groups=("cooks",), extra={"a": ("b",)})
PODS = RequestInfo(is_resource=True, verb="list", path="/api/v1/pods", version="v1", resource="pods")
METRICS = RequestInfo(is_resource=False, verb="get", path="/metrics")
KNOWN = environment((1, 36))


class FileCase(SynchronousTestCase):
    def setUp(self) -> None:
        self.path = Path(self.mktemp())

    def write(self, *authorizers: Any) -> None:
        kind = {"apiVersion": "apiserver.config.orch.io/v1", "kind": "AuthorizationConfiguration"}
        self.path.write_bytes(orjson.dumps({**kind, "authorizers": authorizers}))

    def webhook(self, **more: Any) -> dict[str, Any]:
        """An authorizer of type Webhook whose kubeconfig is the file itself."""
        settings = {
            "timeout": "3s",
            "subjectAccessReviewVersion": "v1",
            "matchConditionSubjectAccessReviewVersion": "v1",
            "failurePolicy": "Deny",
            "connectionInfo": {"type": "KubeConfigFile", "kubeConfigFile": str(self.path.absolute())},
            **more,
        }
        return {"type": "Webhook", "name": "hook", "webhook": settings}

    def read(self) -> list[Entry]:
        return list(read(self.path, KNOWN, MODES))

    def assertMistakes(self, *lines: str) -> None:
        error = self.assertRaises(ConfigError, self.read)
        self.assertEqual(error.problems, tuple(f"--authorization-config: {self.path}: {line}" for line in lines))


class MistakeTests(FileCase):
    def test_authorizers(self) -> None:
        """Types are known and unique but for webhooks; names are unique (reference AUTHZ-40)."""
        self.write()
        self.assertMistakes("authorizers: Required value: at least one authorization mode must be defined")
        self.write(
            {"type": "RBAC", "name": "a"}, {"type": "RBAC", "name": "a", "webhook": {}}, {"type": "X", "name": "_"}
        )
        supported = ", ".join(f'"{mode}"' for mode in MODES)
        error = self.assertRaises(ConfigError, self.read)
        self.assertEqual(len(error.problems), 5)
        for line, text in zip(
            error.problems,
            (
                'authorizers[1].type: Duplicate value: "RBAC"',
                'authorizers[1].name: Duplicate value: "a"',
                'authorizers[1].webhook: Invalid value: "non-null": may only be specified when type=Webhook',
                f'authorizers[2].type: Unsupported value: "X": supported values: {supported}',
                'authorizers[2].name: Invalid value: "_": ',
            ),
            strict=True,
        ):
            self.assertIn(text, line)
        self.write({"type": "Webhook"})
        self.assertMistakes(
            "authorizers[0].name: Required value",
            "authorizers[0].webhook: Required value: required when type=Webhook",
        )

    def test_webhook(self) -> None:
        """Times, versions, policy, connection and conditions of a webhook are checked (reference AUTHZ-40)."""
        where = "authorizers[0].webhook"
        self.write(
            self.webhook(
                timeout="31s",
                authorizedTTL="0s",
                subjectAccessReviewVersion="v2",
                failurePolicy="",
                connectionInfo={"type": "KubeConfigFile", "kubeConfigFile": "a"},
                matchConditions=[{"expression": "request.user"}, {"expression": ""}, {"expression": "request.what"}],
            )
        )
        error = self.assertRaises(ConfigError, self.read)
        for line, text in zip(
            error.problems,
            (
                f'{where}.timeout: Invalid value: "31s": must be > 0s and <= 30s',
                f'{where}.authorizedTTL: Invalid value: "0s": must be > 0s',
                f'{where}.subjectAccessReviewVersion: Unsupported value: "v2": supported values: "v1", "v1beta1"',
                f"{where}.failurePolicy: Required value",
                f'{where}.connectionInfo.kubeConfigFile: Invalid value: "a": must be an absolute path',
                f'{where}.matchConditions[0].expression: Invalid value: "request.user": must evaluate to bool',
                f"{where}.matchConditions[1].expression: Required value: expression is required",
                f'{where}.matchConditions[2].expression: Invalid value: "request.what": compilation failed: ',
            ),
            strict=True,
        ):
            self.assertIn(text, line)

    def test_good(self) -> None:
        """Several webhooks and modes stand in the file's order (reference AUTHZ-40)."""
        other = {**self.webhook(failurePolicy="NoOpinion", authorizedTTL="1m"), "name": "other"}
        self.write(self.webhook(), {"type": "RBAC", "name": "rbac"}, other)
        entries = self.read()
        self.assertEqual([each.mode for each in entries], ["Webhook", "RBAC", "Webhook"])
        first, last = entries[0].webhook, entries[2].webhook
        assert first is not None and last is not None
        self.assertEqual((first.denies, first.timeout_s, first.authorized_ttl_s), (True, 3.0, 300.0))
        self.assertEqual((last.denies, last.authorized_ttl_s, last.unauthorized_ttl_s), (False, 60.0, 30.0))


class Answering:
    """Authorizer that always decides the same, and counts questions."""

    def __init__(self, decision: Decision) -> None:
        self.decision = decision
        self.asked = 0

    def authorize(self, user: UserInfo, info: RequestInfo) -> Decision | Awaitable[Decision]:
        self.asked += 1
        return self.decision

    def rules_for(self, user: UserInfo, namespace: str) -> UserRules:
        return UserRules()


class ConditionTests(SynchronousTestCase):
    def decide(self, inner: Answering, *sources: str, denies: bool = True, info: RequestInfo = PODS) -> Any:
        conditions = [condition_of(source, KNOWN) for source in sources]
        self.assertFalse([each.fault for each in conditions if each.fault])
        return Conditional(inner, conditions, denies=denies).authorize(ANN, info)

    def test_conditions(self) -> None:
        """Only a request for which all conditions are true is sent (reference AUTHZ-41)."""
        mine = "request.user == 'ann' && 'cooks' in request.groups && request.extra['a'] == ['b']"
        pods = "has(request.resourceAttributes) && request.resourceAttributes.namespace == ''"
        for sources, info, asked in (
            ((mine, pods), PODS, 1),
            ((mine, pods), METRICS, 0),
            (("request.nonResourceAttributes.path == '/metrics'",), METRICS, 1),
            (("request.uid == '2'", "request.resourceAttributes.name == ''"), METRICS, 0),
        ):
            inner = Answering(ALLOWED)
            found = self.decide(inner, *sources, info=info)
            self.assertEqual((inner.asked, found), (asked, ALLOWED if asked else NO_OPINION), sources)

    def test_failures(self) -> None:
        """A condition without a value, and a webhook without an answer, go by the policy (reference AUTHZ-41)."""
        broken = "request.resourceAttributes.namespace == ''"
        failed = Decision(None, error="connection refused")
        for denies, allowed in ((True, False), (False, None)):
            inner = Answering(ALLOWED)
            found = self.decide(inner, broken, denies=denies, info=METRICS)
            self.assertEqual((found.allowed, inner.asked), (allowed, 0))
            self.assertEqual(found.error, f"expression '{broken}' resulted in error: no such key: resourceAttributes")
            self.assertEqual(self.decide(Answering(failed), denies=denies).allowed, allowed)
            self.assertEqual(self.decide(Answering(NO_OPINION), denies=denies), NO_OPINION)


class FollowTests(FileCase):
    def test_changed(self) -> None:
        """A file that has changed is read within a minute; one with mistakes changes nothing (reference AUTHZ-40)."""
        clock, services = Clock(), MultiService()
        host = AuthzHost(
            naming=Naming.orch(),
            clock=clock,
            random=Random(1),
            targets=cast(Any, None),
            caller=cast(Any, None),
            services=services,
            roles=cast(Any, None),
        )
        self.write({"type": "AlwaysAllow", "name": "all"})
        modes: dict[str, Any] = {"AlwaysAllow": AlwaysAllow, "AlwaysDeny": AlwaysDeny}
        found = from_file(host, self.path, (), modes)
        services.startService()
        self.addCleanup(services.stopService)
        self.assertEqual(self.allowed(found), True)
        self.write({"type": "AlwaysDeny", "name": "none-at-all"})
        clock.advance(INTERVAL_S)
        self.assertIsNot(self.allowed(found), True)
        self.write({"type": "Strange", "name": "strange-and-longer"})
        clock.advance(INTERVAL_S)
        self.assertIsNot(self.allowed(found), True)
        self.assertEqual(len(self.flushLoggedErrors()), 0)

    def allowed(self, found: Configured) -> bool | None:
        decision = found.authorize(ANN, PODS)
        assert isinstance(decision, Decision)
        return decision.allowed
