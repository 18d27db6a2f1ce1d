"""Webhooks that do not answer as they should, with either failure policy (reference HOOK-21, HOOK-22, HOOK-24)."""
# covers: orchtw.admission.webhooks.consultation

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

from twisted.internet.defer import Deferred, gatherResults

from orchtw.request import Peer, Request
from orchtw.testing.admission_webhook import AdmissionWebhook
from orchtw.testing.in_process import TOKEN
from orchtw.testing.webhook import HANG_UP, Reply, WebhookServer
from tests.admission.webhooks.case import MAPS, WebhookCase, reactor

FAILED = 'Internal error occurred: failed calling webhook "webhook.example.com": '
CALL = f"{FAILED}failed to call webhook: "
INVALID = f"{FAILED}received invalid webhook response: "
POST = r'Post "https://127.0.0.1:\d+/admit\?timeout=\d+s": '


def reviewed(uid: str = "", **response: Any) -> Callable[[dict[str, Any]], Any]:
    """Answers with a review whose response may be a bad one."""
    return lambda request: {"uid": uid or request["uid"], "allowed": True, **response}


def reply(**more: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda _request: Reply(**more)


# What the webhook answers, and what is said of it (a pattern).
BAD_ANSWERS: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "hangs up": (lambda _request: HANG_UP, CALL + POST + "EOF"),
    "half closed": (reply(raw=b"", half_closed=True), CALL + POST + "EOF"),
    "cut off": (
        reply(body=b"{}" * 99, cut=20),
        CALL + "unexpected error when reading response body. Please retry. Original error: unexpected EOF",
    ),
    "no HTTP": (
        reply(raw=b"hello\r\n\r\n", close=True),
        CALL + POST + "net/http: HTTP/1.x transport connection broken: malformed HTTP response: .*",
    ),
    "redirects": (
        reply(code=302, headers=(("Location", "https://127.0.0.1/other"),)),
        CALL + "the server responded with the status code 302 but did not return more information",
    ),
    "is not found": (reply(code=404), CALL + "the server could not find the requested resource"),
    "fails": (
        reply(code=500, body=b"boom", content_type="text/plain"),
        CALL + r'an error on the server \("boom"\) has prevented the request from succeeding',
    ),
    "fails in JSON": (
        reply(code=500, body=b"{}"),
        CALL + r'an error on the server \("unknown"\) has prevented the request from succeeding',
    ),
    "is unavailable": (reply(code=503), CALL + "the server is currently unable to handle the request"),
    "HTML": (
        reply(body=b"<html></html>", content_type="text/html"),
        CALL + "couldn't get version/kind; json parse error: .*",
    ),
    "nothing": (
        reply(), CALL + "0-length response with status code: 200 and content type: application/json"
    ),
    "10 MiB": (reply(body=b" " * (10 << 20)), CALL + "the answer is longer than 6291456 bytes"),
    "another uid": (reviewed("other"), INVALID + 'expected response.uid="[0-9a-f-]{36}", got "other"'),
    "no response": (reply(body=b"{}"), INVALID + "webhook response was absent"),
    "half a patch": (
        reviewed(patch="W10="), INVALID + "webhook returned response.patch but not response.patchType"
    ),
    "other patches": (
        reviewed(patch="W10=", patchType="X"), INVALID + 'webhook returned invalid response.patchType of "X"'
    ),
}


