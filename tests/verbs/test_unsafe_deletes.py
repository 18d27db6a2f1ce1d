"""Deletes that ignore read errors (reference DEL-21)."""
# covers: orchtw.verbs.delete

from __future__ import annotations

from pathlib import Path

from twisted.internet import reactor

from orchtw.rules.delete_options import IGNORE_READ_ERRORS
from tests.emulated import since
from tests.in_process import InProcessServer
from tests.verbs.answered import Case

MAPS = "/api/v1/namespaces/default/configmaps"
BODY = {"kind": "DeleteOptions", "apiVersion": "v1", IGNORE_READ_ERRORS: True}
ROLES = "/apis/rbac.authorization.orch.io/v1"
ANN = {"impersonate-user": "ann"}


@since((1, 32))
class UnsafeDeleteTests(Case):
    async def setUp(self) -> None:  # type: ignore[override]
        self.folder = Path(self.mktemp())
        gate = ("AllowUnsafeMalformedObjectDeletion", "true")
        self.server = InProcessServer(reactor, self.folder, feature_gates=(gate,))
        await self.server.start()
        self.addCleanup(self.server.stop)
        await self.send("POST", MAPS, 201, {"metadata": {"name": "x"}})

    async def test_readable(self) -> None:
        """An object that can be read is not deleted, and a missing one is a 404."""
        why = "is exclusively used to delete corrupt object(s), try again by removing this option"
        text = f'configmaps "x" is invalid: {IGNORE_READ_ERRORS}: Invalid value: true: {why}'
        self.assertEqual(await self.message("DELETE", f"{MAPS}/x", 422, BODY), text)
        await self.send("DELETE", f"{MAPS}/x?{IGNORE_READ_ERRORS}=true", 422)
        await self.send("GET", f"{MAPS}/x", 200)
        await self.send("DELETE", f"{MAPS}/y", 404, BODY)

    async def test_collection(self) -> None:
        """It is not for collections, whose objects stay."""
        why = "is not allowed with DELETECOLLECTION, try again after removing the option"
        text = f'DeleteOptions.meta.orch.io "" is invalid: {IGNORE_READ_ERRORS}: Invalid value: true: {why}'
        self.assertEqual(await self.message("DELETE", MAPS, 422, BODY), text)
        await self.send("GET", f"{MAPS}/x", 200)

    async def test_verb(self) -> None:
        """A user with verb delete needs verb unsafe-delete-ignore-read-errors as well."""
        await self.allow("delete")
        refused = await self.send("DELETE", f"{MAPS}/x", 403, BODY, ANN)
        why = 'configmaps "x" is forbidden: not permitted to do "unsafe-delete-ignore-read-errors", reason: '
        self.assertTrue(refused.json["message"].startswith(why), refused.json)
        await self.allow("unsafe-delete-ignore-read-errors")
        await self.send("DELETE", f"{MAPS}/x", 422, BODY, ANN)

    async def allow(self, verb: str) -> None:
        """Give ann a right to config maps, which is known from the next request on."""
        rules = [{"verbs": [verb], "apiGroups": [""], "resources": ["configmaps"]}]
        await self.send("POST", f"{ROLES}/clusterroles", 201, {"metadata": {"name": verb}, "rules": rules})
        role = {"apiGroup": "rbac.authorization.orch.io", "kind": "ClusterRole", "name": verb}
        subjects = [{"apiGroup": "rbac.authorization.orch.io", "kind": "User", "name": "ann"}]
        body = {"metadata": {"name": verb}, "roleRef": role, "subjects": subjects}
        await self.send("POST", f"{ROLES}/clusterrolebindings", 201, body)


@since((1, 32))
class GateTests(Case):
    async def test_off(self) -> None:
        """With the gate off, as by default, the option is dropped without a warning."""
        await self.send("POST", MAPS, 201, {"metadata": {"name": "x"}})
        answer = await self.send("DELETE", f"{MAPS}/x", 200, BODY)
        self.assertNotIn("warning", answer.headers)
        await self.send("GET", f"{MAPS}/x", 404)
