"""Validating webhooks in front of a server (reference HOOK-7, HOOK-15, HOOK-16, HOOK-20)."""

from __future__ import annotations

from functools import partial
from typing import Any

from twisted.internet.defer import Deferred

from orchtw.request import Peer, Request
from orchtw.rules.request_info import parse
from orchtw.testing.admission_webhook import AdmissionWebhook
from tests.admission.webhooks.case import MAPS, WebhookCase, reactor

DENIED = 'admission webhook "webhook.example.com" denied the request'


class ValidatingTests(WebhookCase):
    async def test_refusals(self) -> None:
        """A refusal has the webhook's code, reason and details, if it has any (reference HOOK-20)."""
        hook = await self.webhook("configmaps")
        for status, code, reason, text in (
            ({}, 400, "", f"{DENIED} without explanation"),
            ({"message": "no"}, 400, "", f"{DENIED}: no"),
            ({"reason": "Because"}, 400, "Because", f"{DENIED}: Because"),
            ({"message": "no", "reason": "Forbidden", "code": 403}, 403, "Forbidden", f"{DENIED}: no"),
            ({"message": "no", "code": 200}, 400, "", f"{DENIED}: no"),
            ({"message": "no", "code": 599}, 599, "", f"{DENIED}: no"),
            ({"message": "no", "status": "Success"}, 400, "", f"{DENIED}: no"),
        ):
            hook.deny(**status)
            answer = await self.create_map()
            self.assertStatus(answer, code, reason, text)
            self.assertEqual(answer.json["status"], "Failure")
            self.assertNotIn("details", answer.json)
        hook.deny("no", details={"kind": "x", "causes": [{"message": "m"}]})
        answer = await self.create_map()
        self.assertEqual(answer.json["details"], {"kind": "x", "causes": [{"message": "m"}]})

    async def test_warnings(self) -> None:
        """Warnings reach the client, of refusals too (reference HOOK-19)."""
        hook = await self.webhook("configmaps")
        hook.allow(warnings=["old"])
        answer = await self.create_map()
        self.assertEqual((answer.code, answer.headers["warning"]), (201, '299 - "old"'))
        hook.answers = lambda _request: {"allowed": False, "warnings": ["old", "bad"]}
        answer = await self.create_map("y")
        self.assertEqual(answer.headers["warning"], '299 - "old", 299 - "bad"')

    async def test_finished(self) -> None:
        """The object is shown as it is to be stored: with its name, its uid and its time."""
        hook = await self.webhook("configmaps")
        answer = await self.server.request("POST", MAPS, {"metadata": {"generateName": "x-"}})
        (review,) = hook.reviews
        self.assertEqual(review["name"], answer.json["metadata"]["name"])
        for key in ("name", "uid", "creationTimestamp"):
            self.assertEqual(review["object"]["metadata"][key], answer.json["metadata"][key])
        self.assertNotIn("resourceVersion", review["object"]["metadata"])

    async def test_time(self) -> None:
        """Time of webhooks does not count as the server's own (reference METRIC-10)."""
        metrics = self.server.instance.metrics.requests
        await self.webhook("configmaps")
        await self.create_map()
        request = Request(method="POST", path=MAPS, peer=Peer(address="", port=0))
        request.info = parse("POST", MAPS, {})
        kind = metrics.of(request)
        self.assertEqual((kind.durations.count, kind.less_webhooks.count), (1, 1))
        self.assertLess(kind.less_webhooks.total, kind.durations.total)

    async def test_all_at_once(self) -> None:
        """All are asked at once, and the refusal that came first is the answer, when all have answered."""
        hooks = [await self.webhook("configmaps", name=f"{letter}.b.c") for letter in "abc"]
        waiting: dict[str, Deferred[Any]] = {hook.name: Deferred() for hook in hooks}
        for hook in hooks:
            hook.answers = partial(lambda name, _request: waiting[name], hook.name)
        running = Deferred.fromCoroutine(self.create_map())
        await self.until(lambda: all(hook.reviews for hook in hooks))
        waiting["c.b.c"].callback({"allowed": False, "status": {"message": "last of them"}})
        while b'rejected="true"' not in (await self.server.request("GET", "/metrics")).body:
            await self.pause()
        waiting["a.b.c"].callback({"allowed": True})
        self.assertFalse(running.called)
        waiting["b.b.c"].callback({"allowed": False})
        answer = await running
        self.assertStatus(answer, 400, "", 'admission webhook "c.b.c" denied the request: last of them')

    async def test_dry_run(self) -> None:
        """A webhook with effects is not called in a dry run, whatever its policy (reference HOOK-16)."""
        hook = await self.webhook("configmaps", sideEffects="NoneOnDryRun")
        answer = await self.create_map(query="?dryRun=All")
        self.assertEqual((answer.code, hook.reviews[0]["dryRun"]), (201, True))
        self.assertEqual(hook.reviews[0]["options"]["dryRun"], ["All"])
        self.assertEqual((await self.server.request("GET", f"{MAPS}/x")).code, 404)

    async def test_exempt(self) -> None:
        """Nobody is asked about webhook configurations, so that they can be repaired (reference HOOK-6)."""
        hook = await self.webhook("*/*")
        hook.deny("everything")
        self.assertEqual((await self.create_map()).code, 400)
        self.assertEqual((await self.server.request("DELETE", f"{hook.path}/{hook.name}")).code, 200)
        self.assertEqual((await self.create_map()).code, 201)
        self.assertNotIn("admissionregistration.orch.io", {each["resource"]["group"] for each in hook.reviews})

    async def test_configurations_change(self) -> None:
        """A configuration counts as soon as it is written, and so does its end (reference HOOK-5)."""
        hook = await self.webhook("configmaps")
        hook.deny("no")
        self.assertEqual((await self.create_map()).code, 400)
        changed = {**hook.configuration["webhooks"][0], "objectSelector": {"matchLabels": {"a": "b"}}}
        patch = {"webhooks": [changed]}
        headers = {"content-type": "application/merge-patch+json"}
        await self.server.request("PATCH", f"{hook.path}/{hook.name}", patch, headers)
        self.assertEqual((await self.create_map()).code, 201)
        self.assertEqual((await self.create_map("y", metadata={"labels": {"a": "b"}})).code, 400)

    async def test_large(self) -> None:
        """A large configuration counts soon after, and large objects are shown whole."""
        hook = AdmissionWebhook(reactor, "configmaps")
        self.addCleanup(hook.stop)
        configuration = hook.configuration
        (first,) = configuration["webhooks"]
        others = [
            {**first, "name": f"n{number}.b.c", "rules": [{**first["rules"][0], "resources": [f"r{number}"]}]}
            for number in range(300)
        ]
        await self.created(hook.path, {**configuration, "webhooks": [*others, first]})
        hook.deny("no")
        data = {"k": "v" * 200_000}
        answer = await self.create_map(data=data)
        while answer.code == 201:
            await self.server.request("DELETE", f"{MAPS}/x")
            await self.pause()
            answer = await self.create_map(data=data)
        self.assertEqual(hook.reviews[-1]["object"]["data"], data)

    async def test_many(self) -> None:
        """Every webhook of a configuration is asked."""
        hook = AdmissionWebhook(reactor, "configmaps")
        self.addCleanup(hook.stop)
        (first,) = hook.configuration["webhooks"]
        webhooks = [{**first, "name": f"n{number}.b.c"} for number in range(20)]
        await self.created(hook.path, {**hook.configuration, "webhooks": webhooks})
        self.assertEqual((await self.create_map()).code, 201)
        self.assertEqual(len(hook.reviews), 20)
        self.assertEqual(len({each["uid"] for each in hook.reviews}), 20)

    async def test_no_admission_of_reads(self) -> None:
        """Reads call no webhook."""
        hook = await self.webhook("*/*")
        await self.server.request("GET", MAPS)
        self.assertEqual(hook.reviews, [])