class TroubleTests(WebhookCase):
    async def check(self, hook: AdmissionWebhook, text: str) -> None:
        """The same trouble with the policy Fail, and with Ignore."""
        answer = await self.create_map()
        status = answer.json
        self.assertEqual((answer.code, status.get("reason")), (500, "InternalError"), status)
        self.assertRegex(status["message"], f"^{text}$")
        self.assertEqual(
            status["details"], {"causes": [{"message": status["message"].removeprefix("Internal error occurred: ")}]}
        )
        await self.policy(hook, "Ignore")
        self.assertEqual((await self.create_map()).code, 201)
        await self.server.request("DELETE", f"{MAPS}/x")
        await self.policy(hook, "Fail")

    async def policy(self, hook: AdmissionWebhook, policy: str) -> None:
        entry = {**hook.configuration["webhooks"][0], "failurePolicy": policy}
        headers = {"content-type": "application/merge-patch+json"}
        answer = await self.server.request("PATCH", f"{hook.path}/{hook.name}", {"webhooks": [entry]}, headers)
        self.assertEqual(answer.code, 200, answer)

    async def test_bad_answers(self) -> None:
        """Whatever a webhook sends, the failure policy says what becomes of the write (reference HOOK-33)."""
        hook = await self.webhook("configmaps", mutating=True, operations=("CREATE",))
        for what, (answers, text) in BAD_ANSWERS.items():
            hook.answers = answers
            try:
                await self.check(hook, text)
            except self.failureException as failure:
                raise self.failureException(f"{what}: {failure}") from None

    async def test_unreachable(self) -> None:
        """Where nobody listens, that is the reason."""
        hook = await self.webhook("configmaps", operations=("CREATE",))
        await hook.stop()
        await self.check(hook, CALL + POST + r"dial tcp 127.0.0.1:\d+: connect: connection refused")

    async def test_late(self) -> None:
        """A webhook that is too slow is given up after its time, and what it was asked is dropped (reference
        HOOK-33).
        """
        hook = await self.webhook("configmaps", operations=("CREATE",), timeoutSeconds=1)
        hook.answers = reply(silent=True)
        await self.check(hook, CALL + POST + "context deadline exceeded")
        self.assertEqual(hook.server.asked[0].target, "/admit?timeout=1s")
        await self.until(lambda: not hook.server.connections)

    async def test_tls(self) -> None:
        """A certificate that cannot be believed ends the call."""
        bundle = WebhookServer(reactor, lambda _asked: None)
        self.addCleanup(bundle.stop)
        old = partial(WebhookServer, age=timedelta(days=3))
        other, plain = partial(WebhookServer, hosts=("other.example.com",)), partial(WebhookServer, tls=False)
        no_address = "x509: cannot validate certificate for 127.0.0.1 because it doesn't contain any IP SANs"
        for server, authority, text in (
            (other, "", no_address),
            (WebhookServer, bundle.ca_bundle, "x509: certificate signed by unknown authority"),
            (old, "", "x509: certificate has expired or is not yet valid: current time .* is after .*"),
            (plain, "", "EOF"),
        ):
            hook = AdmissionWebhook(reactor, "configmaps", operations=("CREATE",), server=server)
            self.addCleanup(hook.stop)
            client = hook.server.client_config("/admit")
            client["url"] = client["url"].replace("http://", "https://")
            if authority:
                client["caBundle"] = authority
            entry = {**hook.configuration["webhooks"][0], "clientConfig": client}
            await self.created(hook.path, {**hook.configuration, "webhooks": [entry]})
            answer = await self.create_map()
            self.assertRegex(answer.json["message"], f"^{CALL}{POST}{text}$")
            await self.server.request("DELETE", f"{hook.path}/{hook.name}")

    async def test_bad_patch(self) -> None:
        """A patch that does not apply is a 500 whatever the policy (reference HOOK-24)."""
        hook = await self.webhook("configmaps", mutating=True, operations=("CREATE",))
        hook.patch({"op": "remove", "path": "/nope"})
        text = "error in remove for path: '/nope': Unable to remove nonexistent key: nope: missing value"
        for policy in ("Fail", "Ignore"):
            await self.policy(hook, policy)
            self.assertStatus(await self.create_map(), 500, "InternalError", f"Internal error occurred: {text}")

    async def test_service(self) -> None:
        """A Service that leads nowhere is the reason (reference HOOK-26)."""
        hook = await self.webhook("configmaps", operations=("CREATE",))
        client = {"service": {"name": "s", "namespace": "n", "path": "/a"}, "caBundle": hook.server.ca_bundle}
        entry = {**hook.configuration["webhooks"][0], "clientConfig": client}
        headers = {"content-type": "application/merge-patch+json"}
        await self.server.request("PATCH", f"{hook.path}/{hook.name}", {"webhooks": [entry]}, headers)
        answer = await self.create_map()
        text = f'{CALL}Post "https://s.n.svc:443/a?timeout=10s": service "s" not found'
        self.assertStatus(answer, 500, "InternalError", text)

    async def test_connections(self) -> None:
        """One connection serves one call after the other, also when it was closed meanwhile (reference HOOK-27)."""
        hook = await self.webhook("configmaps")
        for number in range(3):
            self.assertEqual((await self.create_map(f"a{number}")).code, 201)
        self.assertEqual(hook.server.accepted, 1)
        hook.server.hang_up()
        self.assertEqual((await self.create_map("b")).code, 201)

    async def test_metrics(self) -> None:
        """Calls, refusals and failures are counted (reference ADM-15)."""
        hook = await self.webhook("configmaps", operations=("CREATE",))
        hook.deny("no", code=403)
        await self.create_map()
        hook.reply(HANG_UP)
        await self.create_map()
        await self.policy(hook, "Ignore")
        await self.create_map()
        text = (await self.server.request("GET", "/metrics")).body.decode()
        name, kind = f'name="{hook.name}",', 'type="validating"'
        for line in (
            f'rejection_count{{error_type="no_error",{name}operation="CREATE",rejection_code="403",{kind}}} 1',
            f'error_type="calling_webhook_error",{name}operation="CREATE",rejection_code="0",{kind}}} 1',
            f"fail_open_count{{{name}{kind}}} 1",
            f'request_total{{code="403",{name}operation="CREATE",rejected="true",{kind}}} 1',
            f'request_total{{code="400",{name}operation="CREATE",rejected="false",{kind}}} 1',
        ):
            self.assertIn(line, text)


