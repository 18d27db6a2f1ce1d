"""ImagePolicyWebhook (reference PLUG-50 to PLUG-52, PLUG-85)."""
# covers: orchtw.admission.plugins.image_policy.settings

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import yaml
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.admission.attributes import Attributes
from orchtw.admission.chain import Chain
from orchtw.admission.configuration import Given
from orchtw.admission.plugins.image_policy.backend import CALLS, KEPT, WAIT_S, ImageBackend
from orchtw.admission.plugins.image_policy.plugin import ImagePolicyWebhook
from orchtw.admission.plugins.image_policy.review import ImageVerdict, verdict_of
from orchtw.admission.plugins.image_policy.settings import ImagePolicySettings, read
from orchtw.errors import ConfigError, Forbidden
from orchtw.naming.naming import Naming
from orchtw.outbound import retries
from orchtw.outbound.answers import BadResponse
from orchtw.outbound.caller import CallFailed
from orchtw.testing.webhook import HANG_UP, Reply
from orchtw.wire.objects import Object
from tests.admission.asked import NAMING, attributes, configured, host, pass_chain, request
from tests.outbound.test_caller import CallerCase, reactor

VERSION = "imagepolicy.orch.io/v1alpha1"
AUDIT = "imagepolicywebhook.image-policy.orch.io/"
MARK = "alpha.image-policy.orch.io/failed-open"
DENIED = "image policy webhook backend denied one or more images: "
REJECTED = "one or more images rejected by webhook backend"


def answer(**status: Any) -> Object:
    return {"apiVersion": VERSION, "kind": "ImageReview", "status": status}


def pod(
    *images: str, init: tuple[str, ...] = (), looks: tuple[str, ...] = (), noted: Object | None = None
) -> Object:
    """A pod with containers of these images; `looks` are ephemeral ones, `noted` are annotations."""
    lists = {"initContainers": init, "containers": images, "ephemeralContainers": looks}
    spec = {name: [{"name": f"c{n}", "image": each} for n, each in enumerate(found)] for name, found in lists.items()}
    meta: Object = {"name": "x", "annotations": noted} if noted else {"name": "x"}
    return {"metadata": meta, "spec": {key: value for key, value in spec.items() if value}}


def created(obj: Object, **more: Any) -> Attributes:
    return attributes("CREATE", "pods", namespace="ns", obj=obj, request=request(), **more)


def updated(old: Object, new: Object, **more: Any) -> Attributes:
    return attributes("UPDATE", "pods", namespace="ns", old=old, obj=new, request=request(), **more)


