"""Kinds and versions since release 1.24: ranges and addresses, attributes of volumes, devices, flow control v1."""
# covers: orchtw.registry.groups.networking.service_ranges
# covers: orchtw.registry.groups.resource.claims
# covers: orchtw.registry.groups.resource.devices
# covers: orchtw.schema.conversion.flowcontrol

from __future__ import annotations

from typing import Any, ClassVar

from orchtw.config.releases import LAST
from orchtw.wire.objects import Object
from tests.emulated import since
from tests.validation.newer_case import NewerCase
from tests.verbs.served import MERGE

NETWORK, STORAGE = "/apis/networking.orch.io/v1", "/apis/storage.orch.io/v1"
DEVICES = "/apis/resource.orch.io/v1"
FLOW = "/apis/flowcontrol.apiserver.orch.io"
LEVELS = "prioritylevelconfigurations"
TABLE = {"accept": "application/json;as=Table;v=v1;g=meta.orch.io"}


def named(name: str, **parts: Any) -> Object:
    return {"metadata": {"name": name}, **parts}


@since(LAST)
class NetworkTests(NewerCase):
    """Rules of ServiceCIDRs and IPAddresses."""

    def test_ranges(self) -> None:
        """A ServiceCIDR has one range of each family, in canonical form, and keeps it (reference KIND-92)."""
        path = f"{NETWORK}/servicecidrs"
        self.done("POST", path, named("good", spec={"cidrs": ["10.1.0.0/16", "fd00::/112"]}))
        self.refused(path, named("none", spec={}), "spec.cidrs: Required value: at least one CIDR required")
        twice = named("twice", spec={"cidrs": ["10.1.0.0/16", "10.2.0.0/16"]})
        self.refused(path, twice, "spec.cidrs: Invalid value: ")
        host = named("host", spec={"cidrs": ["10.1.0.1/16"]})
        self.refused(path, host, 'spec.cidrs[0]: Invalid value: "10.1.0.1/16": must be in canonical form')
        text = 'spec.cidrs[0]: Invalid value: "x": must be a valid CIDR value'
        self.refused(path, named("odd", spec={"cidrs": ["x"]}), text)
        change = {"spec": {"cidrs": ["10.3.0.0/16"]}}
        self.refused(f"{path}/good", change, "spec.cidrs: Invalid value: ", method="PATCH")
        rows = self.send("GET", path, headers=TABLE).json["rows"]
        self.assertEqual(rows[0]["cells"][:2], ["good", "10.1.0.0/16,fd00::/112"])

    def test_addresses(self) -> None:
        """An IPAddress is named as its address, and belongs to one object (reference KIND-92)."""
        path = f"{NETWORK}/ipaddresses"
        parent = {"resource": "services", "namespace": "default", "name": "web"}
        self.done("POST", path, named("10.1.0.1", spec={"parentRef": parent}))
        text = 'metadata.name: Invalid value: "fd00::01": must be a canonical format IP address'
        self.refused(path, named("fd00::01", spec={"parentRef": parent}), text)
        self.refused(path, named("10.1.0.2", spec={}), "spec.parentRef: Required value")
        partly = named("10.1.0.3", spec={"parentRef": {"resource": "services"}})
        self.refused(path, partly, "spec.parentRef.name: Required value")
        rows = self.send("GET", path, headers=TABLE).json["rows"]
        self.assertEqual(rows[0]["cells"][:2], ["10.1.0.1", "services/default/web"])


@since(LAST)
class StorageTests(NewerCase):
    """Rules of VolumeAttributesClasses, whose fields stay."""

    def test_attributes(self) -> None:
        """A class has a driver and parameters, which stay (reference KIND-93)."""
        path = f"{STORAGE}/volumeattributesclasses"
        self.done("POST", path, named("fast", driverName="disk.example.com", parameters={"iops": "100"}))
        empty = named("empty", driverName="disk.example.com")
        self.refused(path, empty, "parameters: Required value: must contain at least one key/value pair")
        self.refused(path, named("x", parameters={"a": "b"}), "driverName: Required value")
        self.refused(f"{path}/fast", {"driverName": "b"}, "driverName: Invalid value: ", method="PATCH")
        self.refused(f"{path}/fast", {"parameters": {"b": "c"}}, "parameters: Invalid value: ", method="PATCH")


    def test_phases(self) -> None:
        """The status of a volume has the time of its last change of phase (reference KIND-93)."""
        path, since_when = "/api/v1/persistentvolumes", "lastPhaseTransitionTime"
        nfs = {"server": "a", "path": "/a"}
        spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "nfs": nfs}
        made = self.done("POST", path, named("v", spec=spec))
        began = made["metadata"]["creationTimestamp"]
        self.assertEqual(made["status"], {"phase": "Pending", since_when: began})
        given = "2024-01-01T00:00:00Z"
        for status, kept in (
            ({"phase": "Available", since_when: given}, True),
            ({"message": "x"}, True),
            ({"phase": "Bound"}, False),
        ):
            found = self.done("PATCH", f"{path}/v/status", {"status": status}, MERGE)["status"]
            self.assertEqual(found[since_when] == given, kept, status)
        self.assertGreaterEqual(found[since_when], began)


