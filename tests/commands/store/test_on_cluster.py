"""`orch-store` where the store is an etcd cluster (reference STORE-34)."""

from __future__ import annotations

import json
import os
from typing import Any

from orchtw.storage.etcd.store import EtcdStore
from orchtw.storage.interface import Op
from tests.commands.store.case import CommandCase
from tests.storage.etcd.cluster import NO_ETCD, new_store, shared_cluster

MAP = "/registry/configmaps/a/json"


class ClusterTests(CommandCase):
    skip = NO_ETCD

    async def setUp(self) -> None:  # type: ignore[override]
        super().setUp()
        self.cluster = await shared_cluster()

    async def empty(self) -> EtcdStore:
        """A store in a part of the cluster that holds nothing; it is not started."""
        return new_store(self.cluster, root="/registry")

    def where(self, store: EtcdStore, *arguments: str | os.PathLike[str]) -> tuple[str | os.PathLike[str], ...]:
        return (f"--etcd-servers={self.cluster.endpoints[0]}", f"--etcd-prefix={store.prefix}", *arguments)

    @staticmethod
    def lines(text: str) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """The first line of an export, and the others by key, without revisions and exact times."""
        head, *items = map(json.loads, text.strip().split("\n"))
        found = {item.pop("key"): item for item in items}
        for item in found.values():
            item.pop("revision")
            if "expires" in item:
                item["expires"] = True
        return head, found

    async def test_from_a_file_and_back(self) -> None:
        """An export of a file fills a cluster, and one of the cluster another file: objects, ends and all."""
        await self.filled()
        store = await self.empty()
        first = await self.run_command("export")
        self.with_input(first.encode())
        self.assertRegex(await self.run_command("import", *self.where(store)), "6 objects")
        second = await self.run_command("export", *self.where(store))
        self.assertEqual(self.lines(second)[1], self.lines(first)[1])
        self.assertTrue(self.lines(second)[1]["/registry/events/a/e"]["expires"])
        self.with_input(second.encode())
        await self.run_command("import", folder=self.folder / "other")
        third = await self.run_command("export", folder=self.folder / "other")
        self.assertEqual(self.lines(third)[1], self.lines(first)[1])

    async def test_check_migrate_and_compact(self) -> None:
        """What is kept in an older form is found and rewritten; the history can be dropped."""
        await self.filled()
        store = await self.empty()
        self.with_input((await self.run_command("export")).encode())
        await self.run_command("import", *self.where(store))
        await store.start()
        obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "json", "namespace": "a", "uid": "u"}}
        await store.commit(Op(MAP, json.dumps(obj).encode()))
        await store.stop()
        report = await self.run_command("check", *self.where(store))
        self.assertIn("7 objects", report)
        self.assertIn("1 are kept in an older form", report)
        self.assertEqual(await self.run_command("migrate", *self.where(store)), "6 objects, 1 of them rewritten\n")
        self.assertNotIn("older form", await self.run_command("check", *self.where(store)))
        self.assertIn("history since", await self.run_command("compact", *self.where(store)))

    async def test_only_an_empty_cluster_is_filled(self) -> None:
        """An import into what holds objects is refused; one that fails takes back what it has written."""
        await self.filled()
        store = await self.empty()
        good = (await self.run_command("export")).encode()
        self.with_input(good + b"{}\n")
        self.assertIn("line 8: has no key", await self.refused("import", *self.where(store)))
        self.with_input(good)
        await self.run_command("import", *self.where(store))
        self.with_input(good)
        self.assertIn("only an empty one can be filled", await self.refused("import", *self.where(store)))

    async def test_another_vocabulary(self) -> None:
        """A cluster with objects of the other vocabulary is refused, as it is by a server."""
        await self.filled("kubernetes")
        store = await self.empty()
        self.with_input((await self.run_command("export")).encode())
        await self.run_command("import", *self.where(store, "--vocabulary=kubernetes"))
        await store.start()
        await store.commit(Op("/registry/apiregistration.k8s.io/apiservices/v1.", b""))
        await store.stop()
        self.assertIn("--vocabulary kubernetes", await self.refused("check", *self.where(store)))

    async def test_nobody_there(self) -> None:
        """Flags that do not fit are one line."""
        why = await self.refused("check", "--etcd-servers=here")
        self.assertEqual(why, '--etcd-servers: "here" is not a URL such as https://host:2379')