class PluginTests(SynchronousTestCase):
    """The plugin in a chain, over a backend that says what a test wants."""

    def setUp(self) -> None:
        self.asked: list[Object] = []
        self.reply: Any = answer(allowed=True)
        self.clock = Clock()
        self.make()

    def make(self, *, default_allow: bool = False, naming: Naming = NAMING, **settings: Any) -> None:
        made = ImagePolicySettings(default_allow=default_allow, **settings)
        backend = ImageBackend(self.ask, made, naming.api_version(VERSION), self.clock)
        self.plugin = ImagePolicyWebhook(backend, naming, default_allow=default_allow)
        self.chain = Chain([self.plugin])

    async def ask(self, body: bytes) -> bytes:
        self.asked.append(orjson.loads(body))
        if isinstance(self.reply, Exception):
            raise self.reply
        return self.reply if isinstance(self.reply, bytes) else orjson.dumps(self.reply)

    def passed(self, asked: Attributes) -> None:
        self.assertIsNone(self.successResultOf(pass_chain(self.chain, asked)))

    def refused(self, asked: Attributes) -> str:
        message: str = self.failureResultOf(pass_chain(self.chain, asked), Forbidden).value.message
        return message.removeprefix('pods "x" is forbidden: ')

    def test_question(self) -> None:
        """The whole question: images in their order, annotations of the policy's domain, the namespace."""
        noted = {"a.image-policy.orch.io/b": "1", "image-policy.orch.io/c": "2", "other": "3"}
        obj = pod("one", "two", init=("three",), looks=("four",))
        obj["metadata"]["annotations"] = noted
        self.passed(created(obj))
        spec = {
            "containers": [{"image": "one"}, {"image": "two"}, {"image": "three"}],
            "annotations": {"a.image-policy.orch.io/b": "1"},
            "namespace": "ns",
        }
        expected = {"kind": "ImageReview", "apiVersion": VERSION, "metadata": {"creationTimestamp": None}}
        self.assertEqual(self.asked, [{**expected, "spec": spec, "status": {"allowed": False}}])

    def test_refused(self) -> None:
        """A refusal with the backend's reason, or without one; it need not say anything at all."""
        for status, why in (
            ({"allowed": False, "reason": "no"}, f"{DENIED}no"),
            ({"allowed": False}, REJECTED),
            ({"reason": "silent"}, f"{DENIED}silent"),
            ({}, REJECTED),
        ):
            self.reply = answer(**status)
            self.make()
            self.assertEqual(self.refused(created(pod("i"))), why)

    def test_audit(self) -> None:
        """The backend's own annotations go to the audit log, also those of a refusal, and from memory."""
        for allowed in (True, False):
            self.make()
            self.reply = answer(allowed=allowed, auditAnnotations={"why": "so"})
            for _ in range(2):
                asked = created(pod("i"))
                if allowed:
                    self.passed(asked)
                else:
                    self.refused(asked)
                assert asked.request is not None
                self.assertEqual(asked.request.annotations, {f"{AUDIT}why": "so"})
        self.assertEqual(len(self.asked), 2)

    def test_what_is_asked(self) -> None:
        """Creates and changes of images are asked about, once each; nothing else is."""
        for asked, count in (
            (created(pod("i")), 1),
            (created(pod("i"), dry_run=True), 1),
            (updated(pod("i"), pod("j")), 1),
            (updated(pod("i"), pod("i", init=("k",))), 1),
            (updated(pod("i"), pod("i", noted={"a.image-policy.orch.io/b": "1"})), 0),
            (updated(pod("i"), pod("i"), subresource="status"), 0),
            (updated(pod("i"), pod("i", looks=("k",)), subresource="ephemeralcontainers"), 1),
            (updated(pod("i"), pod("i"), subresource="ephemeralcontainers"), 0),
            (attributes("DELETE", "pods", old=pod("i")), 0),
            (attributes("CREATE", "pods", subresource="binding", obj={"metadata": {}}), 0),
            (attributes("CREATE", "configmaps", obj=pod("i")), 0),
        ):
            self.make()
            self.asked = []
            self.passed(asked)
            self.assertEqual(len(self.asked), count, asked)

    def test_ephemeral(self) -> None:
        """Of ephemeral containers these alone are asked about."""
        self.passed(updated(pod("i"), pod("i", looks=("k", "l")), subresource="ephemeralcontainers"))
        self.assertEqual(self.asked[0]["spec"]["containers"], [{"image": "k"}, {"image": "l"}])

    def test_no_answer(self) -> None:
        """Without an answer a pod is refused with the reason."""
        for reply, why in (
            (CallFailed('Post "https://h": EOF'), 'Post "https://h": EOF'),
            (CallFailed("an error on the server", code=500), "Error contacting webhook: 500"),
            (b"<html>", "the webhook's answer is not JSON"),
        ):
            self.reply = reply
            self.assertEqual(self.refused(created(pod("i"))), why)

    def test_failed_open(self) -> None:
        """By default_allow it passes and says so: in the audit log, and on the pod that is stored."""
        self.make(default_allow=True)
        self.reply = CallFailed("gone")
        asked = created(pod("i", noted={"b.c/d": "1"}))
        self.passed(asked)
        assert asked.request is not None and asked.obj is not None
        self.assertEqual(asked.request.annotations, {f"{AUDIT}failed-open": "true"})
        self.assertEqual(asked.obj["metadata"]["annotations"], {MARK: "true", "b.c/d": "1"})
        self.assertEqual(len(self.asked), 1)
        self.assertTrue(asked.canonical)

    def test_failed_open_elsewhere(self) -> None:
        """Of ephemeral containers the audit log alone tells; a refusal counts whatever the default."""
        self.make(default_allow=True)
        self.reply = CallFailed("gone")
        asked = updated(pod("i"), pod("i", looks=("k",)), subresource="ephemeralcontainers")
        self.passed(asked)
        assert asked.request is not None
        self.assertEqual((asked.changes, asked.request.annotations), (0, {f"{AUDIT}failed-open": "true"}))
        self.reply = answer(allowed=False)
        self.assertEqual(self.refused(created(pod("i"))), REJECTED)

    def test_later_plugins(self) -> None:
        """Images that another plugin has put in are asked about as well."""
        asked = created(pod("i"))
        self.successResultOf(Deferred.fromCoroutine(self.plugin.admit(asked)))
        self.reply = answer(allowed=False)
        asked.finish(pod("other"))
        failure = self.failureResultOf(Deferred.fromCoroutine(self.plugin.validate(asked)), Forbidden)
        self.assertIn(REJECTED, failure.value.message)
        images = [each["spec"]["containers"][0]["image"] for each in self.asked]
        self.assertEqual(images, ["i", "other"])

    def test_memory(self) -> None:
        """Both answers are remembered, each for its time; troubles are not."""
        for reply, refuse, kept_s in ((answer(allowed=True), False, 300), (answer(allowed=False), True, 30)):
            self.make()
            self.reply, self.asked = reply, []
            look = self.refused if refuse else self.passed
            for wait_s, count in ((0, 1), (kept_s - 1, 1), (2, 2)):
                self.clock.advance(wait_s)
                look(created(pod("i")))
                self.assertEqual(len(self.asked), count)
        self.make()
        self.asked, self.reply = [], CallFailed("gone")
        for _ in range(2):
            self.refused(created(pod("i")))
        self.assertEqual(len(self.asked), 2)

    def test_no_memory(self) -> None:
        """With times of zero every write is asked about, once."""
        self.make(allow_ttl_s=0.0, deny_ttl_s=0.0)
        for _ in range(2):
            self.passed(created(pod("i")))
        self.assertEqual(len(self.asked), 2)

    def test_turns(self) -> None:
        """So many questions are asked at a time; who waits for a turn does so for a while."""
        hanging: list[Deferred[bytes]] = []

        async def ask(body: bytes) -> bytes:
            hanging.append(Deferred())
            return await hanging[-1]

        backend = ImageBackend(ask, ImagePolicySettings(), VERSION, self.clock)
        done = [Deferred.fromCoroutine(backend.verdict(b"%d" % number, b"{}")) for number in range(CALLS + 2)]
        self.assertEqual(len(hanging), CALLS)
        done[-1].cancel()
        self.failureResultOf(done[-1])
        self.clock.advance(WAIT_S)
        self.assertEqual(str(self.failureResultOf(done[-2], CallFailed).value), "context deadline exceeded")
        for each in hanging:
            each.callback(orjson.dumps(answer(allowed=True)))
        self.assertTrue(all(self.successResultOf(each).allowed for each in done[:CALLS]))
        again = Deferred.fromCoroutine(backend.verdict(b"again", b"{}"))
        hanging[-1].callback(orjson.dumps(answer(allowed=True)))
        self.assertTrue(self.successResultOf(again).allowed)

    def test_bounds(self) -> None:
        """So many answers are remembered, and none that is long."""
        backend = ImageBackend(self.ask, ImagePolicySettings(), VERSION, self.clock)
        for number in range(KEPT + 10):
            key = str(number).encode()
            self.successResultOf(Deferred.fromCoroutine(backend.verdict(key, b"{}")))
        self.assertEqual(len(backend), KEPT)
        backend = ImageBackend(self.ask, ImagePolicySettings(), VERSION, self.clock)
        self.reply = answer(allowed=False, reason="x" * 5000)
        self.successResultOf(Deferred.fromCoroutine(backend.verdict(b"k", b"{}")))
        self.assertEqual(len(backend), 0)

    def test_other_vocabulary(self) -> None:
        """Annotations and kind have the names that are served."""
        naming = Naming.kubernetes()
        self.make(default_allow=True, naming=naming)
        self.reply = CallFailed("gone")
        obj = pod("i")
        obj["metadata"]["annotations"] = {"a.image-policy.k8s.io/b": "1", "a.image-policy.orch.io/b": "2"}
        asked = created(obj)
        self.passed(asked)
        assert asked.request is not None and asked.obj is not None
        self.assertEqual(asked.request.annotations, {"imagepolicywebhook.image-policy.k8s.io/failed-open": "true"})
        self.assertIn("alpha.image-policy.k8s.io/failed-open", asked.obj["metadata"]["annotations"])
        self.assertEqual(self.asked[0]["apiVersion"], "imagepolicy.k8s.io/v1alpha1")
        self.assertEqual(self.asked[0]["spec"]["annotations"], {"a.image-policy.k8s.io/b": "1"})


