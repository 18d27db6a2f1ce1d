"""Reviews of the requester itself (reference AUTHN-60)."""

from __future__ import annotations

from tests.emulated import since
from tests.verbs.answered import Case


@since((1, 26))
class SelfSubjectTests(Case):
    async def test_requester(self) -> None:
        """The answer is the user of the request, or the one that it impersonates (reference AUTHN-60)."""
        url = "/apis/authentication.orch.io/v1/selfsubjectreviews"
        found = (await self.send("POST", url, 201, {})).json
        self.assertEqual((found["kind"], found["apiVersion"]), ("SelfSubjectReview", "authentication.orch.io/v1"))
        groups = ["system:masters", "system:authenticated"]
        self.assertEqual(found["status"]["userInfo"], {"username": "admin", "uid": "admin", "groups": groups})
        self.assertNotIn("spec", found)
        other = {"impersonate-user": "ann", "impersonate-group": "cooks", "impersonate-extra-colour": "red"}
        found = (await self.send("POST", url, 201, {"kind": "SelfSubjectReview"}, other)).json["status"]["userInfo"]
        self.assertEqual((found["username"], found["extra"]), ("ann", {"colour": ["red"]}))
        self.assertIn("cooks", found["groups"])
        await self.send("GET", url, 405)
        await self.send("POST", url.replace("v1/", "v1beta1/"), 404, {})
