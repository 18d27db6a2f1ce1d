"""Definitions, rights, tokens and webhooks that are in force after a restore."""

from __future__ import annotations

from typing import Any

from orchtw.testing.admission_webhook import AdmissionWebhook
from tests.snapshots.case import DEFINITIONS, GIZMO, GIZMOS, MAPS, StateCase, config_map, gizmo, reactor


class InForceTests(StateCase):
    """Objects that decide on requests: those of the restored state, when the restore is answered."""

    async def test_new_definition_is_gone(self) -> None:
        """The kind of a later definition is served no more, discovery does not show it, and it can be made anew."""
        for _ in range(2):
            await self.created(DEFINITIONS, gizmo())
            await self.until(self.serves)
            await self.created(GIZMOS, GIZMO)
            await self.restore()
            await self.ask("GET", GIZMOS, code=404)
            await self.ask("GET", "/apis/example.com/v1", code=404)
            self.assertNotIn("example.com", str((await self.ask("GET", "/apis")).json))
            self.assertEqual((await self.ask("GET", DEFINITIONS)).json["items"], [])

    async def test_deleted_definition_is_served(self) -> None:
        """A deleted definition and its objects are there again when the restore is answered."""
        await self.created(DEFINITIONS, gizmo())
        await self.until(self.serves)
        await self.created(GIZMOS, GIZMO)
        name = await self.snapshot()
        for _ in range(2):
            await self.ask("DELETE", f"{DEFINITIONS}/gizmos.example.com")
            await self.until(self.serves_not)
            await self.restore(name)
            self.assertEqual(await self.names(GIZMOS), ["g"])
            self.assertIn("example.com", str((await self.ask("GET", "/apis")).json))

    async def test_definition_that_was_ending(self) -> None:
        """A definition that is being deleted when it is restored takes new objects again, and can be deleted."""
        await self.created(DEFINITIONS, gizmo())
        await self.until(self.serves)
        name = await self.snapshot()
        held = {**GIZMO, "metadata": {"name": "held", "finalizers": ["example.com/f"]}}
        await self.created(GIZMOS, held)
        await self.ask("DELETE", f"{DEFINITIONS}/gizmos.example.com")

        async def closed() -> bool:
            return (await self.server.request("POST", GIZMOS, GIZMO)).code == 405

        await self.until(closed)
        await self.restore(name)
        self.assertEqual(await self.names(GIZMOS), [])
        await self.created(GIZMOS, GIZMO)
        await self.ask("DELETE", f"{DEFINITIONS}/gizmos.example.com")
        await self.until(self.serves_not)

    async def serves(self) -> bool:
        """Report whether the kind is served."""
        return (await self.server.request("GET", GIZMOS)).code == 200

    async def serves_not(self) -> bool:
        """Report whether the kind and its definition are gone."""
        return not await self.serves() and await self.got(f"{DEFINITIONS}/gizmos.example.com") is None

    async def test_rights(self) -> None:
        """Rights that were granted since are gone, those that were taken away are back (reference AUTHZ-17)."""
        rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}
        role = {"metadata": {"name": "r"}, "rules": [rule]}
        rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"

        def binding(user: str) -> dict[str, Any]:
            subject = {"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"}
            reference = {"kind": "Role", "name": "r", "apiGroup": "rbac.authorization.k8s.io"}
            return {"metadata": {"name": user}, "subjects": [subject], "roleRef": reference}

        await self.created(f"{rbac}/roles", role)
        await self.created(f"{rbac}/rolebindings", binding("old"))
        name = await self.snapshot()
        for _ in range(2):
            await self.created(f"{rbac}/rolebindings", binding("new"))
            await self.ask("DELETE", f"{rbac}/rolebindings/old")
            await self.ask("GET", MAPS, code=200, **{"impersonate-user": "new"})
            await self.ask("GET", MAPS, code=403, **{"impersonate-user": "old"})
            await self.restore(name)
            await self.ask("GET", MAPS, code=403, **{"impersonate-user": "new"})
            await self.ask("GET", MAPS, code=200, **{"impersonate-user": "old"})

    async def test_tokens(self) -> None:
        """Tokens in Secrets, and of accounts, that were made since are refused (reference AUTHN-23)."""
        accounts = "/api/v1/namespaces/default/serviceaccounts"
        await self.created(accounts, {"metadata": {"name": "robot"}})
        answer = await self.server.request("POST", f"{accounts}/robot/token", {"spec": {}})
        if answer.code != 201:
            self.skipTest(f"no key signs tokens here: {answer.code}")
        token = answer.json["status"]["token"]
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
        path = "/apis/authentication.k8s.io/v1/tokenreviews"
        self.assertTrue((await self.ask("POST", path, review)).json["status"]["authenticated"])
        await self.restore()
        self.assertFalse((await self.ask("POST", path, review)).json["status"].get("authenticated", False))

    async def test_webhooks(self) -> None:
        """Webhooks that were configured since are not called, deleted ones are (reference HOOK-5)."""
        webhook = AdmissionWebhook(reactor, "configmaps", mutating=True, vocabulary="kubernetes")
        self.addCleanup(webhook.stop)
        webhook.patch({"op": "add", "path": "/data", "value": {"seen": "yes"}})
        bare = await self.snapshot()
        await self.created(webhook.path, webhook.configuration)
        name = await self.snapshot()
        self.assertEqual((await self.created(MAPS, config_map("a")))["data"], {"seen": "yes"})
        await self.restore(bare)
        self.assertEqual((await self.created(MAPS, config_map("a", k="v")))["data"], {"k": "v"})
        await self.restore(name)
        self.assertEqual((await self.created(MAPS, config_map("a")))["data"], {"seen": "yes"})
