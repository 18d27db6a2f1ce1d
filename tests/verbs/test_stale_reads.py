"""Stale states for reads of resourceVersion 0: frozen, some seconds or some revisions old."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from orchtw.verbs.stale_reads import FrozenState
from orchtw.wire.objects import Object
from tests.filters.fault_case import RULES, FaultCase
from tests.filters.plan_case import BOB, MAPS
from tests.verbs.served import DEFAULT, MERGE

ANY = "resourceVersion=0"


class StaleCase(FaultCase):
    """Reads of the config maps; `a` and `b` are there at the beginning."""

    def names(self, query: str = ANY, path: str = MAPS) -> Sequence[str]:
        """The names in a list."""
        return [each["metadata"]["name"] for each in self.listed(query, path)["items"]]

    def listed(self, query: str = ANY, path: str = MAPS) -> Object:
        """A list of config maps, or others."""
        return self.done("GET", f"{path}?{query}")

    def make(self, name: str, **labels: str) -> Object:
        """Create a config map."""
        return self.done("POST", MAPS, {"metadata": {"name": name, "labels": labels}})

    def freeze(self, **fields: object) -> str:
        """Add a rule that freezes the state as it is."""
        return self.rule(fault="stale", resource="configmaps", **fields)


class FrozenTests(StaleCase):
    """States of the moment at which the rule was added."""

    def test_list(self) -> None:
        """A list of version 0 shows the frozen state with its version, however often; others show the present."""
        frozen = self.listed()
        rule = self.freeze()
        for name in "cd":
            self.make(name)
            self.done("DELETE", f"{MAPS}/{'ab'['cd'.index(name)]}")
            self.assertEqual(self.listed(), frozen)
        self.assertEqual([self.names(query) for query in ("", "resourceVersion=1", "limit=9")], [["c", "d"]] * 3)
        self.assertEqual(self.counts(rule), (2, 2))
        self.send("DELETE", RULES)
        self.assertEqual(self.names(), ["c", "d"])

    def test_get(self) -> None:
        """A get of version 0 shows the object as it was, or that it was not there."""
        before = self.send("GET", f"{MAPS}/a?{ANY}").body
        self.freeze()
        self.done("PATCH", f"{MAPS}/a", {"data": {"is": "new"}}, MERGE)
        self.make("c")
        self.assertEqual(self.send("GET", f"{MAPS}/a?{ANY}").body, before)
        self.assertEqual(self.code("GET", f"{MAPS}/c?{ANY}"), 404)
        self.assertEqual(self.done("GET", f"{MAPS}/a")["data"], {"is": "new"})
        self.assertEqual(self.code("GET", f"{MAPS}/c"), 200)
        self.done("DELETE", f"{MAPS}/a")
        self.assertEqual((self.code("GET", f"{MAPS}/a?{ANY}"), self.code("GET", f"{MAPS}/a")), (200, 404))

    def test_planned_get(self) -> None:
        """A get that a plan has answered so far is stale from the next request on."""
        self.planned(f"{MAPS}/a?{ANY}")
        self.freeze(user="bob")
        self.done("PATCH", f"{MAPS}/a", {"data": {"is": "new"}}, MERGE)
        self.assertEqual([self.get(f"{MAPS}/a{query}", BOB).json["data"]["is"] for query in ("", f"?{ANY}") * 2],
                         ["new", "a"] * 2)  # fmt: skip

    def test_watch(self) -> None:
        """A watch of version 0 begins with the frozen state, and goes on with all that came after it."""
        self.freeze()
        self.make("c")
        self.done("DELETE", f"{MAPS}/a")
        watch = self.watch(f"{MAPS}?watch=1&{ANY}")
        expected = [("ADDED", "a"), ("ADDED", "b"), ("ADDED", "c"), ("DELETED", "a")]
        self.assertEqual([self.next(watch) for _ in expected], expected)
        honest = self.watch(f"{MAPS}?watch=1")
        self.assertEqual([self.next(honest) for _ in range(2)], [("ADDED", "b"), ("ADDED", "c")])

    def test_watch_from_list(self) -> None:
        """A watch from the version of a stale list misses nothing."""
        self.freeze()
        version = self.listed()["metadata"]["resourceVersion"]
        self.make("c")
        self.assertEqual(self.listed()["metadata"]["resourceVersion"], version)
        watch = self.watch(f"{MAPS}?watch=1&resourceVersion={version}")
        self.assertEqual(self.next(watch), ("ADDED", "c"))

    def test_selection(self) -> None:
        """Selectors and namespaces choose among the frozen objects."""
        self.make("x", app="web")
        self.freeze()
        self.done("PATCH", f"{MAPS}/x", {"metadata": {"labels": None}}, MERGE)
        self.assertEqual(self.names(f"{ANY}&labelSelector=app%3Dweb"), ["x"])
        self.assertEqual(self.names(f"{ANY}&fieldSelector=metadata.name%3Da"), ["a"])
        self.assertNotIn("a", self.names(ANY, "/api/v1/namespaces/orch-system/configmaps"))
        self.assertIn("x", self.names(ANY, "/api/v1/configmaps"))
        watch = self.watch(f"{MAPS}?watch=1&{ANY}&labelSelector=app%3Dweb")
        self.assertEqual([self.next(watch), self.next(watch)], [("ADDED", "x"), ("DELETED", "x")])

    def test_others(self) -> None:
        """Other resources, and requests of other users, are honest."""
        self.freeze(user="bob")
        self.make("c")
        self.done("POST", f"{DEFAULT}/secrets", {"metadata": {"name": "s"}})
        self.assertEqual((self.names(), self.names(ANY, f"{DEFAULT}/secrets")), (["a", "b", "c"], ["s"]))

    def test_forms(self) -> None:
        """Stale states come in every form, Tables and Protobuf too."""
        self.freeze()
        self.make("c")
        table = self.send("GET", f"{MAPS}?{ANY}", headers={"accept": "application/json;as=Table;g=meta.orch.io;v=v1"})
        self.assertEqual([row["cells"][0] for row in table.json["rows"]], ["a", "b"])
        for path in (f"{MAPS}?{ANY}", f"{MAPS}/a?{ANY}"):
            answer = self.send("GET", path, headers={"accept": "application/vnd.orch.protobuf"})
            self.assertEqual((answer.code, answer.body[:4]), (200, b"k8s\0"))

    def test_expired_memory(self) -> None:
        """A frozen state that holds too much memory gives way to the oldest one that the history reaches."""
        rule = self.freeze()
        frozen = self.listed()
        self.make("c")
        (state,) = self.frozen(rule)
        state.expire()
        self.clock.advance(400)
        self.make("d")
        listed = self.listed()
        self.assertEqual([each["metadata"]["name"] for each in listed["items"]], ["a", "b", "c"])
        self.assertGreater(int(listed["metadata"]["resourceVersion"]), int(frozen["metadata"]["resourceVersion"]))

    def test_released(self) -> None:
        """A rule that is removed no longer holds its state."""
        cache = self.server.instance.resources.targets.stored("", "v1", "configmaps").cache
        rule = self.freeze()
        self.assertEqual(len(cache.pins), 1)
        self.send("DELETE", f"{RULES}/{rule}")
        self.assertEqual(len(cache.pins), 0)

    def frozen(self, rule_id: str) -> list[FrozenState]:
        """States that a rule has frozen."""
        endpoint = self.server.instance.front.app._stages  # noqa: SLF001
        rules = next(stage._rules for stage in endpoint if hasattr(stage, "_rules"))  # noqa: SLF001
        found: list[FrozenState] = list(rules.find(rule_id).moment.values())
        return found


class LaggingTests(StaleCase):
    """States of some time ago."""

    def test_seconds(self) -> None:
        """The state is that of so many seconds before each request."""
        self.rule(fault="stale", resource="configmaps", seconds=10)
        self.clock.advance(20)
        self.assertEqual(self.names(), ["a", "b"])
        self.make("c")
        self.assertEqual(self.names(), ["a", "b"])
        self.clock.advance(9)
        self.make("d")
        self.assertEqual(self.names(), ["a", "b"])
        self.clock.advance(2)
        self.assertEqual(self.names(), ["a", "b", "c"])
        self.clock.advance(10)
        self.assertEqual(self.names(), ["a", "b", "c", "d"])

    def test_revisions(self) -> None:
        """The state is that of so many revisions before each request."""
        self.rule(fault="stale", resource="configmaps", revisions=2)
        head = int(self.make("c")["metadata"]["resourceVersion"])
        self.assertEqual(self.listed()["metadata"]["resourceVersion"], str(head - 2))
        for name, shown in (("d", ["a", "b"]), ("e", ["a", "b", "c"])):
            self.make(name)
            self.assertEqual(self.names(), shown)
        self.assertEqual((self.code("GET", f"{MAPS}/d?{ANY}"), self.code("GET", f"{MAPS}/c?{ANY}")), (404, 200))

    def test_further_than_history(self) -> None:
        """A state older than the history is the oldest one of that."""
        self.rule(fault="stale", resource="configmaps", revisions=1_000_000, user="admin")
        oldest = self.listed()
        self.assertEqual(oldest["items"], [])
        self.clock.advance(400)
        self.make("c")
        self.assertEqual(self.names(), ["a", "b"])

    def test_unchanged(self) -> None:
        """A state that has not changed since is the present one, with the present version."""
        self.rule(fault="stale", resource="configmaps", seconds=10)
        self.clock.advance(400)
        made = self.done("POST", f"{DEFAULT}/secrets", {"metadata": {"name": "s"}})
        listed = self.listed()
        self.assertEqual(listed["metadata"]["resourceVersion"], made["metadata"]["resourceVersion"])
        self.assertEqual(self.code("GET", f"{MAPS}?{ANY}&resourceVersionMatch=Exact"), 422)


class AddedTests(StaleCase):
    """Resources that come up later than the rule."""

    def test_younger(self) -> None:
        """A resource without a frozen state shows the oldest that it knows."""
        self.rule(fault="stale")
        group = "/apis/coordination.orch.io/v1/namespaces/default/leases"
        self.assertEqual(self.names(ANY, group), [])
        cache = self.server.instance.resources.targets.stored("", "v1", "configmaps").cache
        moment = next(iter(self.rules())).moment
        assert isinstance(moment, dict)
        del moment[cache]
        self.make("c")
        self.assertEqual(self.names(), [])

    def rules(self) -> Any:
        """The rules in force."""
        stages = self.server.instance.front.app._stages  # noqa: SLF001
        return next(stage._rules for stage in stages if hasattr(stage, "_rules"))  # noqa: SLF001
