"""Token reviews (reference AUTHN-44, AUTHN-50)."""

from __future__ import annotations

from typing import Any

from orchtw.testing.in_process import TOKEN
from tests.verbs.answered import Case

TOKENS = "/apis/authentication.orch.io/v1/tokenreviews"


class TokenTests(Case):
    async def asked(self, spec: Any, code: int = 201, **meta: str) -> Any:
        """A review names the token's user."""
        return (await self.send("POST", TOKENS, code, {"metadata": meta, "spec": spec})).json

    async def test_known(self) -> None:
        """A good token is told with its user, as a request with it would have it."""
        status = (await self.asked({"token": TOKEN}))["status"]
        self.assertTrue(status["authenticated"])
        self.assertEqual((status["user"]["username"], status["user"]["uid"]), ("admin", "admin"))
        self.assertEqual(set(status["user"]["groups"]), {"system:masters", "system:authenticated"})

    async def test_unknown(self) -> None:
        """An unknown token is an answer, not a refusal; so is one that no header could carry."""
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
        """A token of blanks authenticates no one, not even the anonymous user (reference AUTHN-44)."""
        self.assertEqual((await self.asked({"token": " "}))["status"]["error"], "invalid bearer token")

    async def test_no_token(self) -> None:
        """Without a token there is nothing to ask."""
        for spec in ({}, {"token": ""}):
            self.assertEqual(
                (await self.asked(spec, 400))["message"], "token is required for TokenReview in authentication"
            )
