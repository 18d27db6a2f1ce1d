"""Endpoint slices (reference KIND-52)."""
# covers: orchtw.registry.groups.discovery

from __future__ import annotations

from typing import Any

from tests.validation import case
from tests.validation.examples import GONE, Accepted, Base, Refused, Shown, Stored
from tests.validation.paths import changed, value_at

PATH = "/apis/discovery.orch.io/{}/namespaces/default/endpointslices"
SLICES, OLD_SLICES = PATH.format("v1"), PATH.format("v1beta1")
SLICE = {
    "apiVersion": "discovery.orch.io/v1",
    "kind": "EndpointSlice",
    "metadata": {"name": "web"},
    "addressType": "IPv4",
    "endpoints": [{"addresses": ["192.0.2.1"]}],
    "ports": [{"name": "a", "port": 80}],
}
OLD_SLICE = {**SLICE, "apiVersion": "discovery.orch.io/v1beta1"}
HOST, ZONE = "orch.io/hostname", "topology.orch.io/zone"
HERE = f"{__name__}.DiscoveryTests."
NAMES = {"addressType": "FQDN"}
AT = "endpoints[0]"
ZONES = f"{AT}.hints.forZones"


def zones(count: int) -> list[dict[str, str]]:
    """Return so many zone hints."""
    return [{"name": f"z{number}"} for number in range(count)]