@since(LAST)
class DeviceTests(NewerCase):
    """The kinds of group resource."""

    def test_claims(self) -> None:
        """A claim asks for exactly one device, or for alternatives, and keeps its spec (reference KIND-94)."""
        path = f"{DEVICES}/namespaces/default/resourceclaims"
        gpu = {"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"}}
        made = self.done("POST", path, named("good", spec={"devices": {"requests": [gpu]}}))
        exactly = made["spec"]["devices"]["requests"][0]["exactly"]
        self.assertEqual((exactly["allocationMode"], exactly["count"]), ("ExactCount", 1))
        at = "spec.devices.requests"
        wrong = [{"name": "a"}, {"name": "a", "exactly": {"deviceClassName": "x", "allocationMode": "Some"}}]
        self.refused(
            path, named("bad", spec={"devices": {"requests": wrong}}),
            f"{at}[0]: Required value: exactly one of `exactly` or `firstAvailable` is required",
            f'{at}[1].name: Duplicate value: "a"',
            f'{at}[1].exactly.allocationMode: Unsupported value: "Some"',
        )  # fmt: skip
        change: Object = {"spec": {"devices": {"requests": []}}}
        self.refused(f"{path}/good", change, "spec: Invalid value: ", method="PATCH")
        rows = self.send("GET", path, headers=TABLE).json["rows"]
        self.assertEqual(rows[0]["cells"][:2], ["good", "pending"])

    def test_allocations(self) -> None:
        """Users of a claim need an allocation, which stays while it is there (reference KIND-94)."""
        path = f"{DEVICES}/namespaces/default/resourceclaims"
        self.done("POST", path, named("used", spec={}))
        user = {"resource": "pods", "name": "web", "uid": "1"}
        text = "status.allocation: Required value: must be set when `reservedFor` is set"
        self.refused(f"{path}/used/status", {"status": {"reservedFor": [user]}}, text, method="PATCH")
        self.done("PATCH", f"{path}/used/status", {"status": {"allocation": {}, "reservedFor": [user]}}, MERGE)

    def test_classes_and_slices(self) -> None:
        """Selectors have an expression; a slice says in one way which nodes its devices are for (KIND-94)."""
        path = f"{DEVICES}/deviceclasses"
        made = self.done("POST", path, named("gpu", spec={"selectors": [{"cel": {"expression": "true"}}]}))
        self.assertEqual(made["metadata"]["generation"], 1)
        self.refused(path, named("x", spec={"selectors": [{}]}), "spec.selectors[0].cel: Required value")
        slices = f"{DEVICES}/resourceslices"
        pool = {"name": "node-1", "generation": 1, "resourceSliceCount": 1}
        spec: Object = {"driver": "gpu.example.com", "pool": pool, "nodeName": "n", "devices": [{"name": "gpu-0"}]}
        self.done("POST", slices, named("good", spec=spec))
        both = {**spec, "allNodes": True}
        self.refused(slices, named("both", spec=both), "spec: Invalid value: ")
        self.refused(f"{slices}/good", {"spec": {"driver": "a.b"}}, "spec.driver: Invalid value: ", method="PATCH")

    def test_limits_of_devices(self) -> None:
        """Taints, conditions and counters of a device are few and well formed (reference KIND-94)."""
        taint = {"key": "a", "effect": "NoSchedule"}
        conditions = [f"example.com/{number}" for number in range(5)]
        device: Object = {"name": "gpu", "taints": [taint] * 17, "bindingConditions": conditions}
        device["attributes"] = {"model": {"string": "x" * 65}}
        counters = [{"name": "a", "counters": {"b": {"value": "1"}}}] * 2
        pool = {"name": "node-1", "generation": 1, "resourceSliceCount": 1}
        spec: Object = {"driver": "gpu.example.com", "pool": pool, "nodeName": "n"}
        path, place = f"{DEVICES}/resourceslices", "spec.devices[0]"
        self.refused(
            path, named("many", spec={**spec, "devices": [device]}),
            f"{place}.taints: Too many: 17: must have at most 16 items",
            f"{place}.bindingConditions: Too many: 5: must have at most 4 items",
            f"{place}.attributes[model].string: Too long: ",
        )  # fmt: skip
        unknown = {"name": "gpu", "taints": [{"key": "a", "effect": "Other"}]}
        self.refused(
            path, named("odd", spec={**spec, "devices": [unknown], "sharedCounters": counters}),
            'spec: Invalid value: "{devices, sharedCounters}": at most one of ',
            f'{place}.taints[0].effect: Unsupported value: "Other": ',
            'spec.sharedCounters[1].name: Duplicate value: "a"',
        )  # fmt: skip


