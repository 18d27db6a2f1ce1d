"""Services and Endpoints (reference KIND-19, KIND-27, KIND-50)."""
# covers: orchtw.registry.groups.core.service_validation, orchtw.registry.groups.core.services

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import Cause
from orchtw.naming.naming import Naming
from orchtw.registry.groups.core.service_validation import validate_service
from orchtw.wire.objects import Object
from tests.validation import case
from tests.validation.examples import GONE, Accepted, Base, Refused, Shown, Stored
from tests.validation.services import (
    BALANCED,
    ENDPOINTS,
    EXTERNAL,
    HEADLESS,
    LOCAL,
    NOBODYS,
    NODES,
    OTHER_PORT,
    PORT,
    RANGES,
    SERVICE,
    SERVICES,
    SUBSETS,
    TWO,
    WHEN_CLIENT,
    PickingCase,
)

HERE = f"{__name__}."
WRITES = "tests.validation.test_service_addresses."


class ServiceTests(PickingCase, case.EntryCase):
    """On a server with a range of each IP family."""

    file = "service.json"
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
        74: Shown(f"{WRITES}SingleStackTests.test_refused"),
        75: Shown(f"{WRITES}SingleStackTests.test_refused"),
        76: Shown(f"{WRITES}SingleStackTests.test_refused"),
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
            Shown(f"{WRITES}SingleStackTests.test_headless"),
        ],
        84: [
            Refused(change={"spec.clusterIP": "10.0.0.1"}, field="spec.clusterIPs"),
            Refused(
                change={"spec.clusterIP": "10.0.255.255"},
                field="spec.clusterIPs",
                detail="not in the valid range. The range of valid IPs is 10.0.0.0/16",
            ),
        ],
        85: Shown(f"{WRITES}SmallRangeTests.test_addresses"),
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
        92: Shown(f"{WRITES}AddressTests.test_second_address"),
        93: [
            Refused(
                change={**NODES, "spec.ports[0].nodePort": 29999},
                detail="provided port is not in the valid range. The range of valid ports is 30000-32767",
            ),
            Shown(f"{WRITES}AddressTests.test_taken_port"),
        ],
        94: Shown(f"{WRITES}AddressTests.test_shared_port"),
        95: Shown(f"{WRITES}SmallRangeTests.test_ports"),
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
        99: Shown(f"{WRITES}OldServiceTests.test_completed"),
        100: Stored(before=NODES, change={"spec.type": "ClusterIP"}, expected={"spec.ports[0].nodePort": GONE}),
        101: Shown(f"{WRITES}AddressTests.test_released_ports"),
        102: Shown(f"{WRITES}AddressTests.test_health_check_port"),
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
        107: Shown(f"{WRITES}AddressTests.test_delete"),
        108: Shown(f"{WRITES}AddressTests.test_dry_run"),
        109: Stored(
            change={"status.loadBalancer.ingress": [{"ip": "192.0.2.1"}]}, expected={"status.loadBalancer": {}}
        ),
        110: Stored(
            change={"status.loadBalancer.ingress": [{"ip": "192.0.2.1"}]}, expected={"status.loadBalancer": {}}
        ),
        111: Shown(f"{WRITES}AddressTests.test_status_of_a_load_balancer"),
        112: Stored(on="status", change={"spec.ports[0].port": 99}, expected={"spec.ports[0].port": 80}),
        113: Stored(change={"spec.ports[0].port": 99}, expected={"metadata.generation": GONE}),
        114: Shown(f"{WRITES}AddressTests.test_create_by_update"),
        115: Shown(f"{WRITES}OldServiceTests.test_completed"),
        116: Shown(f"{WRITES}AddressTests.test_no_warnings"),
        117: Shown(f"{WRITES}AddressTests.test_no_warnings"),
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
        132: Shown(f"{WRITES}AddressTests.test_create_by_update"),
        133: Accepted(on="update", change={"subsets[0].addresses[0].ip": "198.51.100.1"}),
    }


def causes(new: Object, old: Object | None = None) -> list[Cause]:
    """Return the causes for the spec of a Service."""
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
        """Fields with defaults are required."""
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
