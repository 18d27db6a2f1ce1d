"""Checks that come after admission (reference ADM-20)."""

from __future__ import annotations

from itertools import product
from typing import Any

import orjson

from orchtw.admission.attributes import Attributes
from orchtw.admission.webhooks.patch import patched
from orchtw.errors import InternalError
from orchtw.wire.objects import Object
from tests.controllers.asked_certificates import encoded, pem
from tests.verbs.admission_case import DEPLOYMENTS, REVIEWS, TEMPLATE, AdmissionCase
from tests.verbs.served import MERGE

CERTIFICATES = "/apis/certificates.orch.io/v1/certificatesigningrequests"
MADE_FOR = "the namespace of the provided object does not match the namespace sent on the request"
WRONG_NAME = "the name of the object (other) does not match the name on the URL (d)"
WRONG_PLACE = "the namespace of the object (orch-system) does not match the namespace on the request (default)"


class SettledTests(AdmissionCase):
    """Checks of sub-resources and unstored kinds after webhooks, as of those that clients send
    (reference ADM-20).
    """

    def setUp(self) -> None:
        super().setUp()
        self.pod("p")
        self.pod("n", node="node1")
        spec = {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}
        self.done("POST", DEPLOYMENTS, {"metadata": {"name": "d"}, "spec": spec})
        self.done("POST", "serviceaccounts", {"metadata": {"name": "sa"}})
        self.done("POST", "/api/v1/namespaces", {"metadata": {"name": "fin"}})
        asked = {"request": encoded(pem()), "signerName": "example.com/s", "usages": ["client auth"]}
        self.done("POST", CERTIFICATES, {"metadata": {"name": "c"}, "spec": asked})
        self.requests = self.made()

    def made(self) -> dict[str, tuple[str, str, Object | None, dict[str, str]]]:
        """A request for each sub-resource that takes a body, and each kind that is not stored."""
        meta, access = {"name": "p"}, {"verb": "get", "resource": "pods", "namespace": "default"}
        subject = {"user": "u", "resourceAttributes": access}
        ephemeral = {"ephemeralContainers": [{"name": "e", "image": "i"}]}
        fin = "/api/v1/namespaces/fin"
        token = "/apis/authentication.orch.io/v1/tokenreviews"
        scale = {"metadata": {"name": "d", "namespace": "default"}, "spec": {"replicas": 3}}
        return {
            "eviction": ("POST", "pods/p/eviction?dryRun=All", {"metadata": meta, "deleteOptions": {}}, {}),
            "binding": ("POST", "pods/p/binding?dryRun=All", {"metadata": meta, "target": {"name": "x"}}, {}),
            "bindings": ("POST", "bindings?dryRun=All", {"metadata": meta, "target": {"name": "x"}}, {}),
            "scale": ("PUT", f"{DEPLOYMENTS}/d/scale?dryRun=All", scale, {}),
            "scale patch": ("PATCH", f"{DEPLOYMENTS}/d/scale?dryRun=All", {"spec": {"replicas": 3}}, MERGE),
            "token": ("POST", "serviceaccounts/sa/token", {"spec": {}}, {}),
            "status": ("PATCH", "pods/p/status?dryRun=All", {"status": {"phase": "Running"}}, MERGE),
            "ephemeral": ("PATCH", "pods/p/ephemeralcontainers?dryRun=All", {"spec": ephemeral}, MERGE),
            "finalize": ("PUT", f"{fin}/finalize?dryRun=All", {"metadata": {"name": "fin"}, "spec": {}}, {}),
            "namespace": ("PATCH", f"{fin}/status?dryRun=All", {"status": {"phase": "Active"}}, MERGE),
            "approval": ("PATCH", f"{CERTIFICATES}/c/approval?dryRun=All", {"metadata": {"labels": {}}}, MERGE),
            "exec": ("GET", "pods/n/exec?command=ls&stdout=true", None, {}),
            "attach": ("GET", "pods/n/attach?stdout=true", None, {}),
            "portforward": ("GET", "pods/n/portforward?ports=80", None, {}),
            "proxy": ("GET", "pods/n/proxy/x", None, {}),
            "subject": ("POST", f"{REVIEWS}/subjectaccessreviews", {"spec": subject}, {}),
            "self": ("POST", f"{REVIEWS}/selfsubjectaccessreviews", {"spec": {"resourceAttributes": access}}, {}),
            "local": ("POST", f"{REVIEWS}/namespaces/default/localsubjectaccessreviews", {"spec": subject}, {}),
            "rules": ("POST", f"{REVIEWS}/selfsubjectrulesreviews", {"spec": {"namespace": "default"}}, {}),
            "review": ("POST", token, {"spec": {"token": "x"}}, {}),
        }

    def patched(self, which: str, path: str, value: object, op: str = "add") -> tuple[int, str]:
        """Code and message of the request when a webhook's patch does that."""

        async def mutate(attributes: Attributes) -> None:
            obj = attributes.obj
            assert obj is not None
            read = attributes.surface.reader(attributes.resource, attributes.subresource)
            operations = [{"op": op, "path": path, "value": value}]
            try:
                attributes.fill(patched(obj, orjson.dumps(obj), operations, read).obj)
            except InternalError:
                self.ill_formed += 1
                raise

        self.ill_formed = 0
        self.plugin.mutate = mutate
        answer = self.send(*self.requests[which])
        return answer.code, answer.json.get("message", "")

    def test_other_object(self) -> None:
        """A change of identity is refused."""
        name, namespace = "/metadata/name", "/metadata/namespace"
        eviction, binding = (f"name in URL does not match name in {kind} object" for kind in ("Eviction", "Binding"))
        account = 'TokenRequest.authentication.orch.io "sa" is invalid: metadata'
        account_name = "must match the service account name if specified"
        account_place = "must match the service account namespace if specified"
        immutable = 'is invalid: metadata.name: Invalid value: "other": field is immutable'
        for which, path, value, refusal in (
            ("eviction", name, "other", (400, eviction)),
            ("eviction", namespace, "orch-system", (400, MADE_FOR)),
            ("binding", name, "other", (400, binding)),
            ("bindings", name, "other", (400, binding)),
            ("binding", namespace, "orch-system", (400, MADE_FOR)),
            ("scale", name, "other", (400, WRONG_NAME)),
            ("scale patch", name, "other", (400, WRONG_NAME)),
            ("scale", namespace, "orch-system", (400, WRONG_PLACE)),
            ("token", name, "other", (422, f'{account}.name: Invalid value: "other": {account_name}')),
            ("token", namespace, "x", (422, f'{account}.namespace: Invalid value: "x": {account_place}')),
            ("status", name, "other", (422, f'Pod "other" {immutable}')),
            ("ephemeral", name, "other", (400, WRONG_NAME.replace("(d)", "(p)"))),
            ("ephemeral", namespace, "orch-system", (400, WRONG_PLACE)),
            ("approval", name, "other", (422, f'CertificateSigningRequest.certificates.orch.io "other" {immutable}')),
            ("finalize", name, "other", (422, f'Namespace "other" {immutable}')),
            ("namespace", name, "other", (422, f'Namespace "other" {immutable}')),
        ):  # fmt: skip
            with self.subTest(which=which, path=path):
                self.assertEqual(self.patched(which, path, value), refusal)

    def test_other_uid(self) -> None:
        """A Scale of an object that is gone by now scales nothing."""
        code, message = self.patched("scale", "/metadata/uid", "other")
        self.assertEqual(code, 409)
        self.assertIn("Precondition failed: UID in precondition: other, UID in object meta: ", message)

    def test_audiences(self) -> None:
        """A token without audiences gets the server's own, even if a plugin removed them (reference AUTHN-28)."""
        value: Any
        for value in ([], None):
            self.assertEqual(self.patched("token", "/spec/audiences", value)[0], 201)
        self.assertEqual(self.patched("token", "/spec", {})[0], 201)
        code, message = self.patched("token", "/spec/expirationSeconds", 1)
        self.assertEqual(code, 422)
        self.assertIn("spec.expirationSeconds: Invalid value: 1: may not specify a duration less than 10", message)

    def test_no_trouble(self) -> None:
        """Whatever a patch does to whatever object, there is an answer: that of the checks, or the refusal (500) of a
        webhook whose patch leaves no such object. Never a traceback.
        """
        paths = ["/metadata", "/metadata/name", "/metadata/namespace", "/metadata/uid", "/spec", "/status", "/target"]
        paths += ["/deleteOptions", "/container", "/command", "/ports", "/path", "/apiVersion", "/kind", ""]
        keys = ("audiences", "expirationSeconds", "boundObjectRef", "replicas", "user", "groups", "extra", "token")
        paths += [f"/spec/{key}" for key in (*keys, "resourceAttributes", "nonResourceAttributes", "namespace")]
        values: tuple[Any, ...] = (
            None, {}, [], "", "x", 0, -1, 1 << 70, True, [None], [{}], {"a": None}, "../x\r\nA: b",
        )  # fmt: skip
        for which in self.requests:
            for path, value in product(paths, values):
                code, message = self.patched(which, path, value)
                self.assertEqual(self.flushLoggedErrors(), [], (which, path, value))
                if code == 500:
                    self.assertTrue(self.ill_formed, (which, path, value, message))
                    self.assertTrue(message.startswith("Internal error occurred: "), message)
