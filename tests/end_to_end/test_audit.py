"""The audit of a real server: its log line by line, under load, at the end (reference AUDIT-1 to AUDIT-19)."""
# covers: orchtw.audit.backends

from __future__ import annotations

import re
import ssl
from pathlib import Path
from typing import Any

import orjson
import yaml
from twisted.internet import reactor as installed_reactor
from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.task import deferLater
from twisted.trial.unittest import TestCase

from orchtw.testing.process import ServerProcess
from orchtw.testing.start_failed import StartFailed
from orchtw.testing.webhook import WebhookServer
from orchtw.wire.objects import Object
from tests.end_to_end.audit_script import COMPLETE, POLICY, STARTED, TOKENS, Step, script
from tests.end_to_end.case import TRACEBACKS
from tests.end_to_end.client import Answer, Client, tls_context
from tests.forked import forking

reactor: Any = installed_reactor

EVERYTHING = """\
apiVersion: audit.orch.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: Metadata}
"""
ROUNDS = 14
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


class AuditCase(TestCase):
    """A server with a policy and whatever flags a test gives it."""

    timeout = 300

    async def started(self, *flags: str, policy: str = EVERYTHING) -> ServerProcess:
        """A server that writes `self.log`, unless the flags say otherwise."""
        self.folder = Path(self.mktemp()).absolute()
        self.folder.mkdir()
        self.log = self.folder / "logs" / "audit.log"
        (self.folder / "policy.yaml").write_text(policy)
        (self.folder / "tokens.csv").write_text(TOKENS)
        server = ServerProcess(
            forking,
            self.folder / "data",
            f"--audit-policy-file={self.folder / 'policy.yaml'}",
            f"--token-auth-file={self.folder / 'tokens.csv'}",
            *(flags if any("audit-log-path" in flag for flag in flags) else (f"--audit-log-path={self.log}", *flags)),
        )
        await server.start()
        self.addCleanup(server.terminate)
        return server

    def client(self, server: ServerProcess, *, certificate: bool = True, **headers: str) -> Client:
        """Return a client of the administrator, or of the user in the headers."""
        context: ssl.SSLContext = tls_context(server.kubeconfig, certificate=certificate)
        client = Client(server.port, context, headers)
        self.addCleanup(client.close)
        return client

    def events(self) -> list[Object]:
        """All events of all files of the log, those of old files first."""
        found = sorted(self.log.parent.glob("audit*.log"), key=lambda path: (path == self.log, path.name))
        return [orjson.loads(line) for path in found for line in path.read_bytes().splitlines()]

    async def busy(self, client: Client, count: int, prefix: str) -> None:
        """So many requests, each with an id of its own."""
        for number in range(count):
            answer = await client.send("GET", "/version", None, {"Audit-ID": f"{prefix}-{number}"})
            self.assertEqual((answer.code, answer.headers["audit-id"]), (200, f"{prefix}-{number}"))


class ScriptTests(AuditCase):
    """A script of requests of all kinds."""

    async def test_line_by_line(self) -> None:
        """More than 500 requests leave the lines that the table says, in their order, and no others."""
        server = await self.started(policy=POLICY)
        clients = {
            "admin": self.client(server),
            "amy": self.client(server, certificate=False, Authorization="Bearer amy-token"),
            "quiet": self.client(server, certificate=False, Authorization="Bearer quiet-token"),
            "anonymous": self.client(server, certificate=False),
            "unknown": self.client(server, certificate=False, Authorization="Bearer s3cret"),
        }
        expected: list[Object] = []
        sent = 0
        for count, step in enumerate(script("default", ROUNDS), 1):
            headers = {**step.headers, "Audit-ID": f"step-{count}", "User-Agent": "script/1"}
            body = None if step.body == "watch" else step.body
            if step.body == "watch" and count > 60:
                continue  # a second each: two of them will do
            sent += 1
            answer = await clients[step.who].send(step.method, step.path, body, headers)
            self.assertEqual(answer.code, step.code, (step, answer))
            expected += _expected(step, f"step-{count}", answer)
        self.assertGreater(sent, 500)
        await server.terminate()
        found = self.events()
        for event, wanted in zip(found, expected, strict=False):
            self.check_times(event)
            self.assertEqual(_comparable(event, wanted), wanted)
            self.assertEqual(list(event), [name for name in ORDER if name in event])
        self.assertEqual(len(found), len(expected))
        text = self.log.read_bytes()
        self.assertEqual([secret for secret in (b"s3cret", b"amy-token") if secret in text], [])
        self.assertEqual(self.log.stat().st_mode & 0o777, 0o600)
        self.assertFalse([word for word in TRACEBACKS if word in server.log], server.log)

    def check_times(self, event: Object) -> None:
        """Both times have microseconds, and no stage comes before its request."""
        came, at = event["requestReceivedTimestamp"], event["stageTimestamp"]
        self.assertTrue(_TIME.fullmatch(came) and _TIME.fullmatch(at) and came <= at, event)


