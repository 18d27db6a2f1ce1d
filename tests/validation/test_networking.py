"""Ingresses, their classes and network policies (reference KIND-29, KIND-34)."""
# covers: orchtw.registry.groups.networking.ingresses, orchtw.registry.groups.networking.network_policies

from __future__ import annotations

from orchtw.registry.groups.networking.ingress_classes import check_parameters
from orchtw.values.causes import required
from tests.registry.unchecked import without_rules
from tests.validation import case
from tests.validation.examples import GONE, Accepted, Base, Refused, Shown, Stored
from tests.validation.paths import changed

V1 = "networking.orch.io/v1"
NAMESPACE = f"/apis/{V1}/namespaces/default"
BACKEND = {"service": {"name": "s", "port": {"number": 80}}}
PATHS = "spec.rules[0].http.paths[0]"
INGRESS = {
    "apiVersion": V1,
    "kind": "Ingress",
    "metadata": {"name": "a"},
    "spec": {"rules": [{"http": {"paths": [{"pathType": "Prefix", "path": "/", "backend": BACKEND}]}}]},
}
INGRESS_CLASS = {
    "apiVersion": V1,
    "kind": "IngressClass",
    "metadata": {"name": "a"},
    "spec": {"controller": "ex.io/a", "parameters": {"kind": "K", "name": "n"}},
}
NETWORK_POLICY = {
    "apiVersion": V1,
    "kind": "NetworkPolicy",
    "metadata": {"name": "a"},
    "spec": {
        "podSelector": {},
        "ingress": [{"ports": [{"port": 80}], "from": [{"podSelector": {}}]}],
        "egress": [{"ports": [{"port": "http"}], "to": [{"namespaceSelector": {}}]}],
    },
}
FROM, TO = "spec.ingress[0].from[0]", "spec.egress[0].to[0]"
PORT = "spec.ingress[0].ports[0]"
TOO_LONG_DOMAIN = "*." + "a." * 130 + "a"
CONDITION = {
    "type": "Accepted",
    "status": "True",
    "reason": "R",
    "message": "m",
    "lastTransitionTime": "2026-01-02T03:04:05Z",
}
BAD_SELECTOR = {"matchLabels": {"a": "b c"}}


def block(cidr: str, *excepted: str) -> dict[str, object]:
    return {"ipBlock": {"cidr": cidr, **({"except": list(excepted)} if excepted else {})}}


