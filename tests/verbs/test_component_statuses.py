"""ComponentStatus: the health of the store as an object (reference KIND-26)."""

from __future__ import annotations

import os

from tests.verbs.answered import Case

STATUSES = "/api/v1/componentstatuses"
TABLE = {"accept": "application/json;as=Table;v=v1;g=meta.orch.io"}
PARTIAL = {"accept": "application/json;as=PartialObjectMetadata;v=v1;g=meta.orch.io"}


class ComponentStatusTests(Case):
    async def test_healthy(self) -> None:
        """The store is a component by the name that clients know it by, in the list and by itself."""
        listed = (await self.send("GET", STATUSES, 200)).json
        single = (await self.send("GET", f"{STATUSES}/etcd-0", 200)).json
        self.assertEqual((listed["kind"], len(listed["items"])), ("ComponentStatusList", 1))
        self.assertEqual(listed["items"][0]["conditions"], single["conditions"])
        self.assertEqual(single["metadata"], {"name": "etcd-0", "creationTimestamp": None})
        (condition,) = single["conditions"]
        self.assertEqual((condition["type"], condition["status"]), ("Healthy", "True"))

    async def test_unhealthy(self) -> None:
        """When the store is not well, that is the answer, with the reason; it is not a failure of the request."""
        os.unlink(self.folder / "store.sqlite")
        condition = {"status": "True"}
        while condition["status"] == "True":  # until it has noticed
            (condition,) = (await self.send("GET", f"{STATUSES}/etcd-0", 200)).json["conditions"]
        self.assertEqual((condition["type"], condition["status"]), ("Healthy", "False"))
        self.assertIn("has been removed or moved: writes are refused", condition["error"])
        self.assertEqual(condition["message"], condition["error"])

    async def test_others(self) -> None:
        """There are no other components."""
        await self.send("GET", f"{STATUSES}/scheduler", 404)

    async def test_forms(self) -> None:
        """It can be had as a Table and as metadata alone."""
        table = (await self.send("GET", STATUSES, 200, headers=TABLE)).json
        self.assertEqual([column["name"] for column in table["columnDefinitions"]],
                         ["Name", "Status", "Message", "Error"])  # fmt: skip
        self.assertEqual(table["rows"][0]["cells"][:2], ["etcd-0", "Healthy"])
        one = (await self.send("GET", f"{STATUSES}/etcd-0", 200, headers=PARTIAL)).json
        self.assertEqual((one["kind"], one["metadata"]["name"]), ("PartialObjectMetadata", "etcd-0"))
        self.assertNotIn("conditions", one)

    async def test_warning(self) -> None:
        """Reads return a deprecation warning (reference KIND-26)."""
        for path in (STATUSES, f"{STATUSES}/etcd-0"):
            answer = await self.send("GET", path, 200)
            self.assertEqual(answer.headers["warning"], '299 - "v1 ComponentStatus is deprecated in v1.19+"')

    async def test_read_only(self) -> None:
        """Every write of it is refused."""
        for method in ("POST", "DELETE"):
            await self.send(method, STATUSES, 405, {})
