"""Restores of a whole server: what goes back, what clients see, and what is in force afterwards."""
# covers: orchtw.assembly.state, orchtw.snapshots.snapshots

from __future__ import annotations

from base64 import b64encode
from typing import Any

import msgspec
from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.task import deferLater

from orchtw.assembly.state import endpoint
from orchtw.endpoints.state import PATH
from orchtw.snapshots.state_control import StateControl
from orchtw.testing.admission_webhook import AdmissionWebhook
from tests.snapshots.case import DEFINITIONS, GIZMO, GIZMOS, MAPS, STATE, StateCase, config_map, gizmo, reactor


class EndpointTests(StateCase):
    """The endpoint of the control of the state."""

    def test_path(self) -> None:
        """It is under /debug, and no list of paths names it."""
        found = endpoint(self.control)
        self.assertEqual((list(found.paths()), PATH), ([], "/debug/state"))


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
        from orchtw.storage.interface import Op

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


class WatchTests(StateCase):
    """Watches and old versions in both ways."""

    async def begun(self) -> tuple[str, str, Any]:
        """A state, its version, and a watch from there; since then one object has come, one gone, one changed."""
        for each in ("changed", "deleted"):
            await self.created(MAPS, config_map(each))
        name = await self.snapshot()
        version = (await self.ask("GET", MAPS)).json["metadata"]["resourceVersion"]
        await self.ask("PUT", f"{MAPS}/changed", config_map("changed", a="2"))
        await self.ask("DELETE", f"{MAPS}/deleted")
        await self.created(MAPS, config_map("new"))
        latest = (await self.ask("GET", MAPS)).json["metadata"]["resourceVersion"]
        return name, version, await self.watch(f"{MAPS}?watch=1&resourceVersion={latest}")

    async def test_watches_expire(self) -> None:
        """Every open watch ends with an ERROR 410 and without any event of the restore; versions from before are
        expired for watches, exact lists and continued lists (reference STORE-41).
        """
        name, version, watch = await self.begun()
        everywhere = await self.watch(f"/api/v1/secrets?watch=1&resourceVersion={version}")
        page = (await self.ask("GET", f"{MAPS}?limit=1")).json["metadata"]
        done = await self.restore(name)
        for each in (watch, everywhere):
            [event] = await self.rest(each)
            self.assertEqual(event["type"], "ERROR")
            self.assertEqual((event["object"]["code"], event["object"]["reason"]), (410, "Expired"))
        for old in (version, page["resourceVersion"]):
            [event] = await self.rest(await self.watch(f"{MAPS}?watch=1&resourceVersion={old}"))
            self.assertEqual(event["object"]["code"], 410)
            await self.ask("GET", f"{MAPS}?resourceVersion={old}&resourceVersionMatch=Exact", code=410)
        await self.ask("GET", f"{MAPS}?limit=1&continue={page['continue']}", code=410)
        again = await self.watch(f"{MAPS}?watch=1&resourceVersion={done['resourceVersion']}")
        await self.created(MAPS, config_map("later"))
        self.assertEqual((await again.next())["object"]["metadata"]["name"], "later")

    async def test_watches_expire_without_a_change(self) -> None:
        """The rule does not depend on whether anything has changed."""
        name = await self.snapshot()
        watch = await self.watch(f"{MAPS}?watch=1")
        self.assertEqual((await self.restore(name))["changed"], 0)
        self.assertEqual((await self.rest(watch))[-1]["object"]["code"], 410)

    async def test_watches_follow(self) -> None:
        """With `follow` a watch is told of each change as of any other, and old versions stay valid."""
        name, version, watch = await self.begun()
        await self.restore(name, "follow")
        found = {}
        for _ in range(3):
            event = await watch.next()
            found[event["object"]["metadata"]["name"]] = event["type"]
        self.assertEqual(found, {"changed": "MODIFIED", "deleted": "ADDED", "new": "DELETED"})
        replay = await self.watch(f"{MAPS}?watch=1&resourceVersion={version}")
        self.assertEqual([(await replay.next())["type"] for _ in range(6)].count("DELETED"), 2)
        await self.ask("GET", f"{MAPS}?resourceVersion={version}&resourceVersionMatch=Exact")

    async def test_restored_objects_are_whole(self) -> None:
        """Objects that were restored unread are listed, selected and watched like others."""
        labelled = {"metadata": {"name": "x", "labels": {"a": "b"}}, "data": {"k": "v"}}
        stored = await self.created(MAPS, labelled)
        name = await self.snapshot()
        for _ in range(2):
            await self.ask("DELETE", f"{MAPS}/x")
            await self.restore(name)
        self.assertEqual(await self.names(f"{MAPS}?labelSelector=a%3Db"), ["x"])
        self.assertEqual(await self.names(f"{MAPS}?fieldSelector=metadata.name%3Dx"), ["x"])
        merge = {"content-type": "application/merge-patch+json"}
        await self.ask("PATCH", f"{MAPS}/x", b'{"data":{"k":"w"}}', **merge)
        found = await self.got(f"{MAPS}/x") or {}
        self.assertEqual((found["data"], found["metadata"]["uid"]), ({"k": "w"}, stored["metadata"]["uid"]))
        cache = self.server.instance.resources.targets.stored_target("", "v1", "configmaps").stored.cache
        self.assertEqual(cache.raw_bytes, sum(len(entry.raw) for entry in cache.snapshot()))


