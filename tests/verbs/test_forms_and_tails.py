"""Tables of what is not stored or not there any more, dry runs of deletes, and paths below sub-resources."""

from __future__ import annotations

from typing import Any

import orjson
from twisted.internet import reactor
from twisted.trial.unittest import TestCase

from orchtw.request import Peer, Request
from orchtw.testing.in_process import TOKEN
from tests.in_process import InProcessServer
from tests.verbs.test_model import Recorder

MAPS = "/api/v1/namespaces/default/configmaps"
COMPONENTS = "/api/v1/componentstatuses"
TABLE = {"accept": "application/json;as=Table;g=meta.orch.io;v=v1"}
PARTIAL_LIST = {"accept": "application/json;as=PartialObjectMetadataList;g=meta.orch.io;v=v1"}


class Case(TestCase):
    async def setUp(self) -> None:  # type: ignore[override]  # trial awaits it
        settings: dict[str, Any] = {"controllers": (), "disable_admission_plugins": ("ServiceAccount",)}
        self.server = InProcessServer(reactor, self.mktemp(), etcd_compaction_interval_s=0.0, **settings)
        await self.server.start()
        self.addCleanup(self.server.stop)


class ComponentStatusTests(Case):
    async def test_table(self) -> None:
        """ComponentStatus has its columns, in lists and alone (reference TABLE-8)."""
        for path in (COMPONENTS, f"{COMPONENTS}/etcd-0"):
            table = (await self.server.request("GET", path, None, TABLE)).json
            names = [column["name"] for column in table["columnDefinitions"]]
            self.assertEqual((table["kind"], names), ("Table", ["Name", "Status", "Message", "Error"]))
            self.assertEqual(table["rows"][0]["cells"][:2], ["etcd-0", "Healthy"])

    async def test_partial_metadata(self) -> None:
        """Its metadata may be asked for, in the right number (reference TABLE-9, ERR-30)."""
        answer = await self.server.request("GET", COMPONENTS, None, PARTIAL_LIST)
        self.assertEqual(answer.json["items"][0]["metadata"]["name"], "etcd-0")
        self.assertEqual((await self.server.request("GET", f"{COMPONENTS}/etcd-0", None, PARTIAL_LIST)).code, 406)


class TableTests(Case):
    async def test_deleted(self) -> None:
        """A DELETED event's row carries the deletion's version, as its Table does (reference WATCH-16)."""
        made = (await self.server.request("POST", MAPS, {"metadata": {"name": "a"}})).json
        version = made["metadata"]["resourceVersion"]
        await self.server.request("DELETE", f"{MAPS}/a")
        request = Request(
            method="GET",
            path=MAPS,
            query=f"watch=1&resourceVersion={version}",
            headers={"authorization": f"Bearer {TOKEN}", **TABLE},
            peer=Peer(address="test", port=0),
        )
        response = await self.server.instance.front.app(request)
        recorder = Recorder()
        assert response.stream is not None
        response.stream.start(recorder)
        self.addCleanup(response.stream.connection_lost)
        [event] = recorder.events()
        table = event["object"]
        self.assertEqual(event["type"], "DELETED")
        self.assertEqual(table["metadata"], {"resourceVersion": str(int(version) + 1)})
        self.assertEqual(
            table["rows"][0]["object"]["metadata"]["resourceVersion"], table["metadata"]["resourceVersion"]
        )

    async def test_dry_run_create(self) -> None:
        """The Table of an object that was not stored has no resourceVersion (reference TABLE-3)."""
        answer = await self.server.request("POST", f"{MAPS}?dryRun=All", {"metadata": {"name": "a"}}, TABLE)
        self.assertEqual((answer.code, answer.json["metadata"]), (201, {}))


class DeleteTests(Case):
    async def test_dry_run_in_the_query_beside_options(self) -> None:
        """`?dryRun=All` deletes nothing, whatever else the body says (reference DEL-2)."""
        await self.server.request("POST", MAPS, {"metadata": {"name": "a"}})
        for policy in ("Foreground", "Background", "Orphan"):
            answer = await self.server.request("DELETE", f"{MAPS}/a?dryRun=All", {"propagationPolicy": policy})
            self.assertEqual(answer.code, 200, orjson.dumps(policy))
        present = (await self.server.request("GET", f"{MAPS}/a")).json
        self.assertNotIn("deletionTimestamp", present["metadata"])


class PathTests(Case):
    async def test_nothing_below_a_sub_resource(self) -> None:
        """A path that goes on after a sub-resource is unknown (reference REQ-8, ERR-18)."""
        pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        pods = "/api/v1/namespaces/default/pods"
        await self.server.request("POST", pods, pod)
        self.assertEqual((await self.server.request("GET", f"{pods}/p/status")).code, 200)
        answer = await self.server.request("GET", f"{pods}/p/status/more")
        self.assertEqual((answer.code, answer.json["details"]), (404, {}))