class DiscoveryTests(case.EntryCase):
    file = "discovery.json"
    bases = {"EndpointSlice": Base(path=SLICES, obj=SLICE), "old": Base(path=OLD_SLICES, obj=OLD_SLICE)}
    examples = {
        0: Refused(change={"addressType": GONE}),
        1: Refused(change={"addressType": "IP"}),
        2: Refused(
            change={"endpoints": [{"addresses": ["192.0.2.1"]}] * 1001},
            accepts={"endpoints": [{"addresses": ["192.0.2.1"]}] * 1000},
        ),
        3: Refused(change={f"{AT}.addresses": []}),
        4: Refused(
            change={f"{AT}.addresses": [f"192.0.2.{number}" for number in range(101)]},
            accepts={f"{AT}.addresses": [f"192.0.2.{number}" for number in range(100)]},
        ),
        5: [Refused(change={f"{AT}.addresses[0]": "a"}), Refused(change={f"{AT}.addresses[0]": "2001:db8::1"})],
        6: Refused(
            change={"addressType": "IPv6"}, accepts={"addressType": "IPv6", f"{AT}.addresses[0]": "2001:db8::1"}
        ),
        7: Refused(change={f"{AT}.addresses[0]": "127.0.0.1"}, detail="may not be in the loopback range"),
        8: [
            Refused(change={**NAMES, f"{AT}.addresses[0]": "A.b"}, accepts={**NAMES, f"{AT}.addresses[0]": "a.b."}),
            Refused(change={**NAMES, f"{AT}.addresses[0]": "a"}, detail="at least two segments"),
            Refused(
                change={**NAMES, f"{AT}.addresses[0]": f"a.{'b' * 64}"},
                accepts={**NAMES, f"{AT}.addresses[0]": f"a.{'b' * 63}"},
                detail="must be no more than 63 characters",
            ),
        ],
        9: Refused(change={f"{AT}.nodeName": ""}, accepts={f"{AT}.nodeName": "a.b"}),
        10: Refused(change={f"{AT}.hostname": "a.b"}, accepts={f"{AT}.hostname": "a"}),
        11: Refused(
            kind="old",
            change={f"{AT}.topology": {f"a{number}": "b" for number in range(17)}},
            accepts={f"{AT}.topology": {f"a{number}": "b" for number in range(16)}},
        ),
        12: [
            Refused(kind="old", change={f"{AT}.topology": {"-": "b"}}, accepts={f"{AT}.topology": {"a": "b"}}),
            Refused(kind="old", change={f"{AT}.topology": {"a": "-"}}),
        ],
        13: Accepted(change={f"{AT}.zone": "any $ text"}),
        14: Refused(change={ZONES: zones(9)}, accepts={ZONES: zones(8)}),
        15: Refused(change={ZONES: [*zones(2), *zones(1)]}, field=f"{ZONES}[2].name"),
        16: Refused(change={ZONES: [{"name": "-"}]}),
        17: Shown(f"{HERE}test_many_ports"),
        18: Refused(change={"ports[0].name": "A"}, accepts={"ports[0].name": ""}),
        19: [
            Refused(change={"ports[1]": {"name": "a", "port": 81}}, field="ports[1].name"),
            Refused(change={"ports": [{"port": 80}, {"port": 81}]}, field="ports[1].name"),
        ],
        20: Stored(expected={"ports[0].protocol": "TCP"}),
        21: Refused(change={"ports[0].protocol": "X"}, accepts={"ports[0].protocol": "SCTP"}),
        22: [
            Accepted(change={"ports[0].port": 0}),
            Stored(change={"ports[0].port": GONE}, expected={"ports[0].port": GONE}),
        ],
        23: Refused(change={"ports[0].appProtocol": "a b"}, accepts={"ports[0].appProtocol": "a.io/b"}),
        24: Refused(change={"addressType": "IPv6", f"{AT}.addresses[0]": "2001:db8::1"}),
        25: [
            Accepted(change={"metadata.labels": {"a": "b"}}),
            Refused(change={"metadata.labels": {"a": "-"}}, field="metadata.labels"),
        ],
        26: Stored(expected={"metadata.generation": 1}),
        27: [
            Stored(change={f"{AT}.zone": "a"}, expected={"metadata.generation": 2}),
            Stored(change={"metadata.annotations": {"a": "b"}}, expected={"metadata.generation": 1}),
        ],
        28: Stored(change={"metadata.labels": {"a": "b"}}, expected={"metadata.generation": 2}),
        29: Stored(
            change={f"{AT}.conditions": {"serving": True, "terminating": False}},
            expected={f"{AT}.conditions": {"serving": True, "terminating": False}},
        ),
        30: [
            Stored(
                change={f"{AT}.deprecatedTopology": {"a": "b"}}, expected={f"{AT}.deprecatedTopology": GONE}
            ),
            Shown(f"{HERE}test_topology"),
        ],
        31: Shown(f"{HERE}test_topology"),
        32: Shown(f"{HERE}test_topology"),
        33: Shown(f"{HERE}test_deprecated"),
    }

    def test_many_ports(self) -> None:
        """20,000 ports are allowed, one more is not."""
        ports = [{"name": f"p{number}", "protocol": "TCP"} for number in range(20_001)]
        targets = self.server.instance.resources.targets
        strategy = targets.stored_target("discovery.orch.io", "v1", "endpointslices").stored.strategy
        (cause,) = strategy.validate_content({**SLICE, "ports": ports}, None)
        self.assertEqual((cause.field, cause.reason), ("ports", "FieldValueTooMany"))
        self.assertIn("must have at most 20000 items", cause.message)
        self.assertEqual(strategy.validate_content({**SLICE, "ports": ports[:-1]}, None), [])

    def test_deprecated(self) -> None:
        """The old version is warned of, the new one not."""
        old = self.send("POST", OLD_SLICES, OLD_SLICE).headers.get("warning", "")
        self.assertIn("EndpointSlice is deprecated in v1.21+, unavailable in v1.25+", old)
        new = self.send("POST", SLICES, changed(SLICE, {"metadata.name": "b"})).headers
        self.assertNotIn("warning", new)

    def test_topology(self) -> None:
        """Topology written by v1beta1 stays with its endpoints; later only the node's name is left."""
        topology = {HOST: "node-1", ZONE: "z", "a": "b"}
        self.done("POST", OLD_SLICES, changed(OLD_SLICE, {f"{AT}.topology": topology}))
        live = self.done("GET", f"{SLICES}/web")
        self.assertEqual(value_at(live, f"{AT}.zone"), "z")
        kept = {HOST: "node-1", "a": "b"}
        self.assertEqual(value_at(live, f"{AT}.deprecatedTopology"), kept)
        live = self.done("PUT", f"{SLICES}/web", changed(live, {"ports[0].port": 81}))
        self.assertEqual(value_at(live, f"{AT}.deprecatedTopology"), kept)
        live = self.done("PUT", f"{SLICES}/web", changed(live, {f"{AT}.addresses": ["192.0.2.9"]}))
        self.assertEqual(value_at(live, f"{AT}.deprecatedTopology"), GONE)
        self.assertEqual(value_at(live, f"{AT}.nodeName"), "node-1")
        old = self.done("GET", f"{OLD_SLICES}/web")
        self.assertEqual(value_at(old, f"{AT}.topology"), {HOST: "node-1", ZONE: "z"})

    def test_unknown_host(self) -> None:
        """A host name that was not stored before names no node."""
        made = self.done("POST", SLICES, SLICE)
        change: dict[str, Any] = {f"{AT}.deprecatedTopology": {HOST: "node-1"}}
        live = self.done("PUT", f"{SLICES}/web", changed(made, change))
        self.assertEqual(value_at(live, f"{AT}.nodeName"), GONE)
