"""Several servers on one etcd are one API: what is written at one counts at the other."""

from __future__ import annotations

import json
from base64 import b64decode
from collections import Counter
from http.client import HTTPException
from typing import Any
from urllib.parse import quote

from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater

from tests.end_to_end.case import reactor
from tests.end_to_end.several import PairCase, all_of
from tests.storage.etcd.cluster import NO_ETCD
from tests.vocabularies import in_both

WRITE_S = 0.05
LOST = (OSError, HTTPException, EOFError)
"""What clients see of a server that ends."""


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "data": data}


@in_both
class ReadingTests(PairCase):
    """Both servers answer from the same state."""

    skip = NO_ETCD

    async def test_what_is_written_at_one_is_read_at_the_other_at_once(self) -> None:
        """A get and a list that begin after a write was acknowledged see it, wherever they ask (READ-10)."""
        for number in range(40):
            writer, reader = (self.a, self.b) if number % 2 else (self.b, self.a)
            made = await writer.post(self.core("configmaps"), config_map(f"c{number}"))
            self.assertEqual(made.code, 201, made)
            got, listed = await all_of(
                reader.get(self.core("configmaps", f"c{number}")), reader.get(self.core("configmaps"))
            )
            self.assertEqual((got.code, got.json["metadata"]), (200, made.json["metadata"]))
            self.assertEqual(len(listed.json["items"]), number + 1)
            gone = await writer.put(self.core("configmaps", f"c{number}"), config_map(f"c{number}", k="v"))
            self.assertEqual((await reader.get(self.core("configmaps", f"c{number}"))).version, gone.version)

    async def test_resource_versions_are_the_same_everywhere(self) -> None:
        """One that a server told is known to the other: exactly it, or not older than it (READ-8)."""
        made = await self.a.post(self.core("configmaps"), config_map("one"))
        await self.a.post(self.core("configmaps"), config_map("two"))
        path = self.core("configmaps")
        exact = await self.b.get(f"{path}?resourceVersion={made.version}&resourceVersionMatch=Exact&limit=5")
        self.assertEqual([each["metadata"]["name"] for each in exact.json["items"]], ["one"], exact)
        newer = await self.b.get(f"{path}/one?resourceVersion={made.version}")
        self.assertEqual(newer.version, made.version)

    async def test_what_is_to_come_is_refused_by_both_alike(self) -> None:
        """A resourceVersion that nobody has told yet: a wait, then 504 (READ-8)."""
        path = f"{self.core('configmaps')}?resourceVersion=900000000000"
        answers = await all_of(self.a.get(path), self.b.get(path))
        for answer in answers:
            self.assertEqual((answer.code, answer.json["reason"]), (504, "Timeout"))
            self.assertIn("Too large resource version: 900000000000, current: ", answer.json["message"])
            self.assertEqual(answer.json["details"]["causes"][0]["reason"], "ResourceVersionTooLarge")

    async def test_pages_go_on_at_the_other_server(self) -> None:
        """A continue token of one server is good at the other, for the same state."""
        for number in range(6):
            await self.a.post(self.core("configmaps"), config_map(f"p{number}"))
        path = f"{self.core('configmaps')}?limit=4"
        first = await self.a.get(path)
        await self.b.delete(self.core("configmaps", "p5"))
        rest = await self.b.get(f"{path}&continue={quote(first.json['metadata']['continue'])}")
        self.assertEqual([each["metadata"]["name"] for each in rest.json["items"]], ["p4", "p5"], rest)
        self.assertEqual(rest.version, first.version)

    async def test_a_watch_goes_on_at_the_other_server(self) -> None:
        """A watch goes on at another server from the last resourceVersion, without loss or repetition."""
        path = f"{self.core('configmaps')}?watch=1&resourceVersion="
        start = (await self.b.get(self.core("configmaps"))).version
        here = await self.a.watch(path + start)
        names = [f"w{number}" for number in range(6)]
        for name in names[:3]:
            await self.b.post(self.core("configmaps"), config_map(name))
        seen = await here.events(3)
        for name in names[3:]:
            await self.a.post(self.core("configmaps"), config_map(name))
        there = await self.b.watch(path + seen[-1]["object"]["metadata"]["resourceVersion"])
        seen += await there.events(3)
        self.assertEqual([event["object"]["metadata"]["name"] for event in seen], names)

    async def test_secrets_are_sealed_for_both(self) -> None:
        """With the same keys both read what is sealed; etcd has no word of it (STORE-14)."""
        secret = {"metadata": {"name": "s"}, "stringData": {"word": "nobody-reads-this"}}
        made = await self.a.post(self.core("secrets"), secret)
        self.assertEqual((await self.b.get(self.core("secrets", "s"))).json["data"], made.json["data"])
        below = f"/several-{self.vocabulary}/"
        kept = json.loads(self.cluster.control("get", "--prefix", below, "-w", "json"))["kvs"]
        values = {b64decode(each["key"]).decode(): b64decode(each.get("value", "")) for each in kept}
        [sealed] = [value for key, value in values.items() if key.endswith(f"/secrets/{self.namespace}/s")]
        self.assertNotIn(b"nobody-reads-this", sealed)
        self.assertNotIn(made.json["data"]["word"].encode(), sealed)

    async def test_events_end_everywhere(self) -> None:
        """An Event ends after its time at both, and watchers of both are told (STORE-15)."""
        event = {
            "metadata": {"name": "e"},
            "involvedObject": {"kind": "Pod", "namespace": self.namespace, "name": "p"},
        }
        watches = [await each.watch(self.core("events") + "?watch=1") for each in (self.a, self.b)]
        await self.a.post(self.core("events"), event)
        for watch in watches:
            self.assertEqual(await watch.types(2), [("ADDED", "e"), ("DELETED", "e")])


