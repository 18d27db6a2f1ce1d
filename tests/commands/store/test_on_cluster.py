"""`orch-store` where the store is an etcd cluster (reference STORE-34)."""
# covers: orchtw.commands.store.etcd

from __future__ import annotations

import json
import os
from typing import Any

from orchtw.commands.store.values import StoredValues
from orchtw.naming.naming import Naming
from orchtw.storage.etcd.store import EtcdStore
from orchtw.storage.store import Op
from tests.commands.store.case import CommandCase, named
from tests.storage.etcd.cluster import NO_ETCD, new_store, shared_cluster
from tests.vocabularies import in_both, other

MAP = "/registry/configmaps/a/json"
POLICIES = "networking.orch.io/v1"
POLICY = "/registry/networking.orch.io/networkpolicies/a/q"


@in_both
class ClusterTests(CommandCase):
    skip = NO_ETCD
    vocabulary = "orch"

    async def setUp(self) -> None:  # type: ignore[override]
        super().setUp()
        self.cluster = await shared_cluster()

    async def empty(self) -> EtcdStore:
        """A store in a part of the cluster that holds nothing; it is not started."""
        return new_store(self.cluster, root="/registry", vocabulary="")

    async def imported(self) -> EtcdStore:
        """A store that holds the objects of this case, in its vocabulary; it is not started."""
        await self.filled(self.vocabulary)
        store = await self.empty()
        self.with_input((await self.run_command("export")).encode())
        await self.run_command("import", *self.where(store))
        return store

    def record(self, store: EtcdStore) -> str:
        """The vocabulary that is recorded, as anybody can read it."""
        return self.cluster.control("get", f"{store.prefix}/~vocabulary", "--print-value-only").strip()

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
        await self.filled(self.vocabulary)
        store = await self.empty()
        first = await self.run_command("export")
        self.with_input(first.encode())
        self.assertRegex(await self.run_command("import", *self.where(store)), "6 objects")
        self.assertEqual(self.record(store), self.vocabulary)
        second = await self.run_command("export", *self.where(store))
        self.assertEqual(self.lines(second)[0]["vocabulary"], self.vocabulary)
        self.assertEqual(self.lines(second)[1], self.lines(first)[1])
        self.assertTrue(self.lines(second)[1]["/registry/events/a/e"]["expires"])
        self.with_input(second.encode())
        await self.run_command("import", folder=self.folder / "other")
        third = await self.run_command("export", folder=self.folder / "other")
        self.assertEqual(self.lines(third)[1], self.lines(first)[1])

    async def test_check_migrate_and_compact(self) -> None:
        """Values in an older form are found and rewritten; the history can be dropped."""
        store = await self.imported()
        await store.start()
        obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "json", "namespace": "a", "uid": "u"}}
        await store.commit(Op(MAP, json.dumps(obj).encode()))
        await store.stop()
        report = await self.run_command("check", *self.where(store))
        self.assertIn(f"vocabulary {self.vocabulary}, revision", report)
        self.assertIn("7 objects", report)
        self.assertIn("1 are kept in an older form", report)
        self.assertEqual(await self.run_command("migrate", *self.where(store)), "6 objects, 1 of them rewritten\n")
        self.assertNotIn("older form", await self.run_command("check", *self.where(store)))
        self.assertIn("history since", await self.run_command("compact", *self.where(store)))

    async def test_only_an_empty_cluster_is_filled(self) -> None:
        """An import into what holds objects is refused; one that fails takes back what it has written."""
        await self.filled(self.vocabulary)
        store = await self.empty()
        good = (await self.run_command("export")).encode()
        self.with_input(good + b"{}\n")
        self.assertIn("line 8: has no key", await self.refused("import", *self.where(store)))
        self.assertEqual(self.record(store), "")
        self.with_input(good)
        await self.run_command("import", *self.where(store))
        self.with_input(good)
        self.assertIn("only an empty one can be filled", await self.refused("import", *self.where(store)))

    async def test_another_vocabulary(self) -> None:
        """A flag that contradicts what the store is of is one line, whatever the command, and nothing is done."""
        store = await self.imported()
        wrong = f"--vocabulary={other(self.vocabulary)}"
        for command in ("check", "export", "compact", "migrate"):
            line = await self.refused(command, *self.where(store, wrong))
            self.assertEqual(
                line,
                f"--etcd-prefix: {store.prefix} is of --vocabulary {self.vocabulary}, not {other(self.vocabulary)}",
            )
            await self.run_command(command, *self.where(store, f"--vocabulary={self.vocabulary}"))

    async def test_lines_of_another_vocabulary(self) -> None:
        """They do not get into a part of the cluster that a server of this one has made, though it be empty."""
        await self.filled(other(self.vocabulary))
        store = await self.empty()
        await store.start()
        await store.settle(self.vocabulary)
        await store.stop()
        self.with_input((await self.run_command("export")).encode())
        line = await self.refused("import", *self.where(store))
        self.assertIn(f"was made with --vocabulary {self.vocabulary}", line)
        self.assertEqual(self.record(store), self.vocabulary)

    async def test_made_by_an_earlier_version(self) -> None:
        """Without a record the objects tell; reading records nothing, what may write does."""
        store = await self.imported()
        self.cluster.control("del", f"{store.prefix}/~vocabulary")
        self.assertIn(f"vocabulary {self.vocabulary},", await self.run_command("check", *self.where(store)))
        head, found = self.lines(await self.run_command("export", *self.where(store)))
        self.assertEqual((head["vocabulary"], len(found)), (self.vocabulary, 6))
        self.assertEqual(self.record(store), "")
        await self.run_command("migrate", *self.where(store))
        self.assertEqual(self.record(store), self.vocabulary)

    async def test_objects_of_both(self) -> None:
        """An unknown vocabulary is asked for; an export then names what it leaves out, and fails (STORE-20)."""
        store = await self.imported()
        self.cluster.control("del", f"{store.prefix}/~vocabulary")
        naming = Naming.of(other(self.vocabulary))
        foreign = StoredValues(naming).value(POLICY, named(naming.api_version(POLICIES), "NetworkPolicy", "q", "a"))
        await store.start()
        await store.commit(Op(POLICY, foreign))
        await store.stop()
        self.assertIn("holds objects of both", await self.refused("check", *self.where(store)))
        which = f"--vocabulary={self.vocabulary}"
        status, output, errors = await self.tried("export", *self.where(store, which))
        self.assertEqual((status, len(self.lines(output)[1])), (1, 6), errors)
        self.assertIn(f"{POLICY} at ", errors)
        self.assertIn("1 objects are missing", errors)

    async def test_nobody_there(self) -> None:
        """Flags that do not fit are one line."""
        why = await self.refused("check", "--etcd-servers=here")
        self.assertEqual(why, '--etcd-servers: "here" is not a URL such as https://host:2379')
