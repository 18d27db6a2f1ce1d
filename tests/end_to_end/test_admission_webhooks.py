"""Admission webhooks asked by a real process: connections, credentials, clients, operators (reference HOOK-10)."""

from __future__ import annotations

import base64
import socket
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import yaml
from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.task import deferLater
from twisted.internet.threads import deferToThread

from orchtw.pki import certificates
from orchtw.testing.admission_webhook import AdmissionWebhook
from orchtw.testing.kubectl import Kubectl
from orchtw.testing.webhook import HANG_UP, Reply, WebhookServer
from tests.end_to_end.case import NO_KUBECTL, ServerCase, reactor
from tests.end_to_end.client import tls_context
from tests.end_to_end.conversion_case import WebhookCase
from tests.end_to_end.routes import spec
from tests.end_to_end.test_backends import own_address
from tests.end_to_end.test_custom_operators import Program, missing
from tests.end_to_end.test_start import ProcessCase
from tests.forked import forking

MAPS = "/api/v1/namespaces/shop/configmaps"
WEBHOOKS = "/apis/admissionregistration.k8s.io/v1"
PATIENCE_S = 60.0
BLOCKED = 200


class WebhookTests(ServerCase):
    """Webhooks that see the test's own namespace alone."""

    async def webhook(self, *resources: str, **settings: Any) -> AdmissionWebhook:
        name = f"{self.unique('w')}.example.com"
        selector = {"matchLabels": {self.naming.translate("orch.io/metadata.name"): self.namespace}}
        hook = AdmissionWebhook(reactor, *resources, name=name, namespaceSelector=selector, **settings)
        self.addCleanup(hook.stop)
        await self.created(hook.path, hook.configuration)
        self.addCleanup(self.client.delete, f"{hook.path}/{name}")
        return hook

    async def test_change_and_refusal(self) -> None:
        """A webhook counts at once: it changes what is stored, and refuses with words of its own."""
        hook = await self.webhook("configmaps", mutating=True)
        hook.patch({"op": "add", "path": "/metadata/labels", "value": {"seen": "yes"}})
        stored = await self.created(self.core("configmaps"), {"metadata": {"name": "a"}})
        self.assertEqual(stored["metadata"]["labels"], {"seen": "yes"})
        hook.deny("enough", code=409, reason="Conflict")
        answer = await self.client.post(self.core("configmaps"), {"metadata": {"name": "b"}})
        self.assertRefused(answer, 409, "Conflict", f'admission webhook "{hook.name}" denied the request: enough')
        other = await self.new_namespace()
        self.assertEqual((await self.client.post(self.core("configmaps", namespace=other), {
            "metadata": {"name": "b"}
        })).code, 201)  # fmt: skip

    async def test_headers(self) -> None:
        """The server says who it is, and reuses its connection."""
        hook = await self.webhook("configmaps", timeoutSeconds=7)
        for name in "ab":
            await self.created(self.core("configmaps"), {"metadata": {"name": name}})
        (asked, again) = hook.server.asked
        self.assertEqual((asked.method, asked.target), ("POST", "/admit?timeout=7s"))
        shown = {key: asked.headers.get(key) for key in ("user-agent", "content-type", "accept", "authorization")}
        self.assertEqual(
            shown,
            {
                "user-agent": "orch-apiserver-admission",
                "content-type": "application/json",
                "accept": "application/json, */*",
                "authorization": None,
            },
        )
        self.assertEqual((hook.server.accepted, again.user), (1, ""))

    async def test_troubles(self) -> None:
        """Whatever a webhook does, the server answers by its policy, and goes on."""
        for policy, code in (("Fail", 500), ("Ignore", 201)):
            hook = await self.webhook("configmaps", mutating=True, failurePolicy=policy, timeoutSeconds=1)
            for number, reply in enumerate(
                (
                    HANG_UP,
                    Reply(silent=True),
                    Reply(raw=b"", half_closed=True),
                    Reply(body=b"x" * 99, cut=10),
                    Reply(code=301, headers=(("Location", "/other"),)),
                    Reply(code=503),
                    Reply(body=b"<html></html>", content_type="text/html"),
                    Reply(body=b"[" * (10 << 20)),
                    Reply(body=b'{"a":' * 100_000),
                )
            ):
                hook.reply(reply)
                answer = await self.client.post(self.core("configmaps"), {"metadata": {"name": f"x{number}"}})
                self.assertEqual(answer.code, code, (number, answer))
            await self.client.delete(f"{hook.path}/{hook.name}")
        refusing = partial(WebhookServer, client_ca=hook.server.ca_pem)
        hook = await self.webhook("configmaps", server=refusing)
        answer = await self.client.post(self.core("configmaps"), {"metadata": {"name": "y"}})
        self.assertEqual(answer.code, 500)
        self.assertIn("tls: ", answer.json["message"])

    async def test_hanging(self) -> None:
        """While two hundred wait for a webhook that hangs, everybody else is served (reference HOOK-30)."""
        hook = await self.webhook("configmaps", timeoutSeconds=30)
        hook.reply(Reply(silent=True))
        reactor.suggestThreadPoolSize(BLOCKED + 10)
        self.addCleanup(reactor.suggestThreadPoolSize, 10)
        blocked = [
            self.client.post(self.core("configmaps"), {"metadata": {"name": f"x{number}"}})
            for number in range(BLOCKED)
        ]
        waiting = gatherResults(list(map(Deferred.fromCoroutine, blocked)), consumeErrors=True)
        while len(hook.reviews) < 100:
            await deferLater(reactor, 0.02)
        for number in range(10):
            await self.created(self.core("secrets"), {"metadata": {"name": f"s{number}"}})
            self.assertEqual((await self.client.get(self.core("configmaps"))).code, 200)
        self.assertFalse(waiting.called)
        hook.allow()
        hook.server.hang_up()
        self.assertEqual({answer.code for answer in await waiting}, {201, 500})

    async def test_client_leaves(self) -> None:
        """A client that leaves ends the call of the webhook, and its write."""
        hook = await self.webhook("configmaps", timeoutSeconds=30)
        hook.reply(Reply(silent=True))
        leaving = await deferToThread(self.half_a_request)
        while not hook.reviews:
            await deferLater(reactor, 0.02)
        leaving.close()
        while hook.server.connections:
            await deferLater(reactor, 0.02)
        self.assertEqual((await self.client.get(self.core("configmaps", "x"))).code, 404)

    def half_a_request(self) -> socket.socket:
        """A connection on which a ConfigMap has been sent, and nothing been read."""
        context = tls_context(self.server.kubeconfig)
        connection = context.wrap_socket(
            socket.create_connection(("127.0.0.1", self.server.port), 30), server_hostname="127.0.0.1"
        )
        body = b'{"metadata":{"name":"x"}}'
        head = f"POST {self.core('configmaps')} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        connection.sendall(head.encode() + b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        return connection

    async def test_other_version(self) -> None:
        """A webhook that knows one version sees requests through others in its own (reference HOOK-8)."""
        rule = {"operations": ["*"], "apiGroups": ["batch"], "apiVersions": ["v1beta1"], "resources": ["cronjobs"]}
        hook = await self.webhook(mutating=True, rules=[rule])
        hook.patch({"op": "replace", "path": "/spec/schedule", "value": "1 * * * *"})
        template = {"spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}}
        spec = {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": template}}}
        stored = await self.created(self.group("batch/v1", "cronjobs"), {"metadata": {"name": "j"}, "spec": spec})
        self.assertEqual((stored["apiVersion"], stored["spec"]["schedule"]), ("batch/v1", "1 * * * *"))
        (review,) = hook.reviews
        self.assertEqual(review["object"]["apiVersion"], "batch/v1beta1")
        self.assertEqual((review["kind"]["version"], review["requestKind"]["version"]), ("v1beta1", "v1"))


class ServiceTests(ServerCase):
    """Webhooks behind a Service of the cluster."""

    if not own_address():
        skip = "this machine has no address that a pod could have"

    async def test_endpoints(self) -> None:
        """It is reached at the Service's endpoints, and its certificate must be for the Service's name (HOOK-26)."""
        name, host = f"{self.unique('w')}.example.com", f"hook.{self.namespace}.svc"
        for certificate, code in ((host, 201), (f"other.{self.namespace}.svc", 500)):
            server = partial(WebhookServer, address=own_address(), hosts=(certificate,))
            hook = AdmissionWebhook(reactor, "configmaps", name=name, mutating=True, server=server)
            self.addCleanup(hook.stop)
            hook.patch({"op": "add", "path": "/data", "value": {"seen": "yes"}})
            await self.lead_to(hook.server.port)
            service = {"namespace": self.namespace, "name": "hook", "port": 8443, "path": "/admit"}
            (settings,) = hook.configuration["webhooks"]
            settings = {**settings, "clientConfig": {"service": service, "caBundle": hook.server.ca_bundle}}
            selector = {"matchLabels": {self.naming.translate("orch.io/metadata.name"): self.namespace}}
            configuration = {**hook.configuration, "webhooks": [{**settings, "namespaceSelector": selector}]}
            await self.created(hook.path, configuration)
            answer = await self.client.post(self.core("configmaps"), {"metadata": {"name": "a"}})
            self.assertEqual((await self.client.delete(f"{hook.path}/{name}")).code, 200)
            self.assertEqual(answer.code, code, answer)
            if code == 201:
                self.assertEqual(answer.json["data"], {"seen": "yes"})
                self.assertEqual((await self.client.delete(f"{self.core('configmaps')}/a")).code, 200)
            else:
                self.assertIn(f"https://{host}:8443/admit?timeout=10s", answer.json["message"])
                self.assertIn(f"x509: certificate is valid for {certificate}, not {host}", answer.json["message"])

    async def lead_to(self, port: int) -> None:
        """Have Service `hook` lead to a port of this machine."""
        await self.client.delete(f"{self.core('services')}/hook")
        await self.client.delete(f"{self.core('endpoints')}/hook")
        meta = {"metadata": {"name": "hook"}}
        await self.created(self.core("services"), {**meta, "spec": {"ports": [{"port": 8443, "targetPort": port}]}})
        subset = {"addresses": [{"ip": own_address()}], "ports": [{"port": port}]}
        await self.created(self.core("endpoints"), {**meta, "subsets": [subset]})


class ConvertedTests(WebhookCase):
    """Custom resources whose versions a webhook converts, in front of webhooks of admission."""

    async def test_other_version(self) -> None:
        """A webhook that knows one version sees and changes writes through all others (reference HOOK-8)."""
        await self.define_by_webhook()
        rule = {
            "operations": ["CREATE", "UPDATE"],
            "apiGroups": [self.crd_group],
            "apiVersions": ["v1alpha1"],
            "resources": ["routes"],
        }
        name = f"{self.unique('w')}.example.com"
        hook = AdmissionWebhook(reactor, name=name, mutating=True, rules=[rule])
        self.addCleanup(hook.stop)
        await self.created(hook.path, hook.configuration)
        self.addCleanup(self.client.delete, f"{hook.path}/{name}")
        hook.patch({"op": "replace", "path": "/spec/hostPort", "value": "changed:81"})
        for version in ("v1", "v1beta1", "v1alpha1"):
            stored = await self.created(self.path(version), self.route(version, f"r-{version}"))
            self.assertEqual(stored["spec"], spec(version, "changed", 81))
            review = hook.reviews[-1]
            self.assertEqual(review["object"]["spec"], {"hostPort": "h:80"})
            self.assertEqual((review["kind"]["version"], review["requestKind"]["version"]), ("v1alpha1", version))
        answer = await self.client.merge(self.path("v1", "r-v1"), {"spec": {"note": "x"}})
        self.assertEqual(answer.code, 200, answer)
        review = hook.reviews[-1]
        self.assertEqual(review["object"]["spec"], {"hostPort": "changed:81", "note": "x"})
        self.assertEqual(review["oldObject"]["spec"], {"hostPort": "changed:81"})
        self.webhook.answer = lambda _asked: HANG_UP
        answer = await self.client.post(self.path("v1"), self.route("v1", "lost"))
        self.assertEqual((answer.code, answer.json["reason"]), (500, "InternalError"), answer)
        self.assertIn("conversion webhook for ", answer.json["message"])


class CredentialTests(ProcessCase):
    """Credentials of the server for webhooks (reference ADM-13)."""

    timeout = 120

    async def test_file(self) -> None:
        """Each webhook is shown what the file has for its host: a certificate, a token, nothing."""
        folder = Path(self.mktemp()).absolute()
        folder.mkdir()
        authority = certificates.new_authority("clients", datetime.now(UTC))
        key = certificates.new_key()
        shown = certificates.issue(authority, key, "api", certificates.CLIENT, datetime.now(UTC))
        checking = partial(WebhookServer, client_ca=certificates.pem(authority.certificate))
        with_certificate = AdmissionWebhook(reactor, "configmaps", name="a.b.c", server=checking)
        with_token = AdmissionWebhook(reactor, "configmaps", name="d.b.c")
        for each in (with_certificate, with_token):
            self.addCleanup(each.stop)
        users = [
            {
                "name": f"127.0.0.1:{with_certificate.server.port}",
                "user": {
                    "client-certificate-data": base64.b64encode(certificates.pem(shown)).decode(),
                    "client-key-data": base64.b64encode(certificates.key_pem(key)).decode(),
                },
            },
            {"name": "*", "user": {"token": "for-everybody"}},
        ]
        (folder / "users.yaml").write_text(yaml.safe_dump({"kind": "Config", "users": users}))
        configuration = {
            "apiVersion": "apiserver.config.orch.io/v1",
            "kind": "WebhookAdmissionConfiguration",
            "kubeConfigFile": "users.yaml",
        }
        file = folder / "admission.yaml"
        plugin = {"name": "ValidatingAdmissionWebhook", "configuration": configuration}
        kind = {"apiVersion": "apiserver.config.orch.io/v1", "kind": "AdmissionConfiguration"}
        file.write_text(yaml.safe_dump({**kind, "plugins": [plugin]}))
        server = self.server(f"--admission-control-config-file={file}")
        await server.start()
        client = self.client(server)
        for each in (with_certificate, with_token):
            self.assertEqual((await client.post(each.path, each.configuration)).code, 201)
        answer = await client.post("/api/v1/namespaces/default/configmaps", {"metadata": {"name": "a"}})
        self.assertEqual(answer.code, 201, answer)
        (asked,) = with_certificate.server.asked
        self.assertEqual((asked.user, asked.headers.get("authorization")), ("api", None))
        (asked,) = with_token.server.asked
        self.assertEqual((asked.user, asked.headers["authorization"]), ("", "Bearer for-everybody"))

    async def test_bad_file(self) -> None:
        """A file that cannot be used ends the start with one line."""
        file = Path(self.mktemp()).absolute()
        kind = {"apiVersion": "apiserver.config.orch.io/v1", "kind": "AdmissionConfiguration"}
        configuration = {**kind, "kind": "WebhookAdmissionConfiguration", "kubeConfigFile": "no"}
        plugin = {"name": "MutatingAdmissionWebhook", "configuration": configuration}
        file.write_bytes(orjson.dumps({**kind, "plugins": [plugin]}))
        refusal = await self.refusal(self.server(f"--admission-control-config-file={file}"))
        self.assertIn("no: No such file or directory", refusal)


class RestartTests(ProcessCase):
    """A webhook that is in everybody's way."""

    timeout = 120

    async def test_start_past_it(self) -> None:
        """A server starts though a webhook for everything hangs, which can then be deleted (reference HOOK-35)."""
        server = self.server("--controllers=*,-root-ca-cert-publisher")
        await server.start()
        hook = AdmissionWebhook(reactor, "*/*", mutating=True, timeoutSeconds=30)
        self.addCleanup(hook.stop)
        hook.reply(Reply(silent=True))
        self.assertEqual((await self.client(server).post(hook.path, hook.configuration)).code, 201)
        self.assertEqual(await server.kill9(), -9)
        await server.start()
        client = self.client(server)
        self.assertEqual((await client.get("/readyz")).code, 200)
        self.assertEqual((await client.delete(f"{hook.path}/{hook.name}")).code, 200)
        answer = await client.post("/api/v1/namespaces/default/configmaps", {"metadata": {"name": "a"}})
        self.assertEqual(answer.code, 201)
        self.assertEqual([each for each in hook.reviews if each["userInfo"]["username"] == "system:apiserver"], [])


class KopfTests(ProcessCase):
    """Admission handlers of kopf's in front of `kubectl apply`, with names as in Kubernetes."""

    timeout = 240
    skip = NO_KUBECTL or missing("kopf")

    async def test_story(self) -> None:
        """Applied objects are marked or refused by the operator; dry runs too."""
        api = self.server("--vocabulary=kubernetes")
        await api.start()
        self.user = self.client(api)
        await self.user.post("/api/v1/namespaces", {"metadata": {"name": "shop"}})
        program = self.operator(str(api.kubeconfig))
        await self.until_configured(program)
        kubectl = Kubectl(forking, api.kubeconfig, self.mktemp())

        async def apply(name: str, *flags: str, **more: Any) -> Any:
            meta = {"name": name, "namespace": "shop", "labels": {"app": "shop"}}
            manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, **more}
            return await kubectl.run("apply", "-f", "-", *flags, stdin=yaml.safe_dump(manifest))

        done = await apply("full", data={"bread": "rye"})
        self.assertEqual((done.status, done.output), (0, "configmap/full created\n"), (done, program.printed))
        self.assertIn("seen by the operator", done.errors)
        self.assertEqual(await self.labels("full"), {"app": "shop", "seen": "yes"})
        refused = await apply("empty")
        self.assertEqual(refused.status, 1)
        self.assertIn("denied the request: there is nothing to sell", refused.errors)
        dry = await apply("dry", "--dry-run=server", "-o", "yaml", data={"bread": "rye"})
        self.assertEqual(yaml.safe_load(dry.output)["metadata"]["labels"]["seen"], "dry")
        self.assertEqual((await self.user.get(f"{MAPS}/dry")).code, 404)
        served = await apply("served", "--server-side", data={"bread": "rye"})
        self.assertEqual(served.status, 0, served)
        self.assertEqual(await self.labels("served"), {"app": "shop", "seen": "yes"})
        for word in ("Traceback", "Unhandled"):
            self.assertNotIn(word, api.log + api.errors)

    def operator(self, kubeconfig: str) -> Program:
        folder = Path(self.mktemp()).absolute()
        folder.mkdir()
        now, key = datetime.now(UTC), certificates.new_key()
        authority = certificates.new_authority("operator", now)
        day = timedelta(days=1)
        made = certificates.issue(authority, key, "x", certificates.SERVER, now, hosts=("127.0.0.1",), life=day)
        (folder / "ca.crt").write_bytes(certificates.pem(authority.certificate))
        (folder / "server.crt").write_bytes(certificates.pem(made))
        (folder / "server.key").write_bytes(certificates.key_pem(key))
        file = Path(__file__).with_name("operators") / "with_admission.py"
        command = ["-m", "kopf", "run", "--standalone", "--namespace=shop", str(file)]
        program = Program(command, {"KUBECONFIG": kubeconfig, "WEBHOOK_FOLDER": str(folder)})
        self.addCleanup(program.kill)
        return program

    async def until_configured(self, program: Program) -> None:
        """The operator has put up its webhooks."""
        end_s = reactor.seconds() + PATIENCE_S
        while reactor.seconds() < end_s and program.running:
            found = [
                hook
                for kind in ("mutating", "validating")
                for each in (await self.user.get(f"{WEBHOOKS}/{kind}webhookconfigurations")).json["items"]
                for hook in each.get("webhooks") or ()
                if hook.get("rules")
            ]
            if len(found) == 2:
                return
            await deferLater(reactor, 0.2)
        self.fail(program.printed)

    async def labels(self, name: str) -> Any:
        return (await self.user.get(f"{MAPS}/{name}")).json["metadata"]["labels"]