class FileWatchTests(WatchTests):
    """The same on a store in a file."""

    backend = "sqlite"


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


class WritersTests(StateCase):
    """Writers that are at work while the state is restored."""

    async def test_no_list_shows_a_part(self) -> None:
        """Lists that come while a state is restored show all of it or nothing (reference STORE-41)."""
        for number in range(20):
            await self.created(MAPS, config_map(f"a{number}"))
        first = await self.snapshot()
        await self.restore()
        for number in range(20):
            await self.created(MAPS, config_map(f"b{number}"))
        second = await self.snapshot()
        seen: set[str] = set()
        done: list[object] = []

        async def read() -> None:
            while not done:
                names = await self.names(MAPS)
                self.assertEqual(len(names), 20)
                seen.add("".join(sorted({name[0] for name in names})))
                await deferLater(reactor, 0)

        readers = [Deferred.fromCoroutine(read()) for _ in range(3)]
        for number in range(20):
            await self.restore(second if number % 2 else first)
        done.append(None)
        await gatherResults(readers)
        self.assertEqual(seen, {"a", "b"})

    async def test_writes_come_before_or_after(self) -> None:
        """Of writes beside a restore, each is either undone or made afterwards; none is lost or fails."""
        name = await self.snapshot()

        async def write(number: int) -> str:
            obj = await self.created(MAPS, config_map(f"w{number}"))
            version: str = obj["metadata"]["resourceVersion"]
            return version

        writes = [Deferred.fromCoroutine(write(number)) for number in range(50)]
        restoring = Deferred.fromCoroutine(self.restore(name))
        late = [Deferred.fromCoroutine(write(number)) for number in range(50, 100)]
        done = await restoring
        versions = await gatherResults([*writes, *late])
        last = int(done["resourceVersion"])
        after = {f"w{number}" for number, version in enumerate(versions) if int(version) > last}
        self.assertEqual(set(await self.names(MAPS)), after)
        self.assertEqual(len(set(versions)), 100)

    async def test_create_that_waits_too_long_is_refused(self) -> None:
        """A create whose admission outlasts the restore is refused with 429: what it was admitted by is gone."""
        waiting: Deferred[None] = Deferred()
        webhook = AdmissionWebhook(reactor, "configmaps", mutating=False, vocabulary="kubernetes", timeoutSeconds=20)
        self.addCleanup(webhook.stop)
        await self.created(webhook.path, webhook.configuration)
        name = await self.snapshot()
        await self.created("/api/v1/namespaces", {"metadata": {"name": "mine"}})

        async def late(request: Any) -> Any:
            await waiting
            return {"allowed": True}

        webhook.answers = late
        path = "/api/v1/namespaces/mine/configmaps"
        creating = Deferred.fromCoroutine(self.server.request("POST", path, config_map("x")))
        await deferLater(reactor, 0.05)
        await self.restore(name)
        waiting.callback(None)
        refused = await creating
        self.assertEqual((refused.code, refused.headers["retry-after"]), (429, "1"))
        self.assertIsNone(await self.got("/api/v1/namespaces/mine"))
        self.assertEqual(await self.names("/api/v1/configmaps?fieldSelector=metadata.name%3Dx"), [])

    async def test_deletion_of_a_collection(self) -> None:
        """The deletion of a collection does not go on with the objects of a restored state (reference DEL-12)."""
        for number in range(200):
            await self.created(MAPS, config_map(f"x{number:03}"))
        name = await self.snapshot()
        deleting = Deferred.fromCoroutine(self.server.request("DELETE", MAPS))
        await deferLater(reactor, 0)
        await self.restore(name)
        self.assertEqual((await deleting).code, 429)
        self.assertEqual(len(await self.names(MAPS)), 200)

    async def test_restores_one_after_the_other(self) -> None:
        """Restores that are asked for at once are made one after the other, and one goes on without its client."""
        await self.created(MAPS, config_map("a"))
        name = await self.snapshot()
        first, second = Deferred.fromCoroutine(self.restore()), Deferred.fromCoroutine(self.restore(name))
        await gatherResults([first, second])
        self.assertEqual(await self.names(MAPS), ["a"])
        abandoned = Deferred.fromCoroutine(self.control.restore("start", expires=True))
        abandoned.addErrback(lambda failure: None)
        abandoned.cancel()

        async def gone() -> bool:
            return await self.names(MAPS) == []

        await self.until(gone)