class NetworkingTests(case.EntryCase):
    file = "networking.json"
    bases = {
        "Ingress": Base(path=f"{NAMESPACE}/ingresses", obj=INGRESS),
        "IngressClass": Base(path=f"/apis/{V1}/ingressclasses", obj=INGRESS_CLASS),
        "NetworkPolicy": Base(path=f"{NAMESPACE}/networkpolicies", obj=NETWORK_POLICY),
    }
    examples = {
        0: (
            Refused(change={"spec.rules": GONE}, accepts={"spec": {"defaultBackend": BACKEND}}),
            Refused(on="update", change={"spec.rules": []}),
        ),
        1: (
            Refused(change={"spec.defaultBackend": {}}, detail="resource or service backend is required"),
            Refused(
                change={"spec.defaultBackend": {"service": {"name": "A", "port": {"number": 1}}}},
                field="spec.defaultBackend.service.name",
                accepts={"spec.defaultBackend": {"resource": {"kind": "K", "name": "n"}}},
            ),
        ),
        2: Refused(change={"spec.rules[0].host": "10.0.0.01"}, accepts={"spec.rules[0].host": "a.b"}),
        3: Refused(change={"spec.rules[0].host": "a_b"}, accepts={"spec.rules[0].host": "a-b.c"}),
        4: (
            Refused(
                change={"spec.rules[0].host": "a.*.b"},
                accepts={"spec.rules[0].host": "*.a.b"},
                detail=r"must start with '\*\.'",
            ),
            Refused(change={"spec.rules[0].host": TOO_LONG_DOMAIN}, detail="no more than 253"),
        ),
        5: Refused(change={"spec.rules[0].http.paths": []}, accepts={"spec.rules[0].http": GONE}),
        6: (
            Refused(change={"spec.rules[0].host": "*.a.b", f"{PATHS}.path": "x"}, field=f"{PATHS}.path"),
            Shown(f"{__name__}.NetworkingTests.test_stored_flaws"),
        ),
        7: Refused(change={f"{PATHS}.pathType": GONE}),
        8: Refused(
            change={f"{PATHS}.pathType": "Regex"},
            accepts={f"{PATHS}.pathType": "Exact"},
            detail='supported values: "Exact", "ImplementationSpecific", "Prefix"',
        ),
        9: (
            Refused(change={f"{PATHS}.path": GONE}, accepts={f"{PATHS}.path": "/a"}),
            Refused(
                change={f"{PATHS}.path": "a", f"{PATHS}.pathType": "ImplementationSpecific"},
                accepts={f"{PATHS}.path": GONE, f"{PATHS}.pathType": "ImplementationSpecific"},
            ),
        ),
        10: (
            Refused(change={f"{PATHS}.path": "/a//b"}),
            Refused(
                change={f"{PATHS}.path": "/a/%2F"},
                detail="must not contain '%2F'",
                accepts={f"{PATHS}.path": "/a//b", f"{PATHS}.pathType": "ImplementationSpecific"},
            ),
        ),
        11: (
            Refused(change={f"{PATHS}.path": "/a/.."}),
            Refused(
                change={f"{PATHS}.path": "/a/."},
                detail="cannot end with '/.'",
                accepts={f"{PATHS}.path": "/a.."},
            ),
        ),
        12: Refused(change={f"{PATHS}.backend": {}}),
        13: Refused(change={f"{PATHS}.backend.resource": {"kind": "K", "name": "n"}}),
        14: Refused(change={f"{PATHS}.backend.service.name": ""}),
        15: Refused(change={f"{PATHS}.backend.service.name": "1a"}),
        16: Refused(change={f"{PATHS}.backend.service.port": {}}, field=f"{PATHS}.backend"),
        17: Refused(change={f"{PATHS}.backend.service.port.name": "a"}, field=f"{PATHS}.backend"),
        18: Refused(
            change={f"{PATHS}.backend.service.port": {"name": "-a"}},
            accepts={f"{PATHS}.backend.service.port": {"name": "a-1"}},
            detail="must not begin or end with a hyphen",
        ),
        19: (
            Refused(
                change={f"{PATHS}.backend.service.port.number": 65536},
                accepts={f"{PATHS}.backend.service.port.number": 65535},
                detail="must be between 1 and 65535, inclusive",
            ),
            Refused(change={f"{PATHS}.backend.service.port.number": -1}),
        ),
        20: Refused(
            change={f"{PATHS}.backend": {"resource": {"apiGroup": "A", "kind": "K", "name": "n"}}},
            accepts={f"{PATHS}.backend": {"resource": {"apiGroup": "a.b", "kind": "K", "name": "n"}}},
        ),
        21: (
            Refused(change={f"{PATHS}.backend": {"resource": {"kind": "", "name": "n"}}}),
            Accepted(change={f"{PATHS}.backend": {"resource": {"kind": "K", "name": "n"}}}),
        ),
        22: Refused(change={f"{PATHS}.backend": {"resource": {"kind": "K", "name": ""}}}),
        23: (
            Refused(change={"spec.tls": [{"hosts": ["a", "B"]}]}, field="spec.tls[0].hosts[1]"),
            Refused(change={"spec.tls": [{"hosts": ["*"]}]}, accepts={"spec.tls": [{"hosts": ["*.a"]}]}),
        ),
        24: (
            Refused(change={"spec.tls": [{"secretName": "A"}]}, accepts={"spec.tls": [{"secretName": "a"}]}),
            Shown(f"{__name__}.NetworkingTests.test_stored_flaws"),
        ),
        25: Refused(change={"spec.ingressClassName": "A"}, accepts={"spec.ingressClassName": "a.b"}),
        26: (
            Refused(
                change={"spec.ingressClassName": "a", "metadata.annotations": {"orch.io/ingress.class": "a"}},
                accepts={"metadata.annotations": {"orch.io/ingress.class": "a"}},
            ),
            Accepted(
                on="update",
                before={"spec.ingressClassName": "a"},
                change={"metadata.annotations": {"orch.io/ingress.class": "a"}},
            ),
        ),
        27: Accepted(change={"spec": {"defaultBackend": BACKEND}}),
        28: Refused(
            change={"status.loadBalancer.ingress": [{"ip": "a"}]},
            accepts={"status.loadBalancer.ingress": [{"ip": "::1"}]},
        ),
        29: Refused(
            change={"status.loadBalancer.ingress": [{"hostname": "1.2.3.4"}]},
            accepts={"status.loadBalancer.ingress": [{"hostname": "a.b"}]},
        ),
        30: Stored(
            change={"status.loadBalancer.ingress": [{"ip": "::1"}]}, expected={"status": {"loadBalancer": {}}}
        ),
        31: Stored(change={"metadata.generation": 5}, expected={"metadata.generation": 1}),
        32: (
            Stored(change={"spec.rules[0].host": "a.b"}, expected={"metadata.generation": 2}),
            Stored(change={"metadata.labels": {"a": "b"}}, expected={"metadata.generation": 1}),
        ),
        33: Stored(
            change={"status.loadBalancer.ingress": [{"ip": "::1"}]}, expected={"status": {"loadBalancer": {}}}
        ),
        34: Stored(change={"spec.rules[0].host": "a.b"}, expected={"spec.rules[0].host": GONE}),
        35: (
            Shown("tests.admission.plugins.test_default_ingress_class.DefaultIngressClassTests.test_default"),
            Shown("tests.admission.plugins.test_default_ingress_class.DefaultIngressClassTests.test_several"),
        ),
        36: Shown(f"{__name__}.NetworkingTests.test_class_annotation"),
        37: Refused(change={"spec.controller": ""}),
        38: Refused(change={"spec.controller": "a/" + "b" * 249}, accepts={"spec.controller": "a/" + "b" * 248}),
        39: (
            Refused(change={"spec.controller": "a.io"}),
            Refused(change={"spec.controller": "A/b"}, detail="RFC 1123 subdomain"),
            Refused(
                change={"spec.controller": "a/b c"}, detail="Invalid path", accepts={"spec.controller": "a/b/~c"}
            ),
        ),
        40: Refused(change={"spec.parameters.apiGroup": ""}, accepts={"spec.parameters.apiGroup": "a.b"}),
        41: Refused(change={"spec.parameters.kind": ""}),
        42: Refused(change={"spec.parameters.name": ""}),
        43: (
            Shown(f"{__name__}.NetworkingTests.test_scope"),
            Stored(expected={"spec.parameters.scope": "Cluster"}),
        ),
        44: Refused(change={"spec.parameters.scope": "Node"}, detail='supported values: "Cluster", "Namespace"'),
        45: Refused(change={"spec.parameters.scope": "Namespace"}),
        46: Refused(
            change={"spec.parameters.scope": "Namespace", "spec.parameters.namespace": "a.b"},
            accepts={"spec.parameters.scope": "Namespace", "spec.parameters.namespace": "a"},
        ),
        47: Refused(change={"spec.parameters.namespace": "a"}),
        48: Refused(change={"spec.controller": "ex.io/b"}),
        49: Accepted(change={"spec.parameters": {"kind": "L", "name": "m"}}),
        50: Stored(expected={"metadata.generation": 1}),
        51: Stored(change={"spec.parameters.name": "m"}, expected={"metadata.generation": 2}),
        52: Refused(
            change={"spec.podSelector": BAD_SELECTOR},
            field="spec.podSelector.matchLabels",
            accepts={"spec.podSelector.matchLabels": {"a": "b"}},
        ),
        53: Refused(
            change={f"{PORT}.protocol": "tcp"},
            accepts={f"{PORT}.protocol": "SCTP"},
            detail='supported values: "TCP", "UDP", "SCTP"',
        ),
        54: (
            Refused(change={f"{PORT}.port": 0}, accepts={f"{PORT}.port": 65535}),
            Refused(
                change={"spec.egress[0].ports[0].port": "a--b"},
                field="spec.egress[0].ports[0].port",
                detail="must not contain consecutive hyphens",
            ),
        ),
        55: Refused(change={f"{PORT}.endPort": 79}, accepts={f"{PORT}.endPort": 80}, detail="80: must be greater"),
        56: Refused(change={f"{PORT}.endPort": 65536}),
        57: Refused(change={f"{PORT}.port": "a", f"{PORT}.endPort": 80}),
        58: Refused(change={f"{PORT}.port": GONE, f"{PORT}.endPort": 80}, accepts={f"{PORT}.port": GONE}),
        59: (
            Refused(change={FROM: {}}),
            Refused(change={TO: {}}, field=TO),
        ),
        60: Refused(change={f"{FROM}.ipBlock": {"cidr": "10.0.0.0/8"}}, accepts={FROM: block("10.0.0.0/8")}),
        61: Refused(change={f"{FROM}.podSelector": BAD_SELECTOR}, field=f"{FROM}.podSelector.matchLabels"),
        62: Refused(change={f"{TO}.namespaceSelector": BAD_SELECTOR}, field=f"{TO}.namespaceSelector.matchLabels"),
        63: Refused(change={FROM: block("")}),
        64: Refused(change={FROM: block("10.0.0.0/33")}, accepts={FROM: block("10.0.0.1/8")}),
        65: Refused(change={FROM: block("10.0.0.0/8", "10.1.0.0")}),
        66: (
            Refused(
                change={FROM: block("10.0.0.0/8", "11.0.0.0/16")}, accepts={FROM: block("10.0.0.0/8", "10.1.1.1/9")}
            ),
            Refused(change={FROM: block("10.0.0.0/8", "10.0.0.0/8")}),
            Refused(change={FROM: block("10.0.0.0/8", "::/16")}),
        ),
        67: Refused(change={"spec.policyTypes": ["Ingress", "Egress", "Ingress"]}),
        68: Refused(
            change={"spec.policyTypes": ["Both"]},
            accepts={"spec.policyTypes": ["Egress"]},
            detail='supported values: "Ingress", "Egress"',
        ),
        69: Accepted(change={"spec": {"podSelector": {"matchLabels": {"a": "b"}}}}),
        70: Refused(
            change={"status.conditions": [{**CONDITION, "reason": "1"}]},
            accepts={"status.conditions": [CONDITION]},
            field="status.conditions[0].reason",
        ),
        71: Stored(expected={"metadata.generation": 1}),
        72: Stored(change={"spec.policyTypes": ["Egress"]}, expected={"metadata.generation": 2}),
        73: Stored(change={f"{PORT}.endPort": 90}, expected={f"{PORT}.endPort": 90}),
        74: Stored(
            change={"status.conditions": [{"type": "A", "status": "True", "reason": "R", "message": ""}]},
            expected={"status": {}},
        ),
    }

    def test_stored_flaws(self) -> None:
        """Rules of wildcard hosts and names of secrets may stay flawed in what is stored so."""
        flaws = {"spec.rules[0].host": "*.a.b", f"{PATHS}.path": "x", "spec.tls": [{"secretName": "A"}]}
        with without_rules():
            made = self.done("POST", f"{NAMESPACE}/ingresses", changed(INGRESS, flaws))
        path = f"{NAMESPACE}/ingresses/a"
        made = self.done("PUT", path, changed(made, {"metadata.labels": {"a": "b"}}))
        self.assertEqual(self.code("PUT", path, changed(made, {"spec.rules[0].host": "a.b"})), 422)
        made = self.done("PUT", path, changed(made, {"spec.tls": GONE, f"{PATHS}.path": "/x"}))
        self.assertEqual(self.code("PUT", path, changed(made, flaws)), 422)

    def test_class_annotation(self) -> None:
        """The annotation of old is not warned of."""
        classed = changed(INGRESS, {"metadata.annotations": {"orch.io/ingress.class": "a"}})
        answer = self.send("POST", f"{NAMESPACE}/ingresses", classed)
        self.assertEqual((answer.code, answer.headers.get("warning")), (201, None))

    def test_scope(self) -> None:
        """Parameters without a scope, which defaults rule out, are refused."""
        self.assertEqual(check_parameters({"kind": "K", "name": "n"}, None), [required("scope")])
