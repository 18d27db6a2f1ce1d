"""`orch-store migrate` without a server (reference STORE-21)."""

from __future__ import annotations

import json
from base64 import b64encode
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson

from orchtw.commands.store.values import StoredValues
from orchtw.naming.naming import Naming
from orchtw.storage.sqlite.snapshot import Snapshot
from orchtw.storage.store import KeyValue, Op
from tests.commands.store.case import CommandCase, named, objects

BUDGET = "/registry/policy/poddisruptionbudgets/a/b"
MAP = "/registry/configmaps/a/json"


class MigrateTests(CommandCase):
    def live(self) -> dict[str, KeyValue]:
        """Return the content of the store."""
        with closing(Snapshot(self.store)) as snapshot:
            return {item.key: item for item in snapshot.live() if isinstance(item, KeyValue)}

    async def test_older_forms(self) -> None:
        """Objects in an older version, or in JSON, are written in the present form; nothing else is written."""
        await self.filled()
        values = StoredValues(Naming.orch())
        budget = named("policy/v1beta1", "PodDisruptionBudget", "b", "a", spec={"selector": {}, "minAvailable": 1})
        store = await self.opened(self.data)
        await store.commit(Op(BUDGET, values.value(BUDGET, budget)))
        await store.commit(Op(MAP, orjson.dumps(named("v1", "ConfigMap", "json", "a", data={"k": "v"}))))
        await store.stop()
        before = self.live()
        self.assertIn("2 are kept in an older form", await self.run_command("check"))
        self.assertEqual(await self.run_command("migrate"), "7 objects, 2 of them rewritten\n")
        after = self.live()
        self.assertEqual({key for key in after if after[key] != before[key]}, {BUDGET, MAP})
        found = values.read(BUDGET, after[BUDGET].value)
        assert found is not None
        self.assertEqual((found["apiVersion"], found["metadata"]["uid"]), ("policy/v1", budget["metadata"]["uid"]))
        self.assertEqual(found["spec"]["minAvailable"], 1)
        self.assertNotIn("older form", await self.run_command("check"))
        self.assertEqual(await self.run_command("migrate"), "7 objects, 0 of them rewritten\n")

    async def test_encryption(self) -> None:
        """Values not sealed by the first provider are sealed again; those without a key are named."""
        await self.filled()
        path = Path(self.mktemp()).absolute()
        provider = {"aescbc": {"keys": [{"name": "k", "secret": b64encode(b"k" * 32).decode()}]}}
        plain: dict[str, Any] = {"identity": {}}
        for providers, prefix in (([provider, plain], b"k8s:enc:aescbc"), ([plain, provider], b"k8s\0")):
            path.write_text(
                json.dumps(
                    {
                        "apiVersion": "apiserver.config.orch.io/v1",
                        "kind": "EncryptionConfiguration",
                        "resources": [{"resources": ["secrets"], "providers": providers}],
                    }
                )
            )
            said = await self.run_command("migrate", f"--encryption-provider-config={path}")
            self.assertEqual(said, "5 objects, 1 of them rewritten\n")
            self.assertTrue(self.live()["/registry/secrets/a/s"].value.startswith(prefix))

    async def test_unreadable(self) -> None:
        """An object that nobody can read is named, and the others are written."""
        await self.filled()
        store = await self.opened(self.data)
        await store.commit(Op("/registry/pods/a/b", b"k8s\0rubbish"))
        await store.commit(Op(MAP, orjson.dumps(named("v1", "ConfigMap", "json", "a"))))
        await store.stop()
        status, output, errors = await self.tried("migrate")
        self.assertEqual((status, output), (1, "6 objects, 1 of them rewritten\n"))
        self.assertIn("orch-store: /registry/pods/a/b: is damaged\n", errors)

    async def test_other_vocabulary(self) -> None:
        """The store says itself which vocabulary it has."""
        await self.filled("kubernetes")
        self.assertEqual(len(objects(Naming.kubernetes())), 6)
        self.assertEqual(await self.run_command("migrate"), "5 objects, 0 of them rewritten\n")
        with closing(Snapshot(self.store)) as snapshot:
            self.assertEqual(snapshot.vocabulary, "kubernetes")
