"""Restores of a whole server: the state that goes back, and what stays."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

from twisted.internet.task import deferLater

from tests.snapshots.case import MAPS, STATE, StateCase, config_map, reactor


class RestoreTests(StateCase):
    """State that goes back, and state that does not."""

    async def test_state_goes_back(self) -> None:
        """Objects created since are deleted, changed and deleted ones are as they were, with new versions; the others
        keep theirs (reference STORE-41).
        """
        for name in ("kept", "changed", "deleted"):
            await self.created(MAPS, config_map(name, a="1"))
        before = {each["metadata"]["name"]: each for each in (await self.ask("GET", MAPS)).json["items"]}
        name = await self.snapshot()
        await self.ask("PUT", f"{MAPS}/changed", config_map("changed", a="2"))
        await self.ask("DELETE", f"{MAPS}/deleted")
        await self.created(MAPS, config_map("new"))
        done = await self.restore(name)
        self.assertEqual(done["changed"], 3)
        after = {each["metadata"]["name"]: each for each in (await self.ask("GET", MAPS)).json["items"]}
        self.assertEqual(after["kept"], before["kept"])
        self.assertEqual(after.keys(), before.keys())
        for each in ("changed", "deleted"):
            versions = [int(state[each]["metadata"].pop("resourceVersion")) for state in (before, after)]
            self.assertLess(*versions)
            self.assertEqual(after[each], before[each])
        listed = (await self.ask("GET", MAPS)).json["metadata"]["resourceVersion"]
        self.assertEqual(listed, done["resourceVersion"])

    async def test_reset_is_the_state_after_the_start(self) -> None:
        """A reset brings back what was there when the server became ready, with what controllers had made by then;
        they have nothing to do afterwards (reference STORE-42).
        """
        started = (await self.ask("GET", STATE)).json
        self.assertEqual([each["snapshot"] for each in started], ["start"])
        accounts = await self.ask("GET", "/api/v1/serviceaccounts")
        self.assertEqual(
            {each["metadata"]["namespace"] for each in accounts.json["items"]},
            {"default", "kube-system", "kube-public", "kube-node-lease"},
        )
        await self.created("/api/v1/namespaces", {"metadata": {"name": "mine"}})
        await self.created(MAPS, config_map("x"))
        await self.ask("DELETE", "/api/v1/namespaces/default/serviceaccounts/default")
        done = await self.restore()
        self.assertIsNone(await self.got("/api/v1/namespaces/mine"))
        again = await self.ask("GET", "/api/v1/serviceaccounts")
        uids = [[each["metadata"]["uid"] for each in found.json["items"]] for found in (accounts, again)]
        self.assertEqual(uids[0], uids[1])
        await deferLater(reactor, 0.1)
        again = await self.ask("GET", "/api/v1/serviceaccounts")
        self.assertEqual(again.json["metadata"]["resourceVersion"], done["resourceVersion"])
        self.assertEqual((await self.restore())["changed"], 0)

    async def test_snapshots_are_independent(self) -> None:
        """Several snapshots can be restored in any order and any number of times; released ones are gone."""
        first = await self.snapshot()
        await self.created(MAPS, config_map("a"))
        second = await self.snapshot()
        for name, found in ((first, []), (second, ["a"]), (first, []), (second, ["a"]), (second, ["a"])):
            await self.restore(name)
            self.assertEqual(await self.names(MAPS), found)
        shown = (await self.ask("GET", STATE)).json
        self.assertEqual([each["snapshot"] for each in shown], ["start", first, second])
        self.assertEqual(shown[2]["objects"], shown[1]["objects"] + 1)
        await self.ask("POST", STATE, {"action": "release", "snapshot": first})
        refused = await self.ask("POST", STATE, {"action": "restore", "snapshot": first}, 404)
        self.assertEqual(refused.json["message"], f'snapshots "{first}" not found')

    async def test_events_expire_again(self) -> None:
        """A restored value that expires lives as long as after any other write (reference STORE-15)."""
        event = {"metadata": {"name": "e"}, "involvedObject": {"namespace": "default"}, "reason": "Test"}
        path = "/api/v1/namespaces/default/events"
        await self.created(path, event)
        name = await self.snapshot()
        await self.ask("DELETE", f"{path}/e")
        await self.restore(name)
        store: Any = self.server.instance.resources.store
        self.assertEqual([key for key in store._lifetimes._ends], ["/registry/events/default/e"])

    async def test_addresses_go_back(self) -> None:
        """Addresses and ports of Services that are gone are free, those of restored ones are taken (KIND-27)."""
        path = "/api/v1/namespaces/default/services"

        def service(name: str, address: str, port: int = 0) -> dict[str, Any]:
            ports = [{"port": 80, **({"nodePort": port} if port else {})}]
            spec = {"type": "NodePort" if port else "ClusterIP", "clusterIP": address, "ports": ports}
            return {"metadata": {"name": name}, "spec": spec}

        await self.created(path, service("a", "10.0.0.10", 30010))
        name = await self.snapshot()
        await self.created(path, service("b", "10.0.0.11", 30011))
        await self.ask("DELETE", f"{path}/a")
        await self.created(path, service("c", "10.0.0.10", 30010))
        await self.restore(name)
        await self.ask("POST", path, service("d", "10.0.0.10"), 422)
        await self.ask("POST", path, service("d", "10.0.0.20", 30010), 422)
        await self.created(path, service("e", "10.0.0.11", 30011))
        for _ in range(3):
            await self.server.instance.resources.targets.repair_reservations()

    async def test_quota_goes_back(self) -> None:
        """The usage of a quota is that of the restored objects, and is charged from there."""
        quota = {"metadata": {"name": "q"}, "spec": {"hard": {"count/secrets": "2"}}}
        await self.created("/api/v1/namespaces/default/resourcequotas", quota)
        path = "/api/v1/namespaces/default/resourcequotas/q"

        async def counted() -> bool:
            return bool(((await self.got(path)) or {}).get("status", {}).get("used"))

        await self.until(counted)
        name = await self.snapshot()
        secrets = "/api/v1/namespaces/default/secrets"
        for _ in range(2):
            for each in ("a", "b"):
                await self.created(secrets, {"metadata": {"name": each}})
            await self.ask("POST", secrets, {"metadata": {"name": "c"}}, 403)
            await self.restore(name)
            self.assertEqual((await self.got(path) or {})["status"]["used"], {"count/secrets": "0"})

    async def test_keys_beside_objects_stay(self) -> None:
        """Keys that are not API objects and belong to servers are neither deleted nor brought back."""
        from orchtw.storage.store import Op

        store = self.server.instance.resources.store
        name = await self.snapshot()
        for key in ("/registry/servers/x", "/registry/leaders/x", "/registry/handover/keys"):
            await store.commit(Op(key, b"1"))
        await self.restore(name)
        self.assertEqual(len((await store.list("/registry/servers/")).items), 1)
        self.assertIsNotNone(await store.get("/registry/leaders/x"))
        self.assertIsNotNone(await store.get("/registry/handover/keys"))


class FileRestoreTests(RestoreTests):
    """The same on a store in a file."""

    backend = "sqlite"

    async def test_events_expire_again(self) -> None:
        """The file has the ends of restored values; see `ReplaceRules`."""


class SealedTests(StateCase):
    """A store whose values are encrypted."""

    async def setUp(self) -> None:  # type: ignore[override]  # trial awaits it
        """Start with a key for config maps."""
        path = self.mktemp()
        key = b64encode(b"k" * 32).decode()
        with open(path, "w") as file:
            file.write(
                "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n"
                "- resources: [configmaps]\n  providers:\n"
                f"  - aescbc: {{keys: [{{name: one, secret: {key}}}]}}\n  - identity: {{}}\n"
            )
        from pathlib import Path

        self.settings = {"encryption_provider_config": Path(path)}
        await super().setUp()

    async def test_values_are_sealed_again(self) -> None:
        """Restored values are sealed in the store, and read as before (reference STORE-14)."""
        await self.created(MAPS, config_map("x", a="plain text"))
        name = await self.snapshot()
        await self.ask("DELETE", f"{MAPS}/x")
        watch = await self.watch(f"{MAPS}?watch=1&resourceVersion=0")
        await self.restore(name, "follow")
        self.assertEqual((await self.got(f"{MAPS}/x") or {})["data"], {"a": "plain text"})
        store: Any = self.server.instance.resources.store
        stored = await store._store.get("/registry/configmaps/default/x")
        self.assertTrue(stored.value.startswith(b"k8s:enc:aescbc:v1:one:"))
        while (event := await watch.next())["object"]["metadata"]["name"] != "x":
            pass
        self.assertEqual((event["type"], event["object"]["data"]), ("ADDED", {"a": "plain text"}))
