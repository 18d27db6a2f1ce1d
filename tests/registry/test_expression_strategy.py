"""Writes of kinds with expressions: to compile them takes long for objects that are small (reference LIMIT-24)."""

from __future__ import annotations

from threading import current_thread, main_thread
from typing import Any

from twisted.internet import reactor as installed_reactor
from twisted.trial.unittest import TestCase

from orchtw.registry.strategy import Strategy
from orchtw.wire.objects import Object
from tests.emulated import since
from tests.in_process import InProcessServer

reactor: Any = installed_reactor
ADMISSION = "/apis/admissionregistration.orch.io/v1"
WEBHOOKS = f"{ADMISSION}/validatingwebhookconfigurations"
SMALL, LARGE = "true", " && ".join(["true"] * 400)  # 2.8 KB


def policy(expression: str) -> tuple[str, Object]:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    spec = {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": expression}]}
    return f"{ADMISSION}/validatingadmissionpolicies", {"spec": spec}


def webhook(*conditions: str, note: str = "") -> tuple[str, Object]:
    hook = {
        "name": "a.example.com",
        "clientConfig": {"url": f"https://example.com/{note}"},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "matchConditions": [{"name": "c", "expression": each} for each in conditions],
    }
    return WEBHOOKS, {"webhooks": [hook]}


def device_class(expression: str) -> tuple[str, Object]:
    return "/apis/resource.orch.io/v1/deviceclasses", {"spec": {"selectors": [{"cel": {"expression": expression}}]}}


@since((1, 34))
class ExpressionStrategyTests(TestCase):
    async def setUp(self) -> None:  # type: ignore[override]
        self.server = InProcessServer(reactor, self.mktemp(), controllers=())
        await self.server.start()
        self.addCleanup(self.server.stop)
        validate, self.away = Strategy.validate_create, False

        def noting(*arguments: Any) -> Any:
            self.away = current_thread() is not main_thread()
            return validate(*arguments)

        self.patch(Strategy, "validate_create", noting)

    async def is_away(self, asked: tuple[str, Object]) -> bool:
        """Return whether a new object has been validated outside the reactor's thread."""
        path, obj = asked
        answer = await self.server.request("POST", path, {"metadata": {"generateName": "o"}, **obj})
        self.assertEqual(answer.code, 201, answer.body)
        return self.away

    async def test_compiled(self) -> None:
        """Objects with some KB of expressions are validated in the thread, smaller ones at once."""
        for make in (policy, webhook, device_class):
            for _ in range(3):  # a kind's first objects, and the first expression, take longer
                await self.is_away(make(SMALL))
            self.assertFalse(await self.is_away(make(SMALL)), make)
            self.assertTrue(await self.is_away(make(LARGE)), make)

    async def test_without(self) -> None:
        """A configuration without conditions is validated at once, though it is as large."""
        for _ in range(3):
            await self.is_away(webhook())
        self.assertFalse(await self.is_away(webhook(note="x" * len(LARGE))))
