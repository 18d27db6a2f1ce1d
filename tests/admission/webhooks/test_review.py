"""Reviews that webhooks get (reference HOOK-11, HOOK-12)."""
# covers: orchtw.admission.webhooks.views

from __future__ import annotations

from typing import Any

import orjson
from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from orchtw.admission.attributes import Attributes
from orchtw.admission.webhooks.review import Reviews
from orchtw.admission.webhooks.views import Views
from orchtw.naming.naming import Naming
from orchtw.request import UserInfo
from orchtw.rules.delete_options import DeleteOptions
from orchtw.rules.write_options import WriteOptions
from tests.admission.asked import attributes, canonical, resource

REVIEWS = Reviews(Naming.of("orch"))
USER = UserInfo(name="bob", uid="1", groups=("a", "b"), extra={"k": ("v",)})
BUDGET = {"metadata": {"name": "x"}, "spec": {"minAvailable": 1}}


class BodyTests(SynchronousTestCase):
    def body(self, asked: Attributes, shown: Attributes | None = None, version: str = "v1", **more: bytes) -> Any:
        return orjson.loads(REVIEWS.body(version, "u", shown or asked, asked, **more))

    def test_order(self) -> None:
        """Every member has its place."""
        asked = attributes(
            "UPDATE",
            "pods",
            namespace="n",
            subresource="status",
            user=USER,
            dry_run=True,
            given_options=WriteOptions(dry_run=True, field_manager="m"),
        )
        text = REVIEWS.body("v1", "u", asked, asked, b'{"a":1}', b'{"a":0}')
        kind = b'{"group":"","version":"v1","kind":"Pod"}'
        named = b'{"group":"","version":"v1","resource":"pods"}'
        user = b'{"username":"bob","uid":"1","groups":["a","b"],"extra":{"k":["v"]}}'
        options = b'{"kind":"UpdateOptions","apiVersion":"meta.orch.io/v1","dryRun":["All"],"fieldManager":"m"}'
        self.assertEqual(
            text,
            b'{"kind":"AdmissionReview","apiVersion":"admission.orch.io/v1","request":{"uid":"u",'
            b'"kind":%b,"resource":%b,"subResource":"status","requestKind":%b,"requestResource":%b,'
            b'"requestSubResource":"status","name":"x","namespace":"n","operation":"UPDATE","userInfo":%b,'
            b'"object":{"a":1},"oldObject":{"a":0},"dryRun":true,"options":%b}}'
            % (kind, named, kind, named, user, options),
        )

    def test_empty(self) -> None:
        """Empty fields are left out, but objects, options and dryRun are present."""
        asked = attributes("CONNECT", "nodes", name="", user=UserInfo(name=""))
        found = self.body(asked, version="v1beta1")
        self.assertEqual(found["apiVersion"], "admission.orch.io/v1beta1")
        self.assertEqual(
            list(found["request"]),
            ["uid", "kind", "resource", "requestKind", "requestResource", "operation", "userInfo"]
            + ["object", "oldObject", "dryRun", "options"],
        )
        request = found["request"]
        self.assertEqual(request["userInfo"], {})
        self.assertEqual(
            [request[key] for key in ("object", "oldObject", "dryRun", "options")], [None, None, False, None]
        )

    def test_another_version(self) -> None:
        """Kind and resource are the webhook's, the others those of the request (reference HOOK-8)."""
        asked = attributes("DELETE", "poddisruptionbudgets", "policy/v1", given_options=DeleteOptions())
        request = self.body(asked, attributes("DELETE", "poddisruptionbudgets", "policy/v1beta1"))["request"]
        for key, version in (("kind", "v1beta1"), ("resource", "v1beta1"), ("requestKind", "v1")):
            self.assertEqual(request[key]["version"], version)
        self.assertEqual(request["requestResource"]["version"], "v1")

    def test_other_vocabulary(self) -> None:
        """Groups are those of the vocabulary."""
        asked = attributes("CREATE", "pods")
        text = Reviews(Naming.of("kubernetes")).body("v1", "u", asked, asked)
        self.assertEqual(orjson.loads(text)["apiVersion"], "admission.k8s.io/v1")


class ViewTests(SynchronousTestCase):
    def texts(self, views: Views, version: str = "v1") -> list[Any]:
        async def found() -> tuple[bytes, bytes]:
            return await (await views.of(resource("poddisruptionbudgets", f"policy/{version}"))).texts()

        return [orjson.loads(text) for text in self.successResultOf(Deferred.fromCoroutine(found()))]

    def write(self, **more: Any) -> Attributes:
        obj = canonical("policy/v1", "PodDisruptionBudget", BUDGET)
        return attributes("UPDATE", "poddisruptionbudgets", "policy/v1", **{"obj": obj, **more})

    def test_metadata(self) -> None:
        """Metadata is in order, and the version of the stored object is shown (reference HOOK-32)."""
        meta = {"namespace": "n", "resourceVersion": "", "name": "x", "creationTimestamp": None}
        old = {**BUDGET, "metadata": {"name": "x", "resourceVersion": "7"}}
        new, shown_old = self.texts(Views(self.write(obj={**BUDGET, "metadata": meta}, old=old)))
        self.assertEqual(list(new["metadata"]), ["name", "namespace", "resourceVersion", "creationTimestamp"])
        self.assertEqual(new["metadata"]["resourceVersion"], "7")
        self.assertEqual(shown_old, old)
        new, nothing = self.texts(Views(self.write(obj={**BUDGET, "metadata": meta})))
        self.assertEqual((list(new["metadata"]), nothing), (["name", "namespace", "creationTimestamp"], None))
        self.assertEqual(meta["resourceVersion"], "")

    def test_not_canonical(self) -> None:
        """Objects from other plugins are shown with defaults."""
        asked = self.write()
        asked.obj = {**BUDGET, "spec": {"minAvailable": 2, "other": True}}
        found, _ = self.texts(Views(asked))
        self.assertEqual((found["kind"], found["spec"]), ("PodDisruptionBudget", {"minAvailable": 2}))
        self.assertTrue(asked.canonical)

    def test_changes(self) -> None:
        """Changes in one version are seen in all of them."""
        asked = self.write(old=canonical("policy/v1", "PodDisruptionBudget", BUDGET))
        views = Views(asked)
        (new, old) = self.texts(views, "v1beta1")
        self.assertEqual((new["apiVersion"], old["apiVersion"]), ("policy/v1beta1", "policy/v1beta1"))
        changed = canonical("policy/v1beta1", "PodDisruptionBudget", {**BUDGET, "spec": {"minAvailable": 5}})
        view = self.successResultOf(
            Deferred.fromCoroutine(views.of(resource("poddisruptionbudgets", "policy/v1beta1")))
        )
        self.successResultOf(Deferred.fromCoroutine(views.put(view, changed)))
        for version in ("v1", "v1beta1"):
            found = self.texts(views, version)[0]
            self.assertEqual((found["apiVersion"], found["spec"]), (f"policy/{version}", {"minAvailable": 5}))
        asked.fill(canonical("policy/v1", "PodDisruptionBudget", BUDGET))
        self.assertEqual(self.texts(views, "v1beta1")[0]["spec"], {"minAvailable": 1})