class LogTests(AuditCase):
    """The log under load, at the end, and in others' hands."""

    async def loaded(self, server: ServerProcess, connections: int = 4, count: int = 150) -> list[str]:
        """Many requests on several connections; returns their ids."""
        headers: Any = {"User-Agent": "x" * 900}
        clients = [self.client(server, **headers) for _ in range(connections)]
        await gatherResults(
            [Deferred.fromCoroutine(self.busy(each, count, f"c{at}")) for at, each in enumerate(clients)]
        )
        return sorted(f"c{at}-{number}" for at in range(connections) for number in range(count))

    def ids(self) -> list[str]:
        """Of the requests of `loaded` that have an event."""
        return sorted(event["auditID"] for event in self.events() if event["requestURI"] == "/version")

    async def test_rotated_under_load(self) -> None:
        """No event is lost, doubled or torn when the log begins a new file under load (reference AUDIT-18)."""
        for mode in ("batch", "blocking"):
            server = await self.started(f"--audit-log-mode={mode}", "--audit-log-maxsize=1")
            sent = await self.loaded(server, count=250)
            await server.terminate()
            self.assertEqual(self.ids(), sent)
            self.assertGreater(len(list(self.log.parent.iterdir())), 1, mode)

    async def test_moved_by_others(self) -> None:
        """A log that others move under load goes on in a new file after SIGHUP, and nothing is lost."""
        server = await self.started("--audit-log-mode=batch")
        loading = Deferred.fromCoroutine(self.loaded(server))
        for number in range(3):
            await deferLater(reactor, 0.1)
            if self.log.exists():
                self.log.rename(self.log.with_name(f"audit-{number}.log"))
            server.signal("HUP")
        sent = await loading
        await server.terminate()
        self.assertEqual(self.ids(), sent)

    async def test_the_end(self) -> None:
        """Requests answered before SIGTERM are in the log, though batches are long (reference AUDIT-19)."""
        server = await self.started(
            "--audit-log-mode=batch", "--audit-log-batch-max-size=10000", "--audit-log-batch-max-wait=1h"
        )
        sent = await self.loaded(server, count=50)
        self.assertEqual(self.events(), [])
        self.assertEqual(await server.terminate(), 0)
        self.assertEqual(self.ids(), sent)

    async def test_legacy(self) -> None:
        """The older form has a line for each event as well."""
        server = await self.started("--audit-log-format=legacy")
        await self.busy(self.client(server), 3, "c")
        await server.terminate()
        lines = self.log.read_text().splitlines()
        self.assertEqual(len(lines), 3)
        for number, line in enumerate(lines):
            self.assertRegex(line, rf'^\S+Z AUDIT: id="c-{number}" stage="ResponseComplete" ip="127.0.0.1" ')

    async def test_other_vocabulary(self) -> None:
        """A server of the other vocabulary writes its events in that, whatever the policy's is."""
        server = await self.started("--vocabulary=kubernetes")
        answer = await self.client(server).get("/apis/rbac.authorization.k8s.io/v1/clusterroles/view")
        self.assertEqual(answer.code, 200)
        await server.terminate()
        event = self.events()[0]
        self.assertEqual((event["apiVersion"], event["objectRef"]["apiGroup"], event["annotations"]), (
            "audit.k8s.io/v1",
            "rbac.authorization.k8s.io",
            {"authorization.k8s.io/decision": "allow", "authorization.k8s.io/reason": ""},
        ))

    async def test_metrics(self) -> None:
        """The metrics count events and levels."""
        server = await self.started()
        client = self.client(server)
        await self.busy(client, 3, "c")
        text = (await client.get("/metrics")).body.decode()
        self.assertIn("\napiserver_audit_event_total 3\n", text)
        self.assertIn('\napiserver_audit_level_total{level="Metadata"} 4\n', text)

    async def test_starts_that_fail(self) -> None:
        """A policy that cannot be, and a log that cannot be written, end the start with one line each."""
        failed = await self.assertFailure(_started(self.started(policy="a: [")), StartFailed)
        self.assertEqual(failed.errors.count("\n"), 1)
        self.assertTrue(failed.errors.startswith("Error: --audit-policy-file: failed decoding: "), failed.errors)
        failed = await self.assertFailure(_started(self.started("--audit-log-path=/dev/null/x")), StartFailed)
        self.assertEqual(failed.errors, "Error: --audit-log-path: /dev/null/x: Not a directory\n")


