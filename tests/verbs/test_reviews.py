"""Kinds that are asked, not stored: access and token reviews (reference REQ-2, AUTHZ-26, AUTHN-44)."""

from __future__ import annotations

from typing import Any

from orchtw.testing.in_process import TOKEN
from tests.verbs.answered import Case

AUTHORIZATION = "/apis/authorization.orch.io/v1"
TOKENS = "/apis/authentication.orch.io/v1/tokenreviews"
PODS = {"verb": "list", "resource": "pods", "namespace": "default"}
PATH = {"verb": "get", "path": "/metrics"}


class AccessTests(Case):
    async def asked(self, plural: str, spec: Any, code: int = 201, namespace: str = "") -> Any:
        """The answer to a question."""
        place = f"/namespaces/{namespace}" if namespace else ""
        return (await self.send("POST", f"{AUTHORIZATION}{place}/{plural}", code, {"spec": spec})).json

    async def test_self(self) -> None:
        """Whoever asks about itself is answered for its own rights, on resources and paths alike."""
        for spec in ({"resourceAttributes": PODS}, {"nonResourceAttributes": PATH}):
            review = await self.asked("selfsubjectaccessreviews", spec)
            self.assertEqual((review["kind"], review["status"]["allowed"]), ("SelfSubjectAccessReview", True))
            self.assertEqual(review["spec"], spec)

    async def test_somebody(self) -> None:
        """What another user or group may do is answered without being it."""
        for who, allowed in (
            ({"user": "ann"}, False),
            ({"user": "ann", "groups": ["system:masters"]}, True),
            ({"groups": ["system:masters"]}, True),
            ({"user": "admin"}, False),
        ):
            review = await self.asked("subjectaccessreviews", {**who, "resourceAttributes": PODS})
            self.assertIs(review["status"]["allowed"], allowed, who)

    async def test_incomplete_questions(self) -> None:
        """A question that names no action, two, or nobody is a 422 that names the field."""
        both = {"resourceAttributes": PODS, "nonResourceAttributes": PATH}
        for plural, spec, field in (
            ("selfsubjectaccessreviews", {}, "spec.resourceAttributes"),
            ("selfsubjectaccessreviews", both, "spec.nonResourceAttributes"),
            ("subjectaccessreviews", {"resourceAttributes": PODS}, "spec.user"),
            ("subjectaccessreviews", {"user": "ann"}, "spec.resourceAttributes"),
        ):
            status = await self.asked(plural, spec, 422)
            self.assertEqual([cause["field"] for cause in status["details"]["causes"]], [field])

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

    async def test_rules(self) -> None:
        """The rules of a user are told for a namespace, which has to be named."""
        review = await self.asked("selfsubjectrulesreviews", {"namespace": "default"})
        self.assertIn({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}, review["status"]["resourceRules"])
        self.assertIn({"verbs": ["*"], "nonResourceURLs": ["*"]}, review["status"]["nonResourceRules"])
        self.assertEqual((await self.asked("selfsubjectrulesreviews", {}, 400))["message"], "no namespace on request")

    async def test_nothing_is_stored(self) -> None:
        """Reviews cannot be read, listed or deleted."""
        for method in ("GET", "DELETE"):
            await self.send(method, f"{AUTHORIZATION}/subjectaccessreviews", 405)
        await self.send("GET", f"{AUTHORIZATION}/subjectaccessreviews/a", 405)


class TokenTests(Case):
    async def asked(self, spec: Any, code: int = 201, **meta: str) -> Any:
        """Whose token it is."""
        return (await self.send("POST", TOKENS, code, {"metadata": meta, "spec": spec})).json

    async def test_known(self) -> None:
        """A good token is told with its user, as a request with it would have it."""
        status = (await self.asked({"token": TOKEN}))["status"]
        self.assertTrue(status["authenticated"])
        self.assertEqual((status["user"]["username"], status["user"]["uid"]), ("admin", "admin"))
        self.assertEqual(set(status["user"]["groups"]), {"system:masters", "system:authenticated"})

    async def test_unknown(self) -> None:
        """A token that is nobody's is an answer, not a refusal; so is one that no header could carry."""
        for token in ("wrong", "ä\u20ac", "\x00", f"{TOKEN}x"):
            status = (await self.asked({"token": token}))["status"]
            self.assertEqual((status.get("authenticated", False), status["user"]), (False, {}), token)
            self.assertEqual(status["error"], "invalid bearer token")

    async def test_audiences(self) -> None:
        """The status names the audiences that were asked for and fit: the API's by default (reference AUTHN-50)."""
        own = "https://orch.default.svc.cluster.local"
        for asked, told in (([], [own]), (["x", own], [own]), (["x"], None)):
            status = (await self.asked({"token": TOKEN, "audiences": asked}))["status"]
            self.assertEqual((status.get("authenticated", False), status.get("audiences")), (bool(told), told), asked)
        many = {"token": TOKEN, "audiences": ["x"] * 1001}
        text = "spec.audiences: Too many: 1001: must have at most 1000 items"
        self.assertEqual((await self.asked(many, 400))["message"], text)

    async def test_blank(self) -> None:
        """A token that is only blanks is nobody's, not the anonymous user's (reference AUTHN-44)."""
        self.assertEqual((await self.asked({"token": " "}))["status"]["error"], "invalid bearer token")

    async def test_no_token(self) -> None:
        """Without a token there is nothing to ask."""
        for spec in ({}, {"token": ""}):
            self.assertEqual(
                (await self.asked(spec, 400))["message"], "token is required for TokenReview in authentication"
            )
