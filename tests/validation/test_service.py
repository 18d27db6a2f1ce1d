"""Services and Endpoints (reference KIND-19, KIND-27, KIND-50)."""

from __future__ import annotations

from functools import partial
from random import Random
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.assembly import writes
from orchtw.errors import Cause
from orchtw.naming import Naming
from orchtw.objects import Object
from orchtw.registry.groups.core.service_validation import validate_service
from orchtw.storage.interface import Op
from tests.validation import case
from tests.validation.examples import GONE, Accepted, Base, Refused, Shown, Stored
from tests.validation.paths import changed, value_at
from tests.verbs.served import DEFAULT, ServedCase

SERVICES = f"{DEFAULT}/services"
ENDPOINTS = f"{DEFAULT}/endpoints"
PORT = {"port": 80, "protocol": "TCP"}
OTHER_PORT = {"name": "b", "port": 81}
SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "web"},
    "spec": {"selector": {"app": "web"}, "ports": [{"name": "a", **PORT}]},
}
SUBSETS = [{"addresses": [{"ip": "192.0.2.1"}], "ports": [{"name": "a", "port": 80}]}]
EXTERNAL = {"spec.type": "ExternalName", "spec.externalName": "example.com", "spec.selector": GONE}
BALANCED = {"spec.type": "LoadBalancer"}
LOCAL = {**BALANCED, "spec.externalTrafficPolicy": "Local"}
NODES = {"spec.type": "NodePort"}
HEADLESS = {"spec.clusterIP": "None"}
TWO = {"spec.ipFamilyPolicy": "RequireDualStack"}
NOBODYS = {"spec.clusterIP": "10.0.0.200"}
RANGES = "metadata.annotations[service.beta.orch.io/load-balancer-source-ranges]"
WHEN_CLIENT = "when session affinity type is ClientIP"
HERE = f"{__name__}."


class PickingCase(ServedCase):
    """A server that picks the same addresses and ports in every run, and few of those that tests ask for."""

    def setUp(self) -> None:
        self.patch(writes, "SystemRandom", partial(Random, 24))
        super().setUp()


