"""Access reviews: of a subject, of oneself, and in a namespace (reference REQ-2, AUTHZ-26)."""
# covers: orchtw.verbs.subject_access_review_validation

from __future__ import annotations

from typing import Any

from orchtw.wire.objects import Object
from tests.emulated import since
from tests.verbs.answered import Case

AUTHORIZATION = "/apis/authorization.orch.io/v1"
PODS = {"verb": "list", "resource": "pods", "namespace": "default"}
PATH = {"verb": "get", "path": "/metrics"}


class AccessTests(Case):
    async def asked(self, plural: str, spec: Any, code: int = 201, namespace: str = "") -> Any:
        """The answer to a question."""
        place = f"/namespaces/{namespace}" if namespace else ""
        return (await self.send("POST", f"{AUTHORIZATION}{place}/{plural}", code, {"spec": spec})).json

    async def test_self(self) -> None:
        """A self review is about the user's own rights, on resources and paths alike."""
        for spec in ({"resourceAttributes": PODS}, {"nonResourceAttributes": PATH}):
            review = await self.asked("selfsubjectaccessreviews", spec)
            self.assertEqual((review["kind"], review["status"]["allowed"]), ("SelfSubjectAccessReview", True))
            self.assertEqual(review["spec"], spec)

    async def test_somebody(self) -> None:
        """Rights of another user or group can be asked for."""
        for who, allowed in (
            ({"user": "ann"}, False),
            ({"user": "ann", "groups": ["system:masters"]}, True),
            ({"groups": ["system:masters"]}, True),
            ({"user": "admin"}, False),
        ):
            review = await self.asked("subjectaccessreviews", {**who, "resourceAttributes": PODS})
            self.assertIs(review["status"]["allowed"], allowed, who)

    async def test_texts(self) -> None:
        """A question that cannot be answered is a 422 without a kind, with all its texts (reference AUTHZ-28)."""
        both = {"resourceAttributes": PODS, "nonResourceAttributes": PATH}
        none = (
            'spec.resourceAttributes: Invalid value: "null": exactly one of nonResourceAttributes or '
            "resourceAttributes must be specified"
        )
        nobody = 'spec.user: Invalid value: "": at least one of user or group must be specified'
        shown = 'authorization.NonResourceAttributes{Path:"/metrics", Verb:"get"}'
        path = f"spec.nonResourceAttributes: Invalid value: {shown}"
        combined = f"{path}: cannot be specified in combination with resourceAttributes"
        other = 'spec.resourceAttributes.namespace: Invalid value: "other": must match metadata.namespace'
        local = {"user": "ann", "resourceAttributes": {**PODS, "namespace": "other"}}
        for plural, spec, texts in (
            ("selfsubjectaccessreviews", {}, [none]),
            ("selfsubjectaccessreviews", both, [combined]),
            ("subjectaccessreviews", {"resourceAttributes": PODS}, [nobody]),
            ("subjectaccessreviews", {"user": "ann"}, [none]),
            ("subjectaccessreviews", {}, [none, nobody]),
            ("subjectaccessreviews", both, [combined, nobody]),
            ("localsubjectaccessreviews", local, [other]),
            ("localsubjectaccessreviews", {"user": "ann", "nonResourceAttributes": PATH},
             [f"{path}: disallowed on this kind of request"]),
        ):  # fmt: skip
            namespace = "default" if plural.startswith("local") else ""
            status = await self.asked(plural, spec, 422, namespace)
            told = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
            self.assertEqual(status["message"], f'.authorization.orch.io "" is invalid: {told}')
            self.assertEqual(status["reason"], "Invalid")
            causes = [f"{cause['field']}: {cause['message']}" for cause in status["details"]["causes"]]
            self.assertEqual((causes, status["details"]["group"]), (texts, "authorization.orch.io"))

    async def test_metadata(self) -> None:
        """A question has no metadata, a local one a namespace only; what servers set is left out (AUTHZ-28)."""
        spec = {"user": "ann", "resourceAttributes": PODS}
        for place, text in (("", "must be empty"), ("/namespaces/default", "must be empty except for namespace")):
            url = f"{AUTHORIZATION}{place}/{'local' if place else ''}subjectaccessreviews"
            for name, value in (("name", "x"), ("labels", {"a": "b"}), ("finalizers", ["a/b"])):
                body = {"metadata": {name: value}, "spec": spec}
                status = (await self.send("POST", url, 422, body)).json
                self.assertTrue(status["message"].endswith(f": {text}"), status)
                self.assertEqual(status["details"]["causes"][0]["field"], "metadata")
            body = {"metadata": {"creationTimestamp": None, "managedFields": []}, "spec": spec}
            review = (await self.send("POST", url, 201, body)).json
            namespace = {"namespace": "default"} if place else {}
            self.assertEqual(review["metadata"], {"creationTimestamp": None, **namespace})

    @since((1, 31))
    async def test_selectors(self) -> None:
        """RBAC ignores selectors, of which one that cannot be parsed is an evaluation error (reference AUTHZ-43)."""
        requirement = {"key": "spec.nodeName", "operator": "In", "values": ["n"]}
        selectors = {"fieldSelector": {"requirements": [requirement]}, "labelSelector": {"rawSelector": "a in"}}
        spec = {"resourceAttributes": {**PODS, **selectors}}
        review = await self.asked("selfsubjectaccessreviews", spec)
        self.assertEqual(review["spec"], spec)
        self.assertTrue(review["status"]["allowed"])
        error = "spec.resourceAttributes.labelSelector ignored due to parse error"
        self.assertEqual(review["status"]["evaluationError"], error)

    @since((1, 31))
    async def test_malformed_selectors(self) -> None:
        """A selector is raw or has valid requirements; unknown operators are valid (reference AUTHZ-43)."""
        good = {"key": "a", "operator": "Like", "values": ["b"]}
        where = "spec.resourceAttributes.{}Selector"
        missing = f"when {where} is specified, requirements or rawSelector is required"
        needed = f"{where}.requirements: Required value: {missing}"
        both = f'{where}.rawSelector: Invalid value: "a=b": may not specified at the same time as requirements'
        first = f"{where}.requirements[0]"
        values = f"{first}.values: Required value: must be specified when `operator` is 'In' or 'NotIn'"
        few = f"{first}.values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        for name in ("field", "label"):
            for selector, text in (
                ({}, needed),
                ({"rawSelector": "a=b", "requirements": [good]}, both),
                ({"requirements": [{"key": "a", "operator": "In"}]}, values),
                ({"requirements": [{**good, "operator": "Exists"}]}, few),
            ):
                spec: Object = {"resourceAttributes": {**PODS, f"{name}Selector": selector}}
                status = await self.asked("selfsubjectaccessreviews", spec, 422)
                self.assertTrue(status["message"].endswith(f" is invalid: {text.format(name, name)}"), status)
        for selectors, field in (
            ({"fieldSelector": {"requirements": [{**good, "key": ""}]}}, "fieldSelector.requirements[0].key"),
            ({"labelSelector": {"requirements": [{**good, "key": "!"}]}}, "labelSelector.requirements[0].key"),
            ({"labelSelector": {"requirements": [{**good, "values": ["!"]}]}},
             "labelSelector.requirements[0].values[0]"),
        ):  # fmt: skip
            spec = {"user": "ann", "resourceAttributes": {**PODS, **selectors}}
            status = await self.asked("subjectaccessreviews", spec, 422)
            fields = [cause["field"] for cause in status["details"]["causes"]]
            self.assertEqual(fields, [f"spec.resourceAttributes.{field}"])

    async def test_namespaces_of_a_local_review(self) -> None:
        """Namespaces that agree with each other and not with the path are a 400 (reference AUTHZ-28)."""
        spec = {"user": "ann", "resourceAttributes": {**PODS, "namespace": "other"}}
        url = f"{AUTHORIZATION}/namespaces/default/localsubjectaccessreviews"
        status = (await self.send("POST", url, 400, {"metadata": {"namespace": "other"}, "spec": spec})).json
        self.assertEqual(status["message"], "spec.resourceAttributes.namespace must match namespace: default")

    async def test_literally(self) -> None:
        """Groups are taken as given, `*` and nothing are asked about like any other word (reference AUTHZ-27)."""
        every = {"verb": "*", "group": "*", "resource": "*"}
        for spec, allowed in (
            ({"groups": ["system:authenticated"], "nonResourceAttributes": {"verb": "get", "path": "/api"}}, True),
            ({"user": "ann", "nonResourceAttributes": {"verb": "get", "path": "/api"}}, False),
            ({"groups": ["system:masters"], "resourceAttributes": {}}, True),
            ({"groups": ["system:masters"], "resourceAttributes": every}, True),
            ({"user": "ann", "resourceAttributes": every}, False),
        ):
            review = await self.asked("subjectaccessreviews", spec)
            self.assertIs(review["status"]["allowed"], allowed, spec)
            self.assertNotIn("denied", review["status"])
            self.assertEqual(review["spec"], spec)

    async def test_local(self) -> None:
        """A local review is about its own namespace, and about resources."""
        ask = {"user": "ann", "groups": ["system:masters"]}
        review = await self.asked("localsubjectaccessreviews", {**ask, "resourceAttributes": PODS}, 201, "default")
        self.assertTrue(review["status"]["allowed"])
        for attributes, field in (
            ({"resourceAttributes": {**PODS, "namespace": "other"}}, "spec.resourceAttributes.namespace"),
            ({"nonResourceAttributes": PATH}, "spec.nonResourceAttributes"),
        ):
            status = await self.asked("localsubjectaccessreviews", {**ask, **attributes}, 422, "default")
            self.assertEqual(status["details"]["causes"][0]["field"], field)

    async def test_nothing_is_stored(self) -> None:
        """Reviews cannot be read, listed or deleted."""
        for method in ("GET", "DELETE"):
            await self.send(method, f"{AUTHORIZATION}/subjectaccessreviews", 405)
        await self.send("GET", f"{AUTHORIZATION}/subjectaccessreviews/a", 405)