@in_both
class SharingTests(PairCase):
    """Unique numbers are given once among all servers."""

    skip = NO_ETCD

    async def test_addresses_and_ports_are_given_once(self) -> None:
        """200 Services made at the same time at both servers have 200 addresses and node ports (KIND-27)."""

        def service(number: int) -> dict[str, Any]:
            return {"metadata": {"name": f"s{number}"}, "spec": {"type": "NodePort", "ports": [{"port": 80}]}}

        path = self.core("services")
        answers = await all_of(*((self.a, self.b)[n % 2].post(path, service(n)) for n in range(200)))
        self.assertEqual(Counter(answer.code for answer in answers), {201: 200})
        specs = [answer.json["spec"] for answer in answers]
        self.assertEqual(len({spec["clusterIP"] for spec in specs}), 200)
        self.assertEqual(len({spec["ports"][0]["nodePort"] for spec in specs}), 200)

    async def test_an_address_that_one_gave_is_refused_by_the_other(self) -> None:
        """Asked for by its number (KIND-27)."""
        free = {"metadata": {"name": "x"}, "spec": {"ports": [{"port": 1}]}}
        first = await self.a.post(self.core("services"), free)
        spec = {"ports": [{"port": 1}], "clusterIP": first.json["spec"]["clusterIP"]}
        second = await self.b.post(self.core("services"), {"metadata": {"name": "y"}, "spec": spec})
        self.assertEqual(second.code, 422, second)
        self.assertIn("provided IP is already allocated", second.json["message"])

    async def test_a_quota_holds_for_both_together(self) -> None:
        """Of 40 creates at the same time at both servers as many succeed as the quota has (PLUG-25)."""
        quota = {"metadata": {"name": "q"}, "spec": {"hard": {"count/configmaps": "10"}}}
        await self.a.post(self.core("resourcequotas"), quota)

        async def known() -> bool:
            statuses = await all_of(*(each.get(self.core("resourcequotas", "q")) for each in (self.a, self.b)))
            return all((each.json.get("status") or {}).get("used") for each in statuses)

        await self.until(known)
        path = self.core("configmaps")
        answers = await all_of(*((self.a, self.b)[n % 2].post(path, config_map(f"c{n}")) for n in range(40)))
        codes = Counter(answer.code for answer in answers)
        self.assertLessEqual(codes[201], 10)
        self.assertEqual(set(codes) - {201, 403, 409}, set(), codes)
        number = codes[201]
        while (answer := await self.a.post(path, config_map(f"d{number}"))).code != 403:
            number += answer.code == 201
        self.assertIn("exceeded quota", answer.json["message"])
        self.assertEqual(len((await self.b.get(path)).json["items"]), 10)

    async def test_one_of_those_who_race_for_a_version_wins(self) -> None:
        """Updates of the same version at both: one succeeds, the others are told of the conflict (409)."""
        made = await self.a.post(self.core("configmaps"), config_map("r"))
        path = self.core("configmaps", "r")
        for turn in range(5):
            version = (await self.b.get(path)).version
            meta = {"name": "r", "resourceVersion": version}
            bodies = [{"metadata": meta, "data": {"by": f"{n} in {turn}"}} for n in range(6)]
            answers = await all_of(*((self.a, self.b)[n % 2].put(path, body) for n, body in enumerate(bodies)))
            self.assertEqual(Counter(answer.code for answer in answers), {200: 1, 409: 5})
            [won] = [answer for answer in answers if answer.code == 200]
            self.assertEqual((await self.a.get(path)).json["data"], won.json["data"])
        self.assertEqual(made.code, 201)


