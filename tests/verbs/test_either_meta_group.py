"""Tables, metadata and options by either vocabulary's name of the meta group (reference VOC-5)."""

from __future__ import annotations

from typing import Any

import yaml
from twisted.internet import reactor
from twisted.trial.unittest import TestCase

from orchtw.schema.codec.envelope import unwrap
from tests.in_process import InProcessServer

MAPS = "/api/v1/namespaces/default/configmaps"
GROUPS = ("meta.k8s.io", "meta.orch.io")
KUBECTL = ",".join(
    ("application/json;as=Table;v=v1;g={0}", "application/json;as=Table;v=v1beta1;g={0}", "application/json")
)


class EitherMetaGroupCase(TestCase):
    """Tests of both vocabularies."""

    vocabulary: str

    async def setUp(self) -> None:  # type: ignore[override]
        self.server = InProcessServer(reactor, self.mktemp(), vocabulary=self.vocabulary)
        await self.server.start()
        self.addCleanup(self.server.stop)
        answer = await self.server.request("POST", MAPS, {"metadata": {"name": "a"}, "data": {"k": "v"}})
        self.assertEqual(answer.code, 201, answer)

    async def get(self, path: str, accept: str) -> Any:
        """The body of an answer in the form asked for."""
        answer = await self.server.request("GET", path, headers={"accept": accept})
        self.assertEqual(answer.code, 200, answer)
        return yaml.safe_load(answer.body) if "yaml" in accept else answer.json

    async def test_tables(self) -> None:
        """kubectl's request for a Table is one of lists and objects alike, with rows under the same name."""
        for group in GROUPS:
            for path in (MAPS, f"{MAPS}/a", f"{MAPS}?limit=500"):
                for accept in (KUBECTL.format(group), f"application/yaml;as=Table;v=v1;g={group}"):
                    table = await self.get(path, accept)
                    self.assertEqual((table["kind"], table["apiVersion"]), ("Table", f"{group}/v1"))
                    rows = [row for row in table["rows"] if row["cells"][0] == "a"]
                    self.assertEqual([row["object"]["apiVersion"] for row in rows], [f"{group}/v1"])
                    self.assertEqual(rows[0]["cells"][1], 1)

    async def test_sub_resources_and_components(self) -> None:
        """So is the Table of what is not stored as it is shown."""
        for group in GROUPS:
            for version in ("v1", "v1beta1"):
                accept = f"application/json;as=Table;v={version};g={group}"
                table = await self.get("/api/v1/componentstatuses", accept)
                self.assertEqual(table["apiVersion"], f"{group}/{version}")
                self.assertEqual(table["rows"][0]["object"]["apiVersion"], f"{group}/{version}")

    async def test_metadata(self) -> None:
        """Partial metadata is answered under the name asked for, in text and in Protobuf."""
        media_type = self.server.naming.counterpart.protobuf_media_type
        for group in GROUPS:
            wanted = f"as=PartialObjectMetadata;v=v1beta1;g={group}"
            one = await self.get(f"{MAPS}/a", f"application/json;{wanted}")
            self.assertEqual((one["kind"], one["apiVersion"]), ("PartialObjectMetadata", f"{group}/v1beta1"))
            several = await self.get(MAPS, f"application/json;as=PartialObjectMetadataList;v=v1;g={group}")
            self.assertEqual(several["apiVersion"], f"{group}/v1")
            self.assertEqual({item["apiVersion"] for item in several["items"]}, {f"{group}/v1"})
            for path, kind in ((f"{MAPS}/a", "PartialObjectMetadata"), (MAPS, "PartialObjectMetadataList")):
                accept = f"{media_type};as={kind};v=v1;g={group}"
                answer = await self.server.request("GET", path, headers={"accept": accept})
                self.assertEqual(answer.headers["content-type"], media_type)
                self.assertEqual(unwrap(answer.body)[:2], (f"{group}/v1", kind))

    async def test_watches(self) -> None:
        """Events, and bookmarks, are Tables or metadata under the name asked for."""
        for group in GROUPS:
            for kind in ("Table", "PartialObjectMetadata"):
                accept = {"accept": f"application/json;as={kind};v=v1;g={group}"}
                url = f"{MAPS}?watch=1&allowWatchBookmarks=true&fieldSelector=metadata.name=a"
                watch = await self.server.watch(url, accept)
                self.addCleanup(watch.close)
                event = await watch.next()
                self.assertEqual(event["type"], "ADDED")
                self.assertEqual((event["object"]["kind"], event["object"]["apiVersion"]), (kind, f"{group}/v1"))
                if kind == "Table":
                    self.assertEqual(event["object"]["rows"][0]["object"]["apiVersion"], f"{group}/v1")

    async def test_delete_options(self) -> None:
        """DeleteOptions of either name are read."""
        for group in GROUPS:
            options = {"kind": "DeleteOptions", "apiVersion": f"{group}/v1", "preconditions": {"uid": "another"}}
            answer = await self.server.request("DELETE", f"{MAPS}/a", options)
            self.assertEqual((answer.code, answer.json["reason"]), (409, "Conflict"), answer)

    async def test_another_group(self) -> None:
        """A third name is passed over."""
        listed = await self.get(MAPS, KUBECTL.format("meta.example.io"))
        self.assertEqual(listed["kind"], "ConfigMapList")


class OrchVocabularyTests(EitherMetaGroupCase):
    vocabulary = "orch"


class KubernetesVocabularyTests(EitherMetaGroupCase):
    vocabulary = "kubernetes"


del EitherMetaGroupCase
