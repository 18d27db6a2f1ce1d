"""Random writes of Services by several processes, some of which are lost: no number is shared (CTRL-9, CTRL-37)."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import StatusError
from tests.properties import examples
from tests.registry.allocation.processes import ADDRESSES, Group

NAMES = st.sampled_from([f"s{number}" for number in range(12)])
WHO = st.integers(0, 1)
SPECS = st.sampled_from(
    [
        {},
        {"type": "NodePort"},
        {"type": "NodePort", "ports": [{"port": 80, "nodePort": 30003}]},
        {"type": "LoadBalancer", "externalTrafficPolicy": "Local"},
        {"clusterIP": "10.0.0.5"},
        {"clusterIP": "None"},
        {"type": "ExternalName", "externalName": "example.com"},
    ]
)
CHANGES = st.sampled_from(
    [
        {"type": "NodePort", "externalName": None},
        {"type": "ClusterIP", "externalName": None},
        {"type": "ExternalName", "externalName": "example.com"},
        {"type": "NodePort", "ports": [{"port": 80, "nodePort": 30004}]},
        {"type": "LoadBalancer", "externalTrafficPolicy": "Local"},
        {"selector": {"a": "b"}},
    ]
)
STEPS = st.one_of(
    st.tuples(st.just("create"), WHO, NAMES, SPECS),
    st.tuples(st.just("create"), WHO, NAMES, SPECS),
    st.tuples(st.just("change"), WHO, NAMES, CHANGES),
    st.tuples(st.just("delete"), WHO, NAMES),
    st.tuples(st.just("turn")),
    st.tuples(st.just("settle")),
    st.tuples(st.just("repair"), WHO),
    st.tuples(st.just("crash"), WHO),
    st.tuples(st.just("fail"), WHO),
)


class ModelTests(SynchronousTestCase):
    """Two processes on one shared store, or one that has a store of its own."""

    @given(st.lists(STEPS, max_size=60))
    @examples(60)
    def test_two_processes(self, steps: list[Any]) -> None:
        """On a store that two share, by compare and swap."""
        self.check(Group(2), steps)

    @given(st.lists(STEPS, max_size=60))
    @examples(40)
    def test_one_process(self, steps: list[Any]) -> None:
        """On a store that nobody shares, in memory."""
        alone = [(what, *[0 for _ in who], *more) for what, who, more in map(split, steps)]
        self.check(Group(1, shared=False), alone)

    def check(self, group: Group, steps: list[Any]) -> None:
        """Every service has what it needs, and nobody else has that; at last everything is free."""
        for what, *arguments in steps:
            if what == "turn":
                group.turn()
            elif what == "settle":
                group.settle()
                self.check_unique(group)
            else:
                self.begin(group, what, *arguments)
        group.settle()
        self.check_unique(group)
        process = group.processes[0]
        for service in process.stored():
            group.wait(process.delete(service["metadata"]["name"]))
        for _ in range(4):
            group.wait(process.repair())
            group.settle()
        self.assertEqual(group.records, [])
        found = [group.wait(process.create(f"last{number}")) for number in range(ADDRESSES)]
        self.assertEqual(len({each["spec"]["clusterIP"] for each in found}), ADDRESSES)
        self.flushLoggedErrors(StatusError)

    def begin(self, group: Group, what: str, who: int, *arguments: Any) -> None:
        """Let a process begin something, of whose end nobody hears."""
        process = group.processes[who]
        if what == "crash":
            group.restart(who)
        elif what == "fail":
            process.link.failing = True
            group.turn()
            process.link.failing = False
        else:
            *names, spec = arguments if what in ("create", "change") else (*arguments, {})
            running: Deferred[Any] = getattr(process, what)(*names, **spec)
            running.addErrback(lambda failure: failure.trap(StatusError) and None)

    def check_unique(self, group: Group) -> None:
        """No address or port twice, and all that there must be."""
        addresses: Counter[str] = Counter()
        ports: Counter[int] = Counter()
        for service in group.processes[0].stored():
            spec = service["spec"]
            if spec["type"] == "ExternalName":
                self.assertNotIn("clusterIP", spec)
                continue
            self.assertTrue(spec["clusterIP"])
            addresses.update([] if spec["clusterIP"] == "None" else spec["clusterIPs"])
            mine = {port["nodePort"] for port in spec["ports"] if "nodePort" in port}
            self.assertEqual(bool(mine), spec["type"] != "ClusterIP", service)
            ports.update(mine | ({spec["healthCheckNodePort"]} if "healthCheckNodePort" in spec else set()))
        self.assertEqual([each for each in (*addresses.items(), *ports.items()) if each[1] > 1], [])


def split(step: tuple[Any, ...]) -> tuple[str, tuple[Any, ...], tuple[Any, ...]]:
    """Step of the model: its kind, its process and its arguments."""
    return step[0], step[1:2], step[2:]