class ControllersTests(StateCase):
    """Controllers that are at work while the state is restored: nothing that they had begun goes on."""

    async def filled(self, count: int = 200) -> None:
        """A namespace with many objects."""
        await self.created("/api/v1/namespaces", {"metadata": {"name": "mine"}})
        path = "/api/v1/namespaces/mine/configmaps"
        await gatherResults(
            [Deferred.fromCoroutine(self.created(path, config_map(f"x{number:03}"))) for number in range(count)]
        )

    async def test_namespace_that_was_being_emptied(self) -> None:
        """A namespace restored in the middle of its deletion keeps all of its objects, those not deleted yet too."""
        await self.filled()
        name = await self.snapshot()
        path = "/api/v1/namespaces/mine/configmaps"
        for _ in range(5):
            await self.ask("DELETE", "/api/v1/namespaces/mine")

            async def begun() -> bool:
                return len(await self.names(path)) < 200

            await self.until(begun)
            await self.restore(name)
            await deferLater(reactor, 0.05)
            self.assertEqual(len(await self.names(path)), 200)
            self.assertEqual((await self.got("/api/v1/namespaces/mine") or {})["status"]["phase"], "Active")

    async def test_namespace_made_anew(self) -> None:
        """A namespace of the same name that is made right after a reset keeps its objects, whatever was under way
        with the one before it.
        """
        path = "/api/v1/namespaces/mine/configmaps"
        for _ in range(10):
            await self.filled(20)
            await self.ask("DELETE", "/api/v1/namespaces/mine")
            await self.restore()
            await self.filled(20)
            await deferLater(reactor, 0.02)
            self.assertEqual(len(await self.names(path)), 20)
            await self.restore()
        await self.filled(20)
        await deferLater(reactor, 5.5)  # beyond the sweeps of all these namespaces
        self.assertEqual(len(await self.names(path)), 20)

    async def test_garbage_that_was_being_collected(self) -> None:
        """Dependents whose owner comes back are kept, and go with it when it is deleted again."""
        owner = await self.created(MAPS, config_map("owner"))
        meta = owner["metadata"]
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": meta["uid"]}
        for number in range(100):
            obj = config_map(f"d{number:03}")
            obj["metadata"]["ownerReferences"] = [reference]
            await self.created(MAPS, obj)
        name = await self.snapshot()
        for _ in range(5):
            await self.ask("DELETE", f"{MAPS}/owner")

            async def begun() -> bool:
                return len(await self.names(MAPS)) < 100

            await self.until(begun)
            await self.restore(name)
            await deferLater(reactor, 0.05)
            self.assertEqual(len(await self.names(MAPS)), 101)
        await self.ask("DELETE", f"{MAPS}/owner")

        async def gone() -> bool:
            return await self.names(MAPS) == []

        await self.until(gone)


