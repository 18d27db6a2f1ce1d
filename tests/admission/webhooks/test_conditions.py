"""Match conditions of webhooks in front of a server (reference HOOK-37)."""

from __future__ import annotations

from tests.admission.webhooks.case import WebhookCase
from tests.emulated import since

NAMED = {"name": "n", "expression": "object.metadata.name == 'x'"}
BROKEN = {"name": "b", "expression": "object.a == 1"}


@since((1, 27))
class ConditionTests(WebhookCase):
    async def test_false(self) -> None:
        """A webhook whose condition is false is not called, even if another condition fails."""
        for mutating in (False, True):
            hook = await self.webhook(
                "configmaps", name=f"{str(mutating).lower()}.b.c", mutating=mutating, matchConditions=[BROKEN, NAMED]
            )
            self.assertEqual((await self.create_map(f"y{str(mutating).lower()}")).code, 201)
            self.assertEqual(hook.reviews, [])

    async def test_true(self) -> None:
        """A webhook whose conditions are true is called."""
        hook = await self.webhook("configmaps", matchConditions=[NAMED])
        await self.create_map("x")
        await self.create_map("y")
        self.assertEqual([each["name"] for each in hook.reviews], ["x"])

    async def test_error(self) -> None:
        """An error refuses the request with failurePolicy Fail; with Ignore the webhook is not called."""
        ignoring = await self.webhook(
            "configmaps", name="a.b.c", matchConditions=[BROKEN], failurePolicy="Ignore"
        )
        self.assertEqual((await self.create_map("x")).code, 201)
        self.assertEqual(ignoring.reviews, [])
        await self.webhook("configmaps", matchConditions=[BROKEN])
        answer = await self.create_map("y")
        text = "configmaps \"y\" is forbidden: expression 'object.a == 1' resulted in error: no such key: a"
        self.assertStatus(answer, 403, "Forbidden", text)

    async def test_invalid(self) -> None:
        """Conditions that cannot be compiled, or have no name, are refused."""
        hook = await self.webhook("configmaps")
        webhook = {**hook.configuration["webhooks"][0], "matchConditions": [{"expression": "a"}]}
        wrong = {**hook.configuration, "metadata": {"name": "wrong"}, "webhooks": [webhook]}
        answer = await self.server.request("POST", hook.path, wrong)
        causes = {cause["field"]: cause["message"] for cause in answer.json["details"]["causes"]}
        self.assertEqual(causes["webhooks[0].matchConditions[0].name"], "Required value")
        text = causes["webhooks[0].matchConditions[0].expression"]
        self.assertIn("compilation failed: ERROR: <input>:1:1: undeclared reference to 'a'", text)