def _started(coroutine: Any) -> Deferred[Any]:
    return Deferred.fromCoroutine(coroutine)


class WebhookTests(AuditCase):
    """Events for another server, and for both backends."""

    async def test_away_for_a_while(self) -> None:
        """Events during an outage of the webhook arrive when it is back; the log has all of them as well."""
        webhook = WebhookServer(reactor, lambda asked: {})
        self.addCleanup(webhook.stop)
        kubeconfig = Path(self.mktemp()).absolute()
        cluster = {"server": f"{webhook.url}/audit", "certificate-authority-data": webhook.ca_bundle}
        kubeconfig.write_text(
            yaml.safe_dump(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "clusters": [{"name": "audit", "cluster": cluster}],
                    "contexts": [{"name": "audit", "context": {"cluster": "audit", "user": ""}}],
                    "current-context": "audit",
                }
            )
        )
        server = await self.started(
            f"--audit-webhook-config-file={kubeconfig}",
            "--audit-webhook-batch-max-wait=100ms",
            "--audit-webhook-initial-backoff=500ms",
        )
        client = self.client(server)
        await self.busy(client, 50, "before")
        await webhook.stop()
        await self.busy(client, 50, "away")
        await deferLater(reactor, 1)
        webhook.start()
        await self.busy(client, 50, "after")
        self.assertEqual(await server.terminate(), 0)
        lists = [orjson.loads(asked.body) for asked in webhook.asked]
        self.assertEqual({(each["kind"], each["apiVersion"]) for each in lists}, {("EventList", "audit.orch.io/v1")})
        found = sorted(event["auditID"] for each in lists for event in each["items"])
        sent = sorted(f"{when}-{number}" for when in ("before", "away", "after") for number in range(50))
        self.assertEqual(found, sent)
        self.assertEqual(sorted(event["auditID"] for event in self.events()), sent)


ORDER = (
    "kind",
    "apiVersion",
    "level",
    "auditID",
    "stage",
    "requestURI",
    "verb",
    "user",
    "impersonatedUser",
    "sourceIPs",
    "userAgent",
    "objectRef",
    "responseStatus",
    "requestObject",
    "responseObject",
    "requestReceivedTimestamp",
    "stageTimestamp",
    "annotations",
)


def _expected(step: Step, audit_id: str, answer: Answer) -> list[Object]:
    """The events of a step, without their times."""
    common: Object = {
        "kind": "Event",
        "apiVersion": "audit.orch.io/v1",
        "level": step.level,
        "auditID": audit_id,
        "requestURI": step.path,
        "verb": step.verb,
        "user": step.user,
        "sourceIPs": ["127.0.0.1"],
        "userAgent": "script/1",
    }
    found = []
    for stage in step.stages:
        event: Object = {**common, "stage": stage}
        reference = dict(step.ref or {})
        if stage in (STARTED, COMPLETE):
            reference |= step.decoded
            event["responseStatus"] = {"metadata": {}, **step.status, "code": step.code}
            if step.other is not None:
                event["impersonatedUser"] = step.other
            if step.annotations:
                event["annotations"] = step.annotations
        if stage == COMPLETE:
            if step.request is not None:
                event["requestObject"] = step.request
            if step.answers:
                event["responseObject"] = _bare(answer)
        if reference:
            event["objectRef"] = reference
        found.append(event)
    return found


def _bare(answer: Answer) -> Any:
    obj = yaml.safe_load(answer.body) if "yaml" in answer.headers["content-type"] else answer.json
    for each in (obj, *obj.get("items", ())):
        each.get("metadata", {}).pop("managedFields", None)
    return obj


def _comparable(event: Object, wanted: Object) -> Object:
    """The event without its times, and without what the table does not say of a refusal."""
    found = {name: value for name, value in event.items() if not name.endswith("Timestamp")}
    status, said = found.get("responseStatus"), wanted.get("responseStatus", {})
    if status and "status" in said:
        found["responseStatus"] = {
            name: value for name, value in status.items() if name in said or name not in ("message", "details")
        }
        if "details" in said and "uid" in status.get("details", {}) and "uid" not in said["details"]:
            status["details"].pop("uid")
    return found