class VerdictTests(SynchronousTestCase):
    """Verdicts of responses (reference PLUG-85)."""

    def test_good(self) -> None:
        """Allowed only where it is said; whatever else is there does not matter."""
        for body, expected in (
            (answer(allowed=True, reason="r", more=1), ImageVerdict(allowed=True, reason="r")),
            ({**answer(allowed=True), "spec": 5}, ImageVerdict(allowed=True)),
            (answer(auditAnnotations={"a": "b"}), ImageVerdict(allowed=False, annotations={"a": "b"})),
            ({**answer(), "status": None}, ImageVerdict(allowed=False)),
        ):
            self.assertEqual(verdict_of(orjson.dumps(body), VERSION), expected)

    def test_bad(self) -> None:
        """Anything but an ImageReview of the sent version allows nothing."""
        for body in (
            b"",
            b"<html>",
            b"[]",
            b"[" * 100_000,
            b'{"kind":"ImageReview"}',
            orjson.dumps({**answer(allowed=True), "kind": "Status"}),
            orjson.dumps({**answer(allowed=True), "apiVersion": "imagepolicy.orch.io/v1"}),
            orjson.dumps({**answer(allowed=True), "apiVersion": 5}),
            orjson.dumps({**answer(), "status": "allowed"}),
            orjson.dumps(answer(allowed="true")),
            orjson.dumps(answer(allowed=1)),
            orjson.dumps(answer(allowed=True, reason=5)),
            orjson.dumps(answer(allowed=True, auditAnnotations={"a": 5})),
            orjson.dumps(answer(allowed=True, auditAnnotations=[])),
        ):
            self.assertRaises(BadResponse, verdict_of, body, VERSION)