@in_both
class ConfigurationTests(PairCase):
    """Objects that configure servers soon count at every server, as in the release."""

    skip = NO_ETCD

    async def test_permissions(self) -> None:
        """A role that is bound at one server is believed at the other, and no more when it is unbound (RBAC-1)."""
        alice = self.new_client(self.servers[1], **{"Impersonate-User": "alice"})
        rbac = "rbac.authorization.orch.io/v1"
        role = {"metadata": {"name": "r"}, "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]}
        group = self.naming.group("rbac.authorization.orch.io")
        subject = {"kind": "User", "name": "alice", "apiGroup": group}
        ref = {"kind": "Role", "name": "r", "apiGroup": group}
        binding = {"metadata": {"name": "r"}, "subjects": [subject], "roleRef": ref}

        async def allowed() -> bool:
            return (await alice.get(self.core("pods"))).code == 200

        async def refused() -> bool:
            return not await allowed()

        self.assertFalse(await allowed())
        await self.a.post(self.group(rbac, "roles"), role)
        await self.a.post(self.group(rbac, "rolebindings"), binding)
        await self.until(allowed)
        await self.a.delete(self.group(rbac, "rolebindings", "r"))
        await self.until(refused)

    async def test_webhooks(self) -> None:
        """A webhook that is configured at one server is called by the other, until it is no more."""
        rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"]}
        hook = {
            "name": "gone.example.com",
            "clientConfig": {"url": "https://127.0.0.1:1/"},
            "rules": [rule],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "namespaceSelector": {"matchLabels": {self.naming.namespace_name_label: self.namespace}},
        }
        name = self.unique("hook")
        path = self.cluster_wide("admissionregistration.orch.io/v1", "validatingwebhookconfigurations")
        names = iter(range(10_000))

        async def code() -> int:
            return (await self.b.post(self.core("configmaps"), config_map(f"h{next(names)}"))).code

        async def called() -> bool:
            return await code() == 500

        async def let_in() -> bool:
            return await code() == 201

        made = await self.a.post(path, {"metadata": {"name": name}, "webhooks": [hook]})
        self.assertEqual(made.code, 201, made)
        await self.until(called)
        await self.a.delete(f"{path}/{name}")
        await self.until(let_in)

    async def test_namespaces(self) -> None:
        """One that is made at one server can be filled at the other at once; one that ends, soon no more (DEL-14)."""
        for number in range(10):
            name = self.unique("new")
            await self.a.post("/api/v1/namespaces", {"metadata": {"name": name}})
            answer = await self.b.post(f"/api/v1/namespaces/{name}/configmaps", config_map("c"))
            self.assertEqual(answer.code, 201, (number, answer))
        await self.a.delete(f"/api/v1/namespaces/{name}")
        names = iter(range(10_000))

        async def refused() -> bool:
            path = f"/api/v1/namespaces/{name}/configmaps"
            return (await self.b.post(path, config_map(f"c{next(names)}"))).code in (403, 404)

        async def gone() -> bool:
            return (await self.b.get(f"/api/v1/namespaces/{name}")).code == 404

        await self.until(refused)
        await self.until(gone)
        self.assertEqual((await self.b.get(f"/api/v1/namespaces/{name}/configmaps")).json["items"], [])

    async def test_definitions(self) -> None:
        """A kind that is defined at one server is established for both, and served by both (CRD-8)."""
        plural = self.unique("things").replace("-", "x")
        names = {"plural": plural, "singular": plural, "kind": plural.title(), "listKind": f"{plural.title()}List"}
        schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object"}}}}
        version = {"name": "v1", "served": True, "storage": True, "schema": schema}
        spec = {"group": "several.example.com", "scope": "Namespaced", "names": names, "versions": [version]}
        path = self.cluster_wide("apiextensions.orch.io/v1", "customresourcedefinitions")
        made = await self.a.post(path, {"metadata": {"name": f"{plural}.several.example.com"}, "spec": spec})
        self.assertEqual(made.code, 201, made)
        things = self.group("several.example.com/v1", plural)

        async def established() -> bool:
            found = await self.b.get(f"{path}/{plural}.several.example.com")
            conditions = found.json.get("status", {}).get("conditions") or []
            return any((each["type"], each["status"]) == ("Established", "True") for each in conditions)

        await self.until(established)
        thing = {
            "apiVersion": "several.example.com/v1",
            "kind": plural.title(),
            "metadata": {"name": "t"},
        }
        codes = [(await each.get(things)).code for each in (self.a, self.b)]
        self.assertEqual(codes, [200, 200])
        self.assertEqual((await self.b.post(things, thing)).code, 201)
        self.assertEqual((await self.a.get(f"{things}/t")).code, 200)


@in_both
class PresenceTests(PairCase):
    """Servers come and go."""

    skip = NO_ETCD

    async def test_both_started_at_once_and_made_everything_once(self) -> None:
        """Neither logged an error; the endpoints name both; bootstrap objects are there (CTRL-6, CTRL-7)."""
        for server in self.servers:
            errors = [line for line in server.log.splitlines() if line.startswith("E")]
            self.assertEqual(errors, [])

        async def named() -> bool:
            found = (await self.b.get(f"/api/v1/namespaces/default/endpoints/{self.naming.product}")).json
            ports = {subset["ports"][0]["port"] for subset in found["subsets"]}
            return ports == {server.port for server in self.servers}

        await self.until(named)
        roles = (await self.a.get(self.cluster_wide("rbac.authorization.orch.io/v1", "clusterroles"))).json["items"]
        self.assertGreater(len(roles), 50)

    async def test_another_leads_when_the_leader_is_killed(self) -> None:
        """Controllers go on at the other server when the Lease has run out (CTRL-4)."""
        system, name = self.naming.system_namespace, self.naming.controller_manager
        lease = self.cluster_wide("coordination.orch.io/v1", "namespaces", system, "leases", name)
        leads = [bool(each) for each in await self.until(self.leading)].index(True)
        killed, client = self.servers[leads], (self.b, self.a)[leads]
        holder = (await client.get(lease)).json["spec"]["holderIdentity"]
        await killed.kill9()

        async def taken_over() -> bool:
            return bool((await client.get(lease)).json["spec"]["holderIdentity"] != holder)

        await self.until(taken_over)
        name = self.unique("after")
        await client.post("/api/v1/namespaces", {"metadata": {"name": name}})

        async def has_account() -> bool:
            return (await client.get(f"/api/v1/namespaces/{name}/serviceaccounts/default")).code == 200

        await self.until(has_account)
        await killed.start()

    async def leading(self) -> list[bool]:
        """Report for each of the two, by its metrics, whether it runs the controllers; empty if neither does."""
        texts = [(await client.get("/metrics")).body.decode() for client in (self.a, self.b)]
        status = f'leader_election_master_status{{name="{self.naming.controller_manager}"}} 1'
        leads = [status in text for text in texts]
        return leads if any(leads) else []

    async def test_a_rolling_restart_loses_nothing(self) -> None:
        """Both are restarted under load, one after the other: clients that fail over to the other server
        have every write done and see every event once (OPS-14).
        """
        path = self.core("configmaps")
        start = (await self.b.get(path)).version
        reader = Follower(self, f"{path}?watch=1", start)
        following = Deferred.fromCoroutine(reader.run())
        writers = [Deferred.fromCoroutine(self.write_on(path, number, reader)) for number in range(3)]
        for server in self.servers:
            await deferLater(reactor, 0.3)
            self.assertEqual(await server.terminate(), 0)
            await server.start()
        await deferLater(reactor, 0.3)
        reader.stopping = True
        names = [name for writer in writers for name in await writer]
        await self.a.post(path, config_map("last"))
        await following
        listed = [each["metadata"]["name"] for each in (await self.a.get(path)).json["items"]]
        self.assertEqual(sorted(listed), sorted([*names, "last"]))
        self.assertEqual(sorted(reader.names), sorted(listed))
        for client in (self.a, self.b):  # who has slept since the start is told of everything too (READ-28)
            again = await client.watch(f"{path}?watch=1&resourceVersion={start}")
            self.assertEqual(await again.types(len(reader.names)), [("ADDED", name) for name in reader.names])

    async def write_on(self, path: str, writer: int, reader: Follower) -> list[str]:
        """Create one object after the other until the end, each at most twice; their names."""
        names: list[str] = []
        clients = [self.a, self.b]
        while not reader.stopping:
            name = f"w{writer}-{len(names)}"
            body = config_map(name)
            try:
                answer = await clients[0].post(path, body)
            except LOST:
                clients.reverse()
                answer = await clients[0].post(path, body)
                self.assertIn(answer.code, (201, 409))  # the first may have been done, and its answer lost
            else:
                self.assertEqual(answer.code, 201, answer)
            names.append(name)
            await deferLater(reactor, WRITE_S)
        return names


class Follower:
    """Watches at one server, and from where it was at the other when that ends, until it has seen `last`."""

    def __init__(self, case: PairCase, path: str, version: str) -> None:
        self._clients = [case.a, case.b]
        self._path = path
        self._version = version
        self.names: list[str] = []
        self.stopping = False

    async def run(self) -> None:
        while "last" not in self.names:
            try:
                watch = await self._clients[0].watch(f"{self._path}&resourceVersion={self._version}")
                while "last" not in self.names:
                    meta = (await watch.event())["object"]["metadata"]
                    self.names.append(meta["name"])
                    self._version = meta["resourceVersion"]
            except LOST:
                self._clients.reverse()