class LimitTests(StateCase):
    """Limits of what is kept, and refusals."""

    async def test_number_of_snapshots(self) -> None:
        """Beyond the limit a snapshot is refused until another one is released."""
        self.control._snapshots._most = 3
        names = [await self.snapshot() for _ in range(2)]
        refused = await self.ask("POST", STATE, {"action": "snapshot"}, 403)
        self.assertIn("there are 3 snapshots already", refused.json["message"])
        await self.ask("POST", STATE, {"action": "release", "snapshot": names[0]})
        await self.snapshot()

    async def test_size_of_snapshots(self) -> None:
        """Beyond the limit of bytes in all of them a snapshot is refused, and keeps nothing."""
        self.control._snapshots._max_bytes = 1 << 20
        await self.created(MAPS, config_map("x", a="b" * 900_000))
        refused = await self.ask("POST", STATE, {"action": "snapshot"}, 403)
        self.assertIn("snapshots may hold 1048576 bytes in all", refused.json["message"])
        self.assertEqual(len((await self.ask("GET", STATE)).json), 1)

    async def test_values_are_shared(self) -> None:
        """A snapshot of the store in memory has the values of the store, not copies."""
        await self.created(MAPS, config_map("x"))
        await self.snapshot()
        store: Any = self.server.instance.resources.store
        kept = self.control.kept()[-1].items["/registry/configmaps/default/x"]
        self.assertIs(kept, store._versions._live["/registry/configmaps/default/x"])

    async def test_refusals(self) -> None:
        """Requests that are malformed, or name what is not there, are refused and change nothing."""
        for body, code, text in (
            (b"{", 400, "the body is not JSON"),
            ([], 400, "must be a JSON object"),
            ({"action": 1}, 400, "string values"),
            ({}, 400, "action: must be one of snapshot, restore, reset, release"),
            ({"action": "undo"}, 400, "action: must be one of"),
            ({"action": "snapshot", "x": "y"}, 400, "x: unknown field of action snapshot"),
            ({"action": "restore"}, 400, "snapshot: required"),
            ({"action": "reset", "watches": "end"}, 400, "watches: must be expire or follow"),
            ({"action": "restore", "snapshot": "no"}, 404, 'snapshots "no" not found'),
            ({"action": "release", "snapshot": "no"}, 404, 'snapshots "no" not found'),
            ({"action": "release", "snapshot": "start"}, 403, "is kept as long as the server runs"),
        ):
            refused = await self.ask("POST", STATE, body, code)
            self.assertIn(text, refused.json["message"])
        await self.ask("DELETE", STATE, code=405)

    async def test_other_users(self) -> None:
        """Only those who may do all reach the endpoint (reference STORE-40)."""
        for user in ("anyone", "system:anonymous", "system:serviceaccount:default:default"):
            await self.ask("GET", STATE, code=403, **{"impersonate-user": user})
            await self.ask("POST", STATE, {"action": "reset"}, 403, **{"impersonate-user": user})

    async def test_shared_store(self) -> None:
        """On a store that other processes write to, everything is refused with 405."""

        host: Any = msgspec.structs.replace(self.control._host, store=SharedStore())
        control = StateControl(host)
        await control.begin()
        self.server.instance.state._host = host
        for body in ({"action": "reset"}, {"action": "snapshot"}, {"action": "release", "snapshot": "x"}):
            refused = await self.ask("POST", STATE, body, 405)
            self.assertIn("can only be restored in a store of one process", refused.json["message"])
        await self.ask("GET", STATE, code=405)


class SharedStore:
    """A store of which only one property is asked."""

    shared = True


class SealedTests(StateCase):
    """A store whose values are encrypted."""

    async def setUp(self) -> None:
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
        inner: Any = self.server.instance.resources.store._store
        stored = await inner.get("/registry/configmaps/default/x")
        self.assertTrue(stored.value.startswith(b"k8s:enc:aescbc:v1:one:"))
        while (event := await watch.next())["object"]["metadata"]["name"] != "x":
            pass
        self.assertEqual((event["type"], event["object"]["data"]), ("ADDED", {"a": "plain text"}))