GOOD = {"clusters": [{"name": "c", "cluster": {"server": "https://h/p"}}]}
RANGE, BACKOFF = "valid value is between 1s and 30m0s", "valid value is between 1ms and 5m0s"
WRONG: list[tuple[Object, str]] = [
    ({}, "imagePolicy.kubeConfigFile: is missing"),
    ({"imagePolicies": {}}, 'unknown field "imagePolicies"'),
    ({"imagePolicy": {"kubeConfig": ""}}, 'imagePolicy: unknown field "kubeConfig"'),
    ({"imagePolicy": {"allowTTL": 1801}}, f"imagePolicy.allowTTL: {RANGE}, got 30m1s"),
    ({"imagePolicy": {"allowTTL": -2}}, f"imagePolicy.allowTTL: {RANGE}, got -2s"),
    ({"imagePolicy": {"denyTTL": 2**62}}, f"imagePolicy.denyTTL: {RANGE}, got {2**62 * 1000} ms"),
    ({"imagePolicy": {"denyTTL": 1.5}}, "imagePolicy.denyTTL: must be an integer"),
    ({"imagePolicy": {"retryBackoff": 300_001}}, f"imagePolicy.retryBackoff: {BACKOFF}, got 5m0.001s"),
    ({"imagePolicy": {"defaultAllow": "yes"}}, "imagePolicy.defaultAllow: must be true or false"),
    ({"imagePolicy": {"kubeConfigFile": "away"}}, "imagePolicy.kubeConfigFile: "),
    ({"imagePolicy": {"kubeConfigFile": "plain"}}, "imagePolicy.kubeConfigFile: the server http://h/p must be"),
]


class SettingsTests(SynchronousTestCase):
    """The configuration (reference PLUG-52)."""

    def setUp(self) -> None:
        self.folder = Path(self.mktemp())
        self.folder.mkdir()
        plain = {"clusters": [{"name": "c", "cluster": {"server": "http://h/p"}}]}
        for name, content in (("good", GOOD), ("plain", plain)):
            (self.folder / name).write_text(yaml.safe_dump(content))

    def read(self, obj: Object) -> tuple[Any, ImagePolicySettings]:
        return read(configured(obj, str(self.folder)), NAMING, reactor)

    def test_wrong(self) -> None:
        """Each mistake has its line, and no configuration is one."""
        for obj, line in WRONG:
            error = self.assertRaises(ConfigError, self.read, obj)
            self.assertTrue(str(error).startswith(f"{self.folder}/plugin.yaml: {line}"), str(error))
        error = self.assertRaises(ConfigError, read, None, NAMING, reactor)
        self.assertIn("no config specified", str(error))

    def test_values(self) -> None:
        """Zero is the usual value, minus one none; files are found beside the configuration."""
        for given, expected in (
            ({}, ImagePolicySettings()),
            ({"allowTTL": 0, "denyTTL": 0, "retryBackoff": 0}, ImagePolicySettings()),
            (
                {"allowTTL": -1, "denyTTL": -1, "retryBackoff": -1},
                ImagePolicySettings(allow_ttl_s=0.0, deny_ttl_s=0.0, backoff_s=0.0),
            ),
            (
                {"allowTTL": 1800, "denyTTL": 1, "retryBackoff": 1, "defaultAllow": True},
                ImagePolicySettings(allow_ttl_s=1800.0, deny_ttl_s=1.0, backoff_s=0.001, default_allow=True),
            ),
            ({"retryBackoff": 300_000}, ImagePolicySettings(backoff_s=300.0)),
        ):
            remote, settings = self.read({"imagePolicy": {"kubeConfigFile": "good", **given}})
            self.assertEqual((remote.url, settings), ("https://h/p", expected))


