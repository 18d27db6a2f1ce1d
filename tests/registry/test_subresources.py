"""Writes to /status and /approval: kept and taken fields (reference CSR-8, KIND-12)."""

from __future__ import annotations

from twisted.internet import reactor
from twisted.trial.unittest import TestCase

from orchtw.wire.objects import Object
from tests.end_to_end.minimal import signing_request
from tests.in_process import InProcessServer

REQUESTS = "/apis/certificates.orch.io/v1/certificatesigningrequests"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
PODS = "/api/v1/namespaces/default/pods"
PEM = signing_request()
APPROVED = {"type": "Approved", "status": "True", "reason": "Checked"}


class SubresourceCase(TestCase):
    async def setUp(self) -> None:  # type: ignore[override]
        self.server = InProcessServer(reactor, self.mktemp())
        await self.server.start()
        self.addCleanup(self.server.stop)

    async def sent(self, method: str, path: str, obj: Object, **headers: str) -> Object:
        answer = await self.server.request(method, path, obj, headers)
        self.assertIn(answer.code, (200, 201), answer)
        found: Object = answer.json
        return found


class SigningRequestTests(SubresourceCase):
    """Sub-resource approval (reference CSR-8)."""

    async def request(self, **headers: str) -> Object:
        asked = {"username": "system:admin", "uid": "1", "groups": ["system:masters"], "extra": {"a": ["b"]}}
        spec = {"request": PEM, "signerName": "example.com/s", "usages": ["client auth"], **asked}
        status = {"conditions": [APPROVED], "certificate": "eA=="}
        obj = {"metadata": {"name": "r"}, "spec": spec, "status": status}
        return await self.sent("POST", REQUESTS, obj, **headers)

    async def test_identity_is_the_requesters(self) -> None:
        """spec.username, uid, groups and extra are the requester's, whatever the body says; nothing is approved."""
        stored = await self.request()
        spec = stored["spec"]
        self.assertEqual((spec["username"], spec["uid"]), ("admin", "admin"))
        self.assertEqual(spec["groups"], ["system:masters", "system:authenticated"])
        self.assertNotIn("extra", spec)
        self.assertEqual(stored["status"], {})

    async def test_identity_of_an_impersonated_user(self) -> None:
        """The impersonated user is the requester, extra attributes included."""
        headers = {"impersonate-user": "bob", "impersonate-group": "system:masters"}
        stored = await self.request(**headers, **{"impersonate-extra-scopes": "one"})
        self.assertEqual(stored["spec"]["username"], "bob")
        self.assertEqual(stored["spec"]["extra"], {"scopes": ["one"]})

    async def test_update_keeps_the_request(self) -> None:
        """A PUT changes metadata only."""
        stored = await self.request()
        changed = {**stored, "spec": {**stored["spec"], "username": "eve", "request": "eA=="}}
        changed["metadata"] = {**stored["metadata"], "labels": {"a": "b"}}
        after = await self.sent("PUT", f"{REQUESTS}/r", changed)
        self.assertEqual(after["spec"], stored["spec"])
        self.assertEqual(after["metadata"]["labels"], {"a": "b"})

    async def test_approval(self) -> None:
        """It takes conditions, labels and annotations, sets the conditions' times, and no certificate."""
        stored = await self.request()
        sent = {**stored, "status": {"conditions": [APPROVED], "certificate": "eA=="}}
        sent["metadata"] = {**stored["metadata"], "labels": {"a": "b"}, "annotations": {"c": "d"}}
        after = await self.sent("PUT", f"{REQUESTS}/r/approval?fieldManager=approver", sent)
        self.assertEqual((after["metadata"]["labels"], after["metadata"]["annotations"]), ({"a": "b"}, {"c": "d"}))
        (condition,) = after["status"]["conditions"]
        self.assertEqual(condition["lastUpdateTime"], condition["lastTransitionTime"])
        self.assertNotIn("certificate", after["status"])
        again = await self.sent("PUT", f"{REQUESTS}/r/approval", {**after, "status": {"conditions": [APPROVED]}})
        self.assertEqual(again["status"]["conditions"][0]["lastTransitionTime"], condition["lastTransitionTime"])

    async def test_approval_owns_what_it_changed(self) -> None:
        """The approver comes to own the condition, and neither the request nor the certificate."""
        stored = await self.request()
        sent = {**stored, "status": {"conditions": [APPROVED], "certificate": "eA=="}}
        sent["spec"] = {**stored["spec"], "usages": ["any"]}
        after = await self.sent("PUT", f"{REQUESTS}/r/approval?fieldManager=approver", sent)
        (entry,) = [each for each in after["metadata"]["managedFields"] if each["manager"] == "approver"]
        self.assertEqual(entry["subresource"], "approval")
        self.assertEqual(list(entry["fieldsV1"]), ["f:status"])
        self.assertEqual(list(entry["fieldsV1"]["f:status"]), ["f:conditions"])


    async def test_status_takes_metadata(self) -> None:
        """A signer's patch of /status takes labels and annotations along, and keeps the request (reference CSR-9)."""
        stored = await self.request()
        patch = {"metadata": {"labels": {"a": "b"}, "annotations": {"patchedstatus": "true"}}, "spec": {"usages": []}}
        patch["status"] = {"conditions": [{"type": "Failed", "status": "True", "reason": "Checked"}]}
        headers = {"content-type": "application/merge-patch+json"}
        after = await self.sent("PATCH", f"{REQUESTS}/r/status", patch, **headers)
        self.assertEqual(after["metadata"]["labels"], {"a": "b"})
        self.assertEqual(after["metadata"]["annotations"], {"patchedstatus": "true"})
        self.assertEqual((after["spec"], after["status"]["conditions"][0]["type"]), (stored["spec"], "Failed"))


class StatusTests(SubresourceCase):
    async def test_deployment_status_keeps_labels(self) -> None:
        """A write to a Deployment's /status takes annotations, and leaves labels and spec as they are."""
        template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
        stored = await self.sent("POST", DEPLOYMENTS, {"metadata": {"name": "d", "labels": {"a": "b"}}, "spec": spec})
        meta = {**stored["metadata"], "labels": {"a": "changed"}, "annotations": {"c": "d"}}
        sent = {**stored, "metadata": meta, "spec": {**stored["spec"], "replicas": 9}, "status": {"replicas": 1}}
        after = await self.sent("PUT", f"{DEPLOYMENTS}/d/status", sent)
        self.assertEqual(after["metadata"]["labels"], {"a": "b"})
        self.assertEqual(after["metadata"]["annotations"], {"c": "d"})
        self.assertEqual((after["spec"]["replicas"], after["status"]["replicas"]), (1, 1))

    async def test_pod_status_keeps_owners(self) -> None:
        """A node agent's write to a pod's /status takes labels, and leaves owners as they are."""
        spec = {"containers": [{"name": "c", "image": "i"}]}
        stored = await self.sent("POST", PODS, {"metadata": {"name": "p"}, "spec": spec})
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "u"}
        meta = {**stored["metadata"], "labels": {"a": "b"}, "ownerReferences": [owner]}
        sent = {**stored, "metadata": meta, "status": {"phase": "Running"}}
        after = await self.sent("PUT", f"{PODS}/p/status", sent)
        self.assertNotIn("ownerReferences", after["metadata"])
        self.assertEqual((after["metadata"]["labels"], after["status"]["phase"]), ({"a": "b"}, "Running"))