class HangingTests(WebhookCase):
    """A webhook that never answers costs those who call it, and nobody else anything (reference HOOK-30)."""

    async def test_others_go_on(self) -> None:
        """While hundreds wait for one webhook, writes of other resources and reads pass, and so do other webhooks."""
        hanging = await self.webhook("configmaps", name="a.b.c", operations=("CREATE",), timeoutSeconds=30)
        other = await self.webhook("secrets", name="d.b.c")
        hanging.answers = reply(silent=True)
        blocked = [Deferred.fromCoroutine(self.create_map(f"x{number}")) for number in range(200)]
        await self.until(lambda: len(hanging.reviews) >= 100)
        for number in range(20):
            secret = {"metadata": {"name": f"s{number}"}}
            await self.created("/api/v1/namespaces/default/secrets", secret)
            self.assertEqual((await self.server.request("GET", MAPS)).code, 200)
        self.assertEqual(len(other.reviews), 20)
        self.assertFalse(any(each.called for each in blocked))
        self.assertLessEqual(hanging.server.connections, 128)
        hanging.server.hang_up()
        hanging.allow()
        answers = await gatherResults(blocked)
        self.assertEqual({answer.code for answer in answers}, {201, 500})

    async def test_client_leaves(self) -> None:
        """A client that leaves cancels the call, and nothing is written."""
        hook = await self.webhook("configmaps", operations=("CREATE",), failurePolicy="Ignore")
        hook.answers = reply(silent=True)
        request = self.request(b'{"metadata":{"name":"x"}}')
        running = Deferred.fromCoroutine(self.server.instance.front.app(request))
        await self.until(lambda: hook.reviews)
        request.left()
        answer = await running
        self.assertEqual(answer.code, 504)
        await self.until(lambda: not hook.server.connections)
        self.assertEqual((await self.server.request("GET", f"{MAPS}/x")).code, 404)

    async def test_request_ends(self) -> None:
        """A webhook has no more time than the request has left (reference HOOK-14, HOOK-33)."""
        hook = await self.webhook("configmaps", operations=("CREATE",), failurePolicy="Ignore", timeoutSeconds=30)
        hook.answers = reply(silent=True)
        answer = await self.create_map(query="?timeout=1s")
        self.assertEqual(answer.code, 504)
        self.assertEqual(hook.server.asked[0].target, "/admit?timeout=1s")
        await self.until(lambda: not hook.server.connections)
        self.assertEqual((await self.server.request("GET", f"{MAPS}/x")).code, 404)

    def request(self, body: bytes) -> Request:
        headers = {"authorization": f"Bearer {TOKEN}", "content-type": "application/json"}
        return Request(method="POST", path=MAPS, headers=headers, body=body, peer=Peer(address="test", port=0))