class ServiceTests(PickingCase, case.EntryCase):
    """On a server with a range of each IP family."""

    file = "service.json"
    more = {"service_cluster_ip_range": ("10.0.0.0/16", "fd00::/112")}
    bases = {
        "Service": Base(path=SERVICES, obj=SERVICE),
        "Endpoints": Base(
            path=ENDPOINTS,
            obj={"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "ep"}, "subsets": SUBSETS},
        ),
    }
    examples = {
        0: [
            Refused(change={"spec.ports": GONE}),
            Accepted(change={"spec.ports": GONE, **HEADLESS}),
            Accepted(change={"spec.ports": GONE, **EXTERNAL}),
        ],
        1: Refused(change={"spec.ports[1]": {"port": 81}}, accepts={"spec.ports[1]": OTHER_PORT}),
        2: Refused(change={"spec.ports[0].name": "A_"}, accepts={"spec.ports[0].name": GONE}),
        3: Refused(change={"spec.ports[1]": {"name": "a", "port": 81}}, field="spec.ports[1].name"),
        4: [
            Refused(change={"spec.ports[0].port": 65536}, accepts={"spec.ports[0].port": 65535}),
            Refused(change={"spec.ports[0].port": GONE}),
        ],
        5: Stored(change={"spec.ports[0].protocol": GONE}, expected={"spec.ports[0].protocol": "TCP"}),
        6: Refused(change={"spec.ports[0].protocol": "ICMP"}, accepts={"spec.ports[0].protocol": "SCTP"}),
        7: [
            Refused(change={"spec.ports[0].targetPort": 65536}, accepts={"spec.ports[0].targetPort": 8080}),
            Refused(change={"spec.ports[0].targetPort": "-x"}, accepts={"spec.ports[0].targetPort": "http"}),
        ],
        8: Refused(change={"spec.ports[0].appProtocol": "a b"}, accepts={"spec.ports[0].appProtocol": "a.io/b"}),
        9: Refused(change={"spec.ports[0].nodePort": 30100}, accepts={"spec.ports[0].nodePort": 30100, **NODES}),
        10: Refused(
            before=NODES,
            change={"spec.ports[0].nodePort": 30101, "spec.ports[1]": {**OTHER_PORT, "nodePort": 30101}},
            on="update",
            field="spec.ports[1].nodePort",
            accepts=NODES,
        ),
        11: Refused(change={"spec.ports[1]": {"name": "b", **PORT}}, field="spec.ports[1]"),
        12: Refused(
            change={**BALANCED, "spec.ports[0].port": 10250},
            field="spec.ports[0]",
            accepts={"spec.ports[0].port": 10250},
        ),
        13: Refused(change={**BALANCED, **HEADLESS}, accepts=HEADLESS),
        14: Refused(change={**NODES, **HEADLESS}, accepts=HEADLESS),
        15: Refused(change={**EXTERNAL, **NOBODYS, "spec.clusterIPs": ["10.0.0.200"]}, accepts=EXTERNAL),
        16: Refused(change={**EXTERNAL, "spec.ipFamilies": ["IPv4"]}, accepts=EXTERNAL),
        17: Refused(change={**EXTERNAL, "spec.ipFamilyPolicy": "SingleStack"}, accepts=EXTERNAL),
        18: Refused(change={**EXTERNAL, "spec.externalName": GONE}, accepts=EXTERNAL),
        19: Refused(
            change={**EXTERNAL, "spec.externalName": "a..b"},
            accepts={**EXTERNAL, "spec.externalName": "example.com."},
        ),
        20: [Refused(change={"spec.selector": {"-": "a"}}), Refused(change={"spec.selector": {"a": "-"}})],
        21: Stored(expected={"spec.sessionAffinity": "None"}),
        22: Refused(change={"spec.sessionAffinity": "IP"}, accepts={"spec.sessionAffinity": "ClientIP"}),
        23: [
            Stored(
                change={"spec.sessionAffinity": "ClientIP"},
                expected={"spec.sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 10800}}},
            ),
            Shown(f"{HERE}RuleTests.test_affinity"),
        ],
        24: Shown(f"{HERE}RuleTests.test_affinity"),
        25: Shown(f"{HERE}RuleTests.test_affinity"),
        26: Refused(
            before={"spec.sessionAffinity": "ClientIP"},
            change={"spec.sessionAffinityConfig.clientIP.timeoutSeconds": 86401},
            accepts={"spec.sessionAffinityConfig.clientIP.timeoutSeconds": 86400},
        ),
        27: Shown(f"{HERE}RuleTests.test_affinity"),
        28: Stored(expected={"spec.type": "ClusterIP"}),
        29: Refused(change={"spec.type": "Other"}, accepts=NODES),
        30: Refused(change={"spec.externalIPs": ["192.0.2.256"]}, accepts={"spec.externalIPs": ["192.0.2.255"]}),
        31: [
            Refused(change={"spec.externalIPs": [address]}, detail=why)
            for address, why in (
                ("0.0.0.0", "unspecified"),
                ("127.0.0.1", "loopback range"),
                ("169.254.0.1", "link-local range"),
                ("ff02::1", "link-local multicast range"),
            )
        ],
        32: Refused(
            change={"spec.loadBalancerSourceRanges": ["192.0.2.0/24"]},
            accepts={**BALANCED, "spec.loadBalancerSourceRanges": ["192.0.2.0/24"]},
        ),
        33: Refused(
            before=BALANCED,
            change={"spec.loadBalancerSourceRanges": ["192.0.2.0"]},
            accepts={"spec.loadBalancerSourceRanges": [" 192.0.2.0/24 "]},
        ),
        34: [
            Refused(change={RANGES: "192.0.2.0/24"}, field=RANGES, detail="may only be used", accepts=BALANCED),
            Accepted(before=BALANCED, change={RANGES: "192.0.2.0/24,198.51.100.0/24"}),
            Accepted(before=BALANCED, change={RANGES: "no", "spec.loadBalancerSourceRanges": ["192.0.2.0/24"]}),
        ],
        35: Refused(
            change={"spec.allocateLoadBalancerNodePorts": False},
            accepts={**BALANCED, "spec.allocateLoadBalancerNodePorts": False},
        ),
        36: [
            Stored(change=BALANCED, expected={"spec.allocateLoadBalancerNodePorts": True}),
            Shown(f"{HERE}RuleTests.test_required"),
        ],
        37: Refused(
            change={"spec.loadBalancerClass": "a.io/b"}, accepts={**BALANCED, "spec.loadBalancerClass": "a.io/b"}
        ),
        38: Refused(before=BALANCED, change={"spec.loadBalancerClass": "a b"}),
        39: [
            Refused(before=BALANCED, change={"spec.loadBalancerClass": "a.io/b"}),
            Refused(before={**BALANCED, "spec.loadBalancerClass": "a.io/b"}, change={"spec.loadBalancerClass": GONE}),
            Accepted(change={**BALANCED, "spec.loadBalancerClass": "a.io/b"}),
        ],
        40: Refused(before=NODES, change={"spec.externalTrafficPolicy": "Any"}),
        41: Refused(
            change={"spec.externalTrafficPolicy": "Local"}, accepts={**NODES, "spec.externalTrafficPolicy": "Local"}
        ),
        42: Refused(change={"spec.healthCheckNodePort": -1}),
        43: Refused(
            change={"spec.healthCheckNodePort": 30102}, accepts={**LOCAL, "spec.healthCheckNodePort": 30102}
        ),
        44: Refused(before=LOCAL, change={"spec.healthCheckNodePort": 30103}),
        45: [
            Stored(expected={"spec.internalTrafficPolicy": "Cluster"}),
            Shown(f"{HERE}RuleTests.test_required"),
        ],
        46: Refused(change={"spec.internalTrafficPolicy": "Any"}, accepts={"spec.internalTrafficPolicy": "Local"}),
        47: Refused(on="update", change={**NOBODYS, "spec.clusterIPs": []}, accepts={"spec.clusterIPs": GONE}),
        48: Refused(change={"spec.clusterIP": "10.0.0.90", "spec.clusterIPs": ["10.0.0.91"]}),
        49: Refused(change={"spec.clusterIPs": ["10.0.0.90"]}),
        50: Refused(change={"spec.ipFamilies": ["IPv5"]}, accepts={"spec.ipFamilies": ["IPv6"]}),
        51: Refused(change={"spec.ipFamilies": ["IPv4", "IPv4"]}, accepts={"spec.ipFamilies": ["IPv6", "IPv4"]}),
        52: Refused(change={"spec.ipFamilyPolicy": "Any"}, accepts={"spec.ipFamilyPolicy": "PreferDualStack"}),
        53: Refused(change={**HEADLESS, "spec.clusterIPs": ["None", "10.0.0.9"]}, accepts=HEADLESS),
        54: Refused(change={"spec.clusterIP": "10.0.0.256"}, field="spec.clusterIPs[0]"),
        55: Refused(change={"spec.clusterIP": "10.0.0.2", "spec.clusterIPs": ["10.0.0.2", "fd00::2", "fd00::3"]}),
        56: Refused(
            change={"spec.clusterIP": "10.0.0.92", "spec.clusterIPs": ["10.0.0.92", "10.0.0.93"]},
            accepts={"spec.clusterIP": "10.0.0.92", "spec.clusterIPs": ["10.0.0.92", "fd00::92"]},
        ),
        57: Refused(
            change={"spec.ipFamilies": ["IPv4"], "spec.clusterIP": "fd00::5", "spec.clusterIPs": ["fd00::5"]}
        ),
        58: Accepted(change={**BALANCED, "spec.ports[1]": {"name": "b", "port": 80, "protocol": "UDP"}}),
        59: Stored(change={"spec.topologyKeys": ["a"]}, expected={"spec.topologyKeys": GONE}),
        60: [
            Refused(change={"spec.clusterIP": "10.0.0.95", "spec.clusterIPs": ["10.0.0.95"]}),
            Refused(change={"spec.clusterIP": "None", "spec.clusterIPs": ["None"]}),
        ],
        61: Shown(f"{HERE}RuleTests.test_removed_values"),
        62: Shown(f"{HERE}RuleTests.test_removed_values"),
        63: Shown(f"{HERE}RuleTests.test_removed_values"),
        64: Shown(f"{HERE}RuleTests.test_removed_values"),
        65: Shown(f"{HERE}RuleTests.test_removed_values"),
        66: Accepted(
            on="update",
            change={
                **NODES,
                "spec.ports": [{"name": "z", "port": 9}],
                "spec.selector": {"b": "c"},
                "spec.externalIPs": ["192.0.2.1"],
                "spec.publishNotReadyAddresses": True,
            },
        ),
        67: Refused(change={"metadata.name": "1-web"}),
        68: Refused(
            change={"status.loadBalancer.ingress": [{"ip": "no"}]},
            accepts={"status.loadBalancer.ingress": [{"ip": "192.0.2.1"}]},
        ),
        69: Refused(
            change={"status.loadBalancer.ingress": [{"hostname": "A"}]},
            accepts={"status.loadBalancer.ingress": [{"hostname": "a.example"}]},
        ),
        70: Refused(change={"status.loadBalancer.ingress": [{"hostname": "192.0.2.1"}]}),
        71: Accepted(change={"status.conditions": [{"type": "-", "status": "?", "reason": "", "message": ""}]}),
        72: Refused(
            change={
                "spec.ipFamilyPolicy": "SingleStack",
                "spec.clusterIP": "10.0.0.96",
                "spec.clusterIPs": ["10.0.0.96", "fd00::96"],
            }
        ),
        73: Refused(change={"spec.ipFamilyPolicy": "SingleStack", "spec.ipFamilies": ["IPv4", "IPv6"]}),
        74: Shown(f"{HERE}SingleStackTests.test_refused"),
        75: Shown(f"{HERE}SingleStackTests.test_refused"),
        76: Shown(f"{HERE}SingleStackTests.test_refused"),
        77: [
            Refused(before=TWO, change={"spec.clusterIPs[1]": GONE, "spec.ipFamilyPolicy": "PreferDualStack"}),
            Refused(
                before=TWO,
                change={"spec.ipFamilies": ["IPv4"], "spec.ipFamilyPolicy": "PreferDualStack"},
                detail="must be 'SingleStack' to release the secondary IP family",
            ),
        ],
        78: [
            Stored(expected={"spec.ipFamilyPolicy": "SingleStack", "spec.ipFamilies": ["IPv4"]}),
            Stored(
                change={**HEADLESS, "spec.selector": GONE}, expected={"spec.ipFamilyPolicy": "RequireDualStack"}
            ),
            Stored(change=HEADLESS, expected={"spec.ipFamilyPolicy": "SingleStack"}),
        ],
        79: Stored(
            before={"spec.ipFamilyPolicy": "PreferDualStack"},
            on="update",
            change={"spec.ipFamilyPolicy": GONE, "spec.ipFamilies": GONE, "spec.clusterIPs": GONE},
            expected={"spec.ipFamilyPolicy": "PreferDualStack", "spec.ipFamilies": ["IPv4", "IPv6"]},
        ),
        80: Stored(
            change={"spec.ipFamilies": ["IPv6", "IPv4"]}, expected={"spec.ipFamilyPolicy": "RequireDualStack"}
        ),
        81: Stored(change={"spec.clusterIP": "fd00::97"}, expected={"spec.ipFamilies": ["IPv6"]}),
        82: [
            Stored(expected={"spec.ipFamilies": ["IPv4"]}),
            Stored(
                change={"spec.ipFamilyPolicy": "PreferDualStack"}, expected={"spec.ipFamilies": ["IPv4", "IPv6"]}
            ),
        ],
        83: [
            Stored(change={**HEADLESS, "spec.selector": GONE}, expected={"spec.ipFamilies": ["IPv4", "IPv6"]}),
            Shown(f"{HERE}SingleStackTests.test_headless"),
        ],
        84: [
            Refused(change={"spec.clusterIP": "10.0.0.1"}, field="spec.clusterIPs"),
            Refused(
                change={"spec.clusterIP": "10.0.255.255"},
                field="spec.clusterIPs",
                detail="not in the valid range. The range of valid IPs is 10.0.0.0/16",
            ),
        ],
        85: Shown(f"{HERE}SmallRangeTests.test_addresses"),
        86: [
            Stored(change=EXTERNAL, expected={"spec.clusterIP": GONE, "spec.clusterIPs": GONE}),
            Stored(change=HEADLESS, expected={"spec.clusterIP": "None", "spec.clusterIPs": ["None"]}),
        ],
        87: Stored(change={"spec.clusterIP": "10.0.0.98"}, expected={"spec.clusterIPs": ["10.0.0.98"]}),
        88: [
            Stored(
                before={"spec.clusterIP": "10.0.0.99"},
                change={"spec.clusterIP": GONE, "spec.clusterIPs": GONE},
                expected={"spec.clusterIP": "10.0.0.99", "spec.clusterIPs": ["10.0.0.99"]},
            ),
            Stored(
                before={"spec.clusterIP": "10.0.0.100"},
                change={"spec.clusterIP": GONE},
                expected={"spec.clusterIP": "10.0.0.100"},
            ),
        ],
        89: Refused(change=NOBODYS, field="spec.clusterIPs[0]", detail="may not change once set"),
        90: Stored(
            change=EXTERNAL,
            expected={
                f"spec.{key}": GONE for key in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")
            },
        ),
        91: Stored(
            before={"spec.type": "ExternalName", "spec.externalName": "example.com"},
            change={"spec.type": "ClusterIP", "spec.clusterIP": "10.0.0.101", "spec.externalName": GONE},
            expected={"spec.clusterIPs": ["10.0.0.101"], "spec.ipFamilies": ["IPv4"]},
        ),
        92: Shown(f"{HERE}AddressTests.test_second_address"),
        93: [
            Refused(
                change={**NODES, "spec.ports[0].nodePort": 29999},
                detail="provided port is not in the valid range. The range of valid ports is 30000-32767",
            ),
            Shown(f"{HERE}AddressTests.test_taken_port"),
        ],
        94: Shown(f"{HERE}AddressTests.test_shared_port"),
        95: Shown(f"{HERE}SmallRangeTests.test_ports"),
        96: Stored(
            change={
                **BALANCED,
                "spec.allocateLoadBalancerNodePorts": False,
                "spec.ports[1]": {**OTHER_PORT, "nodePort": 30111},
            },
            expected={"spec.ports[0].nodePort": GONE, "spec.ports[1].nodePort": 30111},
        ),
        97: [
            Stored(
                before={**NODES, "spec.ports[0].nodePort": 30112},
                change={"spec.ports[0].nodePort": GONE, "spec.ports[0].port": 99},
                expected={"spec.ports[0].nodePort": 30112},
            ),
            Stored(
                before={**NODES, "spec.ports[0].nodePort": 30113},
                change={"spec.ports": [{"name": "c", "port": 70, "nodePort": 30113}, {"name": "a", "port": 80}]},
                expected={"spec.ports[0].nodePort": 30113},
            ),
        ],
        98: Stored(
            before={**LOCAL, "spec.healthCheckNodePort": 30114},
            change={"spec.healthCheckNodePort": GONE},
            expected={"spec.healthCheckNodePort": 30114},
        ),
        99: Shown(f"{HERE}OldServiceTests.test_completed"),
        100: Stored(before=NODES, change={"spec.type": "ClusterIP"}, expected={"spec.ports[0].nodePort": GONE}),
        101: Shown(f"{HERE}AddressTests.test_released_ports"),
        102: Shown(f"{HERE}AddressTests.test_health_check_port"),
        103: Stored(
            before=LOCAL,
            change={"spec.externalTrafficPolicy": "Cluster"},
            expected={"spec.healthCheckNodePort": GONE},
        ),
        104: Stored(
            before=LOCAL, change={"spec.type": "ClusterIP"}, expected={"spec.externalTrafficPolicy": GONE}
        ),
        105: Stored(before=BALANCED, change=NODES, expected={"spec.allocateLoadBalancerNodePorts": GONE}),
        106: Stored(
            before={**BALANCED, "spec.loadBalancerClass": "a.io/b"},
            change=NODES,
            expected={"spec.loadBalancerClass": GONE},
        ),
        107: Shown(f"{HERE}AddressTests.test_delete"),
        108: Shown(f"{HERE}AddressTests.test_dry_run"),
        109: Stored(
            change={"status.loadBalancer.ingress": [{"ip": "192.0.2.1"}]}, expected={"status.loadBalancer": {}}
        ),
        110: Stored(
            change={"status.loadBalancer.ingress": [{"ip": "192.0.2.1"}]}, expected={"status.loadBalancer": {}}
        ),
        111: Shown(f"{HERE}AddressTests.test_status_of_a_load_balancer"),
        112: Stored(on="status", change={"spec.ports[0].port": 99}, expected={"spec.ports[0].port": 80}),
        113: Stored(change={"spec.ports[0].port": 99}, expected={"metadata.generation": GONE}),
        114: Shown(f"{HERE}AddressTests.test_create_by_update"),
        115: Shown(f"{HERE}OldServiceTests.test_completed"),
        116: Shown(f"{HERE}AddressTests.test_no_warnings"),
        117: Shown(f"{HERE}AddressTests.test_no_warnings"),
        118: Refused(
            change={"subsets[0].addresses": GONE},
            accepts={"subsets[0].addresses": GONE, "subsets[0].notReadyAddresses": [{"ip": "192.0.2.1"}]},
        ),
        119: Refused(change={"subsets[0].addresses[0].ip": "no"}),
        120: Refused(change={"subsets[0].addresses[0].ip": "127.0.0.1"}, detail="loopback range"),
        121: Refused(
            change={"subsets[0].addresses[0].hostname": "a.b"}, accepts={"subsets[0].addresses[0].hostname": "a"}
        ),
        122: Refused(
            change={"subsets[0].addresses[0].nodeName": "A"}, accepts={"subsets[0].addresses[0].nodeName": "a.b"}
        ),
        123: Refused(
            change={"subsets[0].notReadyAddresses": [{"ip": "no"}]}, field="subsets[0].notReadyAddresses[0].ip"
        ),
        124: Refused(
            change={"subsets[0].ports[1]": {"port": 81}}, accepts={"subsets[0].ports[1]": {"name": "b", "port": 81}}
        ),
        125: Refused(change={"subsets[0].ports[0].name": "A"}, accepts={"subsets[0].ports[0].name": GONE}),
        126: Refused(change={"subsets[0].ports[0].port": 0}, accepts={"subsets[0].ports[0].port": 65535}),
        127: Stored(expected={"subsets[0].ports[0].protocol": "TCP"}),
        128: Refused(change={"subsets[0].ports[0].protocol": "X"}, accepts={"subsets[0].ports[0].protocol": "UDP"}),
        129: Refused(
            change={"subsets[0].ports[0].appProtocol": "a b"}, accepts={"subsets[0].ports[0].appProtocol": "a"}
        ),
        130: Stored(
            change={"subsets[0].addresses": [{"ip": "192.0.2.9"}, {"ip": "192.0.2.3"}, {"ip": "192.0.2.9"}]},
            expected={"subsets[0].addresses": [{"ip": "192.0.2.9"}, {"ip": "192.0.2.3"}, {"ip": "192.0.2.9"}]},
        ),
        131: Stored(change={"subsets": GONE}, expected={"metadata.generation": GONE}),
        132: Shown(f"{HERE}AddressTests.test_create_by_update"),
        133: Accepted(on="update", change={"subsets[0].addresses[0].ip": "198.51.100.1"}),
    }


def causes(new: Object, old: Object | None = None) -> list[Cause]:
    """What is wrong with the spec of a Service."""
    service = {"metadata": {}, "spec": new}
    return validate_service(service, None if old is None else {"metadata": {}, "spec": old}, Naming.orch())


class RuleTests(SynchronousTestCase):
    """Rules that defaults and allocation keep requests from breaking; what was stored before may."""

    spec = {
        "type": "ClusterIP",
        "clusterIP": "10.0.0.9",
        "clusterIPs": ["10.0.0.9"],
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack",
        "internalTrafficPolicy": "Cluster",
        "sessionAffinity": "None",
        "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
    }
    two = {**spec, "clusterIPs": ["10.0.0.9", "fd00::9"], "ipFamilies": ["IPv4", "IPv6"]}

    def check(self, field: str, message: str, new: Object, old: Object | None = None) -> None:
        found = [(each.field, each.message) for each in causes(new, old)]
        self.assertTrue(any(each == field and message in text for each, text in found), found)

    def test_valid(self) -> None:
        """Both specs are fine, on create and on update; from one to the other by the policy."""
        for spec in (self.spec, self.two):
            self.assertEqual(causes(spec), [])
            self.assertEqual(causes(spec, spec), [])
        self.assertEqual(causes(self.two, self.spec), [])
        self.assertEqual(causes(self.spec, self.two), [])

    def test_affinity(self) -> None:
        """Affinity by client needs its settings, and none forbids them."""
        at, client = "spec.sessionAffinityConfig", {**self.spec, "sessionAffinity": "ClientIP"}
        self.check(at, f"Required value: {WHEN_CLIENT}", client)
        self.check(f"{at}.clientIP", WHEN_CLIENT, {**client, "sessionAffinityConfig": {}})
        without = {**client, "sessionAffinityConfig": {"clientIP": {}}}
        self.check(f"{at}.clientIP.timeoutSeconds", WHEN_CLIENT, without)
        self.check(at, "Forbidden: must not be set when session affinity is None", {**self.spec, at[5:]: {}})

    def test_required(self) -> None:
        """What is defaulted is required."""
        self.check("allocateLoadBalancerNodePorts", "Required value", {**self.spec, "type": "LoadBalancer"})
        inside = {key: value for key, value in self.spec.items() if key != "internalTrafficPolicy"}
        self.check("spec.internalTrafficPolicy", "Required value", inside)

    def test_removed_values(self) -> None:
        """Addresses and families stay, but for the second of them under SingleStack."""
        bare = {**self.spec, "clusterIP": "", "clusterIPs": [], "ipFamilies": []}
        preferring = {**self.spec, "ipFamilyPolicy": "PreferDualStack"}
        self.check("spec.clusterIPs[0]", "primary clusterIP can not be unset", bare, self.spec)
        self.check("spec.ipFamilies[0]", "primary ipFamily can not be unset", bare, self.spec)
        text = "`ipFamilyPolicy` must be set to 'SingleStack' when releasing the secondary "
        self.check("spec.clusterIPs[0]", f"{text}clusterIP", preferring, self.two)
        self.check("spec.clusterIPs[0]", f"{text}ipFamily", preferring, self.two)
        other = {**self.spec, "ipFamilies": ["IPv6"]}
        self.check("spec.ipFamilies[0]", "may not change once set", other, self.spec)
        longer = {**self.two, "clusterIP": "10.0.0.8", "clusterIPs": ["10.0.0.8", "fd00::9"]}
        self.check("spec.clusterIPs[0]", "may not change once set", longer, self.spec)

    def test_odd_values(self) -> None:
        """Whatever is missing or strange is a cause at most, never an error of ours."""
        for spec in ({}, {"type": "?", "ports": [{}], "clusterIPs": [""], "ipFamilies": [""]}):
            self.assertTrue(causes(spec))
            self.assertTrue(causes(spec, spec))


class AddressCase(PickingCase):
    """Makes services, and looks at what they have."""

    more = ServiceTests.more

    def service(self, name: str, **changes: Any) -> Object:
        """A new service; keys are paths below spec with double underscores for dots."""
        return self.done("POST", SERVICES, self.wanted(name, **changes))

    @staticmethod
    def wanted(name: str, **changes: Any) -> Object:
        """What is sent to make it."""
        paths = {f"spec.{key.replace('__', '.')}": value for key, value in changes.items()}
        return changed(SERVICE, {"metadata.name": name, **paths})

    def refused(self, code: int, text: str, service: Object) -> None:
        """A service that is not made."""
        answer = self.send("POST", SERVICES, service)
        self.assertEqual(answer.code, code, answer.body)
        self.assertIn(text, answer.json["message"])


class AddressTests(AddressCase):
    """What services take, keep and give back."""

    def test_second_address(self) -> None:
        """A second family brings an address, and gives it back when it goes."""
        made = self.service("a")
        two = self.done("PUT", f"{SERVICES}/a", changed(made, {"spec.ipFamilyPolicy": "RequireDualStack"}))
        second = value_at(two, "spec.clusterIPs[1]")
        self.assertTrue(second.startswith("fd00::"))
        self.assertEqual(two["spec"]["ipFamilies"], ["IPv4", "IPv6"])
        self.refused(422, "provided IP is already allocated", self.wanted("b", clusterIP=second))
        one = self.done("PUT", f"{SERVICES}/a", changed(two, {"spec.ipFamilyPolicy": "SingleStack"}))
        self.assertEqual(one["spec"]["clusterIPs"], made["spec"]["clusterIPs"])
        self.assertEqual(self.service("b", clusterIP=second)["spec"]["clusterIP"], second)

    def test_second_address_that_is_asked_for(self) -> None:
        """A certain one can be added, or the second family by its name."""
        made = self.service("a")
        ips = [*made["spec"]["clusterIPs"], "fd00::77"]
        change = {"spec.ipFamilyPolicy": "PreferDualStack", "spec.clusterIPs": ips}
        self.assertEqual(self.done("PUT", f"{SERVICES}/a", changed(made, change))["spec"]["clusterIPs"], ips)

    def test_taken_port(self) -> None:
        """A port that somebody has is refused; one that is far off is never taken."""
        self.service("a", type="NodePort", ports=[{"port": 80, "nodePort": 30200}])
        other = self.wanted("b", type="LoadBalancer", ports=[{"port": 80, "nodePort": 30200}])
        text = "spec.ports[0].nodePort: Invalid value: 30200: provided port is already allocated"
        self.refused(422, text, other)
        wrong = self.wanted("b", type="NodePort", ports=[{"port": 80, "nodePort": -1}])
        self.refused(422, "provided port is not in the valid range", wrong)

    def test_shared_port(self) -> None:
        """Ports of one number share a node port, whoever of them names it; others get their own."""
        ports = [
            {"name": "a", "port": 53},
            {"name": "b", "port": 53, "protocol": "UDP"},
            {"name": "c", "port": 54},
            {"name": "d", "port": 54, "protocol": "UDP", "nodePort": 30210},
        ]
        found = [port["nodePort"] for port in self.service("a", type="NodePort", ports=ports)["spec"]["ports"]]
        self.assertEqual((found[0], found[2:]), (found[1], [30210, 30210]))
        self.assertTrue(all(30000 <= each <= 32767 for each in found))

    def test_released_ports(self) -> None:
        """What a service no longer names, others can have."""
        made = self.service("a", type="NodePort", ports=[{"port": 80, "nodePort": 30220}])
        self.done("PUT", f"{SERVICES}/a", changed(made, {"spec.ports[0].nodePort": 30221}))
        made = self.service("b", type="NodePort", ports=[{"port": 80, "nodePort": 30220}])
        self.done("PATCH", f"{SERVICES}/b", {"spec": {"type": "ClusterIP"}}, {"content-type": MERGE})
        self.service("c", type="NodePort", ports=[{"port": 80, "nodePort": 30220}])

    def test_health_check_port(self) -> None:
        """It is one of the node ports, given or asked for."""
        local = {"type": "LoadBalancer", "externalTrafficPolicy": "Local"}
        first = self.service("a", **local)["spec"]["healthCheckNodePort"]
        self.assertTrue(30000 <= first <= 32767)
        text = f"failed to allocate requested HealthCheck NodePort {first}: provided port is already allocated"
        self.refused(500, text, self.wanted("b", **local, healthCheckNodePort=first))
        self.code("DELETE", f"{SERVICES}/a")
        self.assertEqual(self.service("b", **local, healthCheckNodePort=first)["spec"]["healthCheckNodePort"], first)

    def test_delete(self) -> None:
        """What a service had is free once it is gone, and its endpoints are gone too."""
        made = self.service("a", type="NodePort", **TWO_FAMILIES)
        self.done("POST", ENDPOINTS, {"metadata": {"name": "a"}, "subsets": SUBSETS})
        self.done("DELETE", f"{SERVICES}/a")
        self.clock.advance(0)
        self.assertEqual(self.code("GET", f"{ENDPOINTS}/a"), 404)
        spec = made["spec"]
        again = self.service("b", type="NodePort", clusterIP=spec["clusterIP"], clusterIPs=spec["clusterIPs"])
        self.assertEqual(again["spec"]["clusterIPs"], spec["clusterIPs"])

    def test_endpoints_that_are_held(self) -> None:
        """Endpoints with a finalizer outlive their service."""
        self.service("a")
        self.done("POST", ENDPOINTS, {"metadata": {"name": "a", "finalizers": ["a.io/b"]}, "subsets": SUBSETS})
        self.done("DELETE", f"{SERVICES}/a")
        self.clock.advance(0)
        self.assertEqual(self.code("GET", f"{ENDPOINTS}/a"), 200)

    def test_dry_run(self) -> None:
        """A dry run shows values and takes none; what it would not get is refused."""
        wanted = self.wanted("a", type="NodePort", clusterIP="10.0.0.77", ports=[{"port": 80, "nodePort": 30230}])
        shown = self.done("POST", f"{SERVICES}?dryRun=All", wanted)
        self.assertEqual(shown["spec"]["clusterIPs"], ["10.0.0.77"])
        made = self.done("POST", SERVICES, changed(wanted, {"metadata.name": "b"}))
        answer = self.send("POST", f"{SERVICES}?dryRun=All", wanted)
        self.assertIn("provided IP is already allocated", answer.json["message"])
        self.done("DELETE", f"{SERVICES}/b?dryRun=All")
        change = changed(made, {"spec.type": "ClusterIP"})
        self.done("PUT", f"{SERVICES}/b?dryRun=All", change)
        self.refused(422, "already allocated", wanted)
        free = self.done("POST", f"{SERVICES}?dryRun=All", self.wanted("c", type="NodePort"))
        self.assertTrue(free["spec"]["clusterIP"].startswith("10.0."))

    def test_status_of_a_load_balancer(self) -> None:
        """It goes when the type is another; until then it stays."""
        made = self.service("a", type="LoadBalancer")
        status = {"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}}
        self.done("PATCH", f"{SERVICES}/a/status", status, {"content-type": MERGE})
        live = self.done("PUT", f"{SERVICES}/a", changed(made, {"spec.ports[0].port": 81, **UNVERSIONED}))
        self.assertEqual(live["status"], status["status"])
        live = self.done("PUT", f"{SERVICES}/a", changed(live, {"spec.type": "ClusterIP"}))
        self.assertEqual(live["status"], {"loadBalancer": {}})

    def test_create_by_update(self) -> None:
        """A PUT of a name that is not there creates the service, or the endpoints."""
        answer = self.send("PUT", f"{SERVICES}/new", self.wanted("new"))
        self.assertEqual(answer.code, 201)
        self.assertTrue(answer.json["spec"]["clusterIP"])
        endpoints = {"metadata": {"name": "new"}, "subsets": SUBSETS}
        self.assertEqual(self.code("PUT", f"{ENDPOINTS}/new", endpoints), 201)

    def test_no_warnings(self) -> None:
        """Fields that a later release warns of are written without a word."""
        hints = {"metadata.annotations[service.orch.io/topology-aware-hints]": "auto"}
        wanted = self.wanted("a", type="LoadBalancer", externalIPs=["192.0.2.01"], loadBalancerIP="192.0.2.1")
        self.assertNotIn("warning", self.send("POST", SERVICES, changed(wanted, hints)).headers)

    def test_patch_and_apply(self) -> None:
        """Patches and applied configurations that say nothing of them leave values as they are."""
        made = self.service("a", type="NodePort")
        patch = {"metadata": {"labels": {"a": "b"}}, "spec": {"ports": [{"port": 80, "name": "x"}]}}
        live = self.done("PATCH", f"{SERVICES}/a", patch, {"content-type": "application/strategic-merge-patch+json"})
        self.assertEqual(live["spec"]["ports"][0]["nodePort"], made["spec"]["ports"][0]["nodePort"])
        applied = {**self.wanted("a", type="NodePort"), "spec": {"type": "NodePort", "selector": {"z": "y"}}}
        path = f"{SERVICES}/a?fieldManager=me&force=true"
        live = self.done("PATCH", path, applied, {"content-type": "application/apply-patch+yaml"})
        self.assertEqual(live["spec"]["clusterIPs"], made["spec"]["clusterIPs"])
        owned = [each["fieldsV1"].get("f:spec", {}) for each in live["metadata"]["managedFields"]]
        self.assertFalse(any("f:clusterIP" in each for each in owned))


TWO_FAMILIES = {"ipFamilyPolicy": "RequireDualStack"}
MERGE = "application/merge-patch+json"
UNVERSIONED = {"metadata.resourceVersion": GONE}


class SingleStackTests(AddressCase):
    """A server with one range."""

    more: dict[str, Any] = {}

    def test_refused(self) -> None:
        """What needs the other family is refused."""
        two = self.wanted("a", **TWO_FAMILIES)
        text = 'spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack'
        self.refused(422, text, two)
        text = 'spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster'
        self.refused(422, text, self.wanted("a", ipFamilies=["IPv6"]))
        text = 'spec.clusterIPs[0]: Invalid value: []string{"fd00::1"}: IPv6 is not configured on this cluster'
        self.refused(422, text, self.wanted("a", clusterIP="fd00::1"))

    def test_preferred(self) -> None:
        """Who prefers two families gets the one that there is."""
        spec = self.service("a", ipFamilyPolicy="PreferDualStack")["spec"]
        self.assertEqual((spec["ipFamilies"], len(spec["clusterIPs"])), (["IPv4"], 1))

    def test_headless(self) -> None:
        """A headless service without selector has both families all the same, unless it wants one."""
        spec = self.service("a", clusterIP="None", selector=GONE)["spec"]
        self.assertEqual((spec["ipFamilies"], spec["ipFamilyPolicy"]), (["IPv4", "IPv6"], "RequireDualStack"))
        spec = self.service("b", clusterIP="None", selector=GONE, ipFamilyPolicy="SingleStack")["spec"]
        self.assertEqual(spec["ipFamilies"], ["IPv4"])


class SmallRangeTests(AddressCase):
    """Ranges that are soon full."""

    more = {"service_cluster_ip_range": ("10.0.0.0/29",), "service_node_port_range": "30000-30001"}

    def test_addresses(self) -> None:
        """Whoever comes too late is told so, and gets what somebody gives back."""
        found = {self.service(f"s{number}")["spec"]["clusterIP"] for number in range(5)}
        self.assertEqual(found, {f"10.0.0.{number}" for number in range(2, 7)})
        self.refused(500, "Internal error occurred: failed to allocate a serviceIP: range is full", self.wanted("a"))
        gone = self.done("DELETE", f"{SERVICES}/s3")["spec"]["clusterIP"]
        self.assertEqual(self.service("a")["spec"]["clusterIP"], gone)

    def test_ports(self) -> None:
        """A service that does not get all of its ports gets none, and no address."""
        ports = [{"name": "a", "port": 1}, {"name": "b", "port": 2}]
        self.service("a", type="NodePort")
        for _ in range(7):
            wanted = self.wanted("b", type="NodePort", ports=ports)
            self.refused(500, "Internal error occurred: failed to allocate a nodePort: range is full", wanted)
        self.service("b", type="NodePort")


class OldServiceTests(AddressCase):
    """Services that were stored before anything was given to them."""

    def put(self, name: str, **changes: Any) -> None:
        stored = self.server.instance.resources.targets.stored_target("", "v1", "services").stored
        obj = stored.codec.normalise(changed(self.wanted(name, **changes), {"metadata.namespace": "default"}))
        stored.codec.set_defaults(obj)
        value = stored.prepare(obj).value
        self.store.commit(Op(f"{stored.prefix}default/{name}", value, 0))
        self.clock.advance(0)

    def repaired(self, name: str) -> Object:
        """What has become of a service."""
        self.run_async(self.server.instance.resources.targets.repair_reservations())
        found: Object = self.done("GET", f"{SERVICES}/{name}")["spec"]
        return found

    def test_completed(self) -> None:
        """They get what they lack by what they have."""
        self.put("a", clusterIP="10.0.0.70")
        self.put("b", clusterIP="None")
        self.put("c", clusterIP="None", selector=GONE)
        self.put("d", type="NodePort")
        self.put("e", clusterIP="10.0.0.71", clusterIPs=["10.0.0.71", "fd00::71"])
        spec = self.repaired("a")
        self.assertEqual((spec["clusterIPs"], spec["ipFamilies"]), (["10.0.0.70"], ["IPv4"]))
        self.assertEqual(spec["ipFamilyPolicy"], "SingleStack")
        for name in "bc":
            spec = self.repaired(name)
            self.assertEqual((spec["ipFamilyPolicy"], spec["clusterIPs"]), ("PreferDualStack", ["None"]))
            self.assertEqual(spec["ipFamilies"], ["IPv4", "IPv6"])
        spec = self.repaired("d")
        self.assertTrue(spec["clusterIP"] and spec["ports"][0]["nodePort"])
        self.assertEqual(self.repaired("e")["ipFamilyPolicy"], "RequireDualStack")
        self.refused(422, "already allocated", self.wanted("f", clusterIP="10.0.0.70"))