@since(LAST)
class FlowControlTests(NewerCase):
    """Priority levels in their versions."""

    def level(self, name: str, **limited: Any) -> Object:
        return named(name, spec={"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}, **limited}})

    def test_shares_by_version(self) -> None:
        """Shares have two names, and 30 is their default (reference FLOW-15)."""
        for version, key in (("v1", "nominal"), ("v1beta3", "nominal"), ("v1beta2", "assured")):
            made = self.done("POST", f"{FLOW}/{version}/{LEVELS}", self.level(f"default-{version}"))
            self.assertEqual(made["spec"]["limited"][f"{key}ConcurrencyShares"], 30)
        read = self.done("GET", f"{FLOW}/v1beta1/{LEVELS}/default-v1")
        self.assertEqual(read["spec"]["limited"]["assuredConcurrencyShares"], 30)

    def test_no_shares(self) -> None:
        """Shares of 0 are kept in v1, and need an annotation in v1beta3 (reference FLOW-15)."""
        annotation = "flowcontrol.orch.io/v1beta3-preserve-zero-concurrency-shares"
        self.done("POST", f"{FLOW}/v1/{LEVELS}", self.level("zero", nominalConcurrencyShares=0))
        read = self.done("GET", f"{FLOW}/v1beta3/{LEVELS}/zero")
        self.assertEqual(read["metadata"]["annotations"], {annotation: ""})
        self.assertEqual(read["spec"]["limited"]["nominalConcurrencyShares"], 0)
        again = self.done("PUT", f"{FLOW}/v1beta3/{LEVELS}/zero", read)
        self.assertEqual(again["spec"]["limited"]["nominalConcurrencyShares"], 0)
        plain = self.done("GET", f"{FLOW}/v1/{LEVELS}/zero")
        self.assertNotIn("annotations", plain["metadata"])

    def test_mandatory_levels(self) -> None:
        """A mandatory level can be written as it was read, in every version, and with no other percentage."""
        for version in ("v1", "v1beta3", "v1beta2", "v1beta1"):
            for name in ("exempt", "catch-all"):
                path = f"{FLOW}/{version}/{LEVELS}/{name}"
                self.done("PUT", path, self.done("GET", path))
        path = f"{FLOW}/v1/{LEVELS}/catch-all"
        level = self.done("GET", path)
        level["spec"]["limited"]["lendablePercent"] = 1
        self.assertEqual(self.code("PUT", path, level), 422)

    def test_refused_shares(self) -> None:
        """Bad shares and percentages are told under the names that were sent (reference FLOW-15)."""
        text = "must be a non-negative integer"
        self.refused(
            f"{FLOW}/v1/{LEVELS}", self.level("a", nominalConcurrencyShares=-1, lendablePercent=101),
            f"spec.limited.nominalConcurrencyShares: Invalid value: -1: {text}",
            "spec.limited.lendablePercent: Invalid value: 101: must be between 0 and 100, inclusive",
        )  # fmt: skip
        self.refused(
            f"{FLOW}/v1beta2/{LEVELS}", self.level("b", assuredConcurrencyShares=-1),
            "spec.limited.assuredConcurrencyShares: Invalid value: -1: must be positive",
        )  # fmt: skip


@since(LAST)
class KeptTests(NewerCase):
    def test_as_in_the_release(self) -> None:
        """Endpoints cause no warning, and addresses of Services no objects (reference KIND-106)."""
        answer = self.send("POST", "endpoints", named("old"))
        self.assertEqual((answer.code, answer.headers.get("warning")), (201, None))
        self.done("POST", "services", named("web", spec={"ports": [{"port": 80}]}))
        for plural in ("servicecidrs", "ipaddresses"):
            self.assertEqual(self.done("GET", f"{NETWORK}/{plural}")["items"], [], plural)


class EmulatedKindTests(NewerCase):
    more: ClassVar[Any] = {"emulated_version": "1.24"}

    def test_newer_kinds_are_unknown(self) -> None:
        """Under release 1.24 there are neither the kinds nor the versions (reference KIND-90)."""
        paths = (f"{DEVICES}/deviceclasses", f"{NETWORK}/servicecidrs", f"{FLOW}/v1/{LEVELS}")
        for path in (*paths, "/openapi/v3/apis/resource.orch.io/v1"):
            self.assertEqual(self.code("GET", path), 404, path)
        group = self.done("GET", FLOW)
        self.assertEqual([each["version"] for each in group["versions"]], ["v1beta2", "v1beta1"])


@since(LAST)
class SwitchedVersionTests(NewerCase):
    more: ClassVar[Any] = {"runtime_config": (("resource.orch.io/v1beta2", "true"),)}

    def test_beta_versions(self) -> None:
        """A newer beta version is served if it is switched on; others are not (reference KIND-90)."""
        self.done("POST", "/apis/resource.orch.io/v1beta2/deviceclasses", named("gpu", spec={}))
        self.assertEqual(self.code("GET", f"{DEVICES}/deviceclasses/gpu"), 200)
        self.assertEqual(self.code("GET", "/apis/networking.orch.io/v1beta1/servicecidrs"), 404)
