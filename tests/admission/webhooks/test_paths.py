"""Every way to write something is shown to webhooks, each as what it is (reference HOOK-9, HOOK-12)."""

from __future__ import annotations

from typing import Any

from tests.admission.webhooks.case import MERGE, WebhookCase

CORE = "/api/v1/namespaces/default"
APPLY = {"content-type": "application/apply-patch+yaml"}
POD = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": {"a": "b"}}
ACCESS = {"spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}}}

# Method, path, body, headers; then operation, resource, sub-resource, kind, name, kind of options.
ROWS: tuple[tuple[str, str, Any, Any, tuple[str, str, str, str, str, str | None]], ...] = (
    ("POST", "/pods", POD, None, ("CREATE", "pods", "", "Pod", "p", "CreateOptions")),
    ("PATCH", "/configmaps/m?fieldManager=me", MAP, APPLY,
     ("CREATE", "configmaps", "", "ConfigMap", "m", "CreateOptions")),
    ("PATCH", "/configmaps/m?fieldManager=me", {**MAP, "data": {"a": "c"}}, APPLY,
     ("UPDATE", "configmaps", "", "ConfigMap", "m", "UpdateOptions")),
    ("PATCH", "/configmaps/m", {"data": {"a": "d"}}, MERGE,
     ("UPDATE", "configmaps", "", "ConfigMap", "m", "UpdateOptions")),
    ("PUT", "/configmaps/m", {**MAP, "data": {"a": "e"}}, None,
     ("UPDATE", "configmaps", "", "ConfigMap", "m", "UpdateOptions")),
    ("POST", "/pods/p/binding", {"target": {"name": "n"}}, None,
     ("CREATE", "pods", "binding", "Binding", "p", "CreateOptions")),
    ("PATCH", "/pods/p/status", {"status": {"phase": "Running"}}, MERGE,
     ("UPDATE", "pods", "status", "Pod", "p", "UpdateOptions")),
    ("POST", "/pods/p/eviction", {"metadata": {"name": "p"}}, None,
     ("CREATE", "pods", "eviction", "Eviction", "p", "CreateOptions")),
    ("GET", "/pods/p/exec?command=ls", None, None, ("CONNECT", "pods", "exec", "PodExecOptions", "p", None)),
    ("POST", "/pods/p/attach", None, None, ("CONNECT", "pods", "attach", "PodAttachOptions", "p", None)),
    ("POST", "/pods/p/portforward", None, None,
     ("CONNECT", "pods", "portforward", "PodPortForwardOptions", "p", None)),
    ("GET", "/pods/p/proxy/", None, None, ("CONNECT", "pods", "proxy", "PodProxyOptions", "p", None)),
    ("POST", "/serviceaccounts", {"metadata": {"name": "a"}}, None,
     ("CREATE", "serviceaccounts", "", "ServiceAccount", "a", "CreateOptions")),
    ("POST", "/serviceaccounts/a/token", {"spec": {}}, None,
     ("CREATE", "serviceaccounts", "token", "TokenRequest", "a", "CreateOptions")),
    ("DELETE", "/configmaps/m?gracePeriodSeconds=0", None, None,
     ("DELETE", "configmaps", "", "ConfigMap", "m", "DeleteOptions")),
    ("DELETE", "/serviceaccounts", None, None,
     ("DELETE", "serviceaccounts", "", "ServiceAccount", "a", "DeleteOptions")),
    ("POST", "/apis/authorization.orch.io/v1/selfsubjectaccessreviews", ACCESS, None,
     ("CREATE", "selfsubjectaccessreviews", "", "SelfSubjectAccessReview", "", "CreateOptions")),
    ("POST", "/api/v1/namespaces", {"metadata": {"name": "n"}}, None,
     ("CREATE", "namespaces", "", "Namespace", "n", "CreateOptions")),
    ("PUT", "/api/v1/namespaces/n/finalize", {"metadata": {"name": "n"}, "spec": {"finalizers": ["orch"]}}, None,
     ("UPDATE", "namespaces", "finalize", "Namespace", "n", "UpdateOptions")),
    ("DELETE", "/api/v1/namespaces/n", None, None, ("DELETE", "namespaces", "", "Namespace", "n", "DeleteOptions")),
)  # fmt: skip


class PathTests(WebhookCase):
    settings: dict[str, Any] = {"controllers": ("-*",), "disable_admission_plugins": ("ServiceAccount",)}

    async def test_all(self) -> None:
        """Mutating and validating webhooks see each write once, with its operation, kind, name and options."""
        mutating = await self.webhook("*/*", mutating=True, name="a.b.c")
        validating = await self.webhook("*/*", name="d.b.c")
        for method, path, body, headers, expected in ROWS:
            url = path if path.startswith("/api") else CORE + path
            answer = await self.server.request(method, url, body, headers)
            for hook in (mutating, validating):
                reviews = [each for each in hook.reviews if self.is_asked(each, expected)]
                self.assertEqual(len(reviews), 1, (method, path, hook.name, hook.reviews, answer))
                self.check(reviews[0], expected[0], url)
                hook.reviews.clear()

    def is_asked(self, review: dict[str, Any], expected: tuple[str, str, str, str, str, str | None]) -> bool:
        """Report whether a review is of the request: the server may write in between."""
        options = review["options"]
        found = (
            review["operation"],
            review["resource"]["resource"],
            review.get("subResource", ""),
            review["kind"]["kind"],
            review.get("name", ""),
            None if options is None else options["kind"],
        )
        return found == expected

    def check(self, review: dict[str, Any], operation: str, url: str) -> None:
        has_object, has_old = review["object"] is not None, review["oldObject"] is not None
        self.assertEqual((has_object, has_old), (operation != "DELETE", operation in ("UPDATE", "DELETE")))
        if has_object:
            self.assertEqual(review["object"]["kind"], review["kind"]["kind"])
            meta = review["object"].get("metadata", {})
            if "/namespaces/default/" in url and operation == "CREATE":
                self.assertEqual(meta["namespace"], "default")
        self.assertEqual(review["requestKind"], review["kind"])
        self.assertFalse(review["dryRun"])

    async def test_refused(self) -> None:
        """A connection and an item of a collection can be refused like anything else."""
        await self.created(f"{CORE}/pods", POD)
        await self.created(f"{CORE}/configmaps", MAP)
        hook = await self.webhook("*/*", operations=("CONNECT", "DELETE"))
        hook.deny("no", code=403, reason="Forbidden")
        for method, path in (("GET", "/pods/p/exec?command=ls"), ("DELETE", "/configmaps"), ("DELETE", "/pods/p")):
            answer = await self.server.request(method, CORE + path)
            text = f'admission webhook "{hook.name}" denied the request: no'
            self.assertStatus(answer, 403, "Forbidden", text)
        self.assertEqual((await self.server.request("GET", f"{CORE}/configmaps/m")).code, 200)

    async def test_user(self) -> None:
        """Reviews show the impersonated user (reference HOOK-11)."""
        hook = await self.webhook("configmaps")
        headers = {
            "impersonate-user": "ann",
            "impersonate-group": "system:masters",
            "impersonate-extra-team": "blue",
        }
        await self.server.request("POST", f"{CORE}/configmaps", MAP, headers)
        self.assertEqual(
            hook.reviews[0]["userInfo"],
            {"username": "ann", "groups": ["system:masters", "system:authenticated"], "extra": {"team": ["blue"]}},
        )

    async def test_older_reviews(self) -> None:
        """A webhook that knows v1beta1 alone is asked in that, and its answer read as such (reference HOOK-22)."""
        hook = await self.webhook("configmaps", mutating=True, admissionReviewVersions=["v1beta1"])
        hook.answers = lambda _request: {"uid": "another", "allowed": True, "patch": "W10="}
        answer = await self.server.request("POST", f"{CORE}/configmaps", MAP)
        self.assertEqual(answer.code, 201, answer.body)
        self.assertEqual(hook.server.asked[0].json["apiVersion"], "admission.orch.io/v1beta1")