class WebhookTests(CallerCase):
    """A real backend over TLS: good, slow, failing, lying (reference PLUG-51, PLUG-85)."""

    def setUp(self) -> None:
        super().setUp()
        self.authority = self.webhook.ca_bundle

    def make(self, **more: Any) -> Chain:
        """The chain of a configuration that leads to the backend."""
        folder = Path(self.mktemp())
        folder.mkdir()
        cluster = {"server": f"{self.webhook.url}/images", "certificate-authority-data": self.authority}
        (folder / "backend").write_text(yaml.safe_dump({"clusters": [{"name": "c", "cluster": cluster}]}))
        obj = {"imagePolicy": {"kubeConfigFile": "backend", "retryBackoff": 1, **more}}
        given = Given(obj=obj, path=str(folder / "given"), directory=str(folder))
        return Chain([ImagePolicyWebhook.of(host(clock=reactor, caller=self.caller), given)])

    async def why(self, **more: Any) -> str:
        """Return the reason for refusing a pod."""
        try:
            await pass_chain(self.make(**more), created(pod("i")))
        except Forbidden as error:
            return error.message.removeprefix('pods "x" is forbidden: ')
        return ""

    async def test_good(self) -> None:
        """Asked by POST; what it says counts."""
        self.reply = answer(allowed=True)
        self.assertEqual(await self.why(), "")
        (asked,) = self.webhook.asked
        self.assertEqual((asked.method, asked.target), ("POST", "/images?timeout=30s"))
        self.reply = answer(allowed=False, reason="from elsewhere")
        self.assertEqual(await self.why(), f"{DENIED}from elsewhere")

    async def test_failing(self) -> None:
        """Errors of the server are tried again, up to five times; then a pod is refused, or passes."""
        for code, tries in ((500, 5), (503, 5), (404, 1), (302, 1)):
            self.webhook.asked.clear()
            self.reply = Reply(code=code, body=b"<html>")
            self.assertEqual(await self.why(), f"Error contacting webhook: {code}")
            self.assertEqual(len(self.webhook.asked), tries)
            self.assertEqual(await self.why(defaultAllow=True), "")

    async def test_lying(self) -> None:
        """Without a response nothing is allowed, unless that is the default."""
        for reply in (
            {**answer(allowed=True), "kind": "TokenReview"},
            answer(allowed="yes"),
            b"<html>",
            Reply(body=b'{"kind":' + b'"x' * 1_000_000),
            Reply(body=orjson.dumps(answer(allowed=True)), cut=10),
        ):
            self.reply = reply
            self.assertNotEqual(await self.why(), "", reply)
            self.assertEqual(await self.why(defaultAllow=True), "")

    async def test_hanging_up(self) -> None:
        """A connection that ends is tried again, and the server may be back by then."""
        replies = [HANG_UP, answer(allowed=True)]
        self.webhook.answer = lambda asked: replies.pop(0) if len(replies) > 1 else replies[0]
        self.assertEqual(await self.why(), "")

    async def test_slow(self) -> None:
        """An answer that does not come in time is not tried again; others wait for the same one meanwhile."""
        self.patch(retries, "CALL_S", 3.0)  # by then the question has come, however busy the machine
        self.reply = Reply(silent=True)
        chain = self.make()
        done = [pass_chain(chain, created(pod("i"))) for _ in range(20)]
        for each in done:
            failure: Any = await each.addErrback(lambda failure: failure.value)
            self.assertTrue(failure.message.endswith(": context deadline exceeded"), failure.message)
        self.assertEqual(len(self.webhook.asked), 1)

    async def test_other_authority(self) -> None:
        """A backend whose certificate cannot be believed is not asked."""
        self.authority = self.new_webhook().ca_bundle
        self.assertIn("x509: certificate signed by unknown authority", await self.why())
        self.assertEqual(self.webhook.asked, [])
