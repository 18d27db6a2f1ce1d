"""Devices and their claims since release 1.24, with the texts of their rules (reference KIND-94)."""
# covers: orchtw.registry.groups.resource.claim_status
# covers: orchtw.registry.groups.resource.claims
# covers: orchtw.registry.groups.resource.device_values
# covers: orchtw.registry.groups.resource.devices

from __future__ import annotations

from typing import Any, ClassVar

from orchtw.config.releases import LAST
from orchtw.wire.objects import Object
from tests.emulated import since
from tests.validation.newer_case import NewerCase
from tests.verbs.served import MERGE

GROUP = "/apis/resource.orch.io"
CLAIMS, SLICES = f"{GROUP}/v1/namespaces/default/resourceclaims", f"{GROUP}/v1/resourceslices"
POOL = {"name": "node-1", "generation": 1, "resourceSliceCount": 1}
SPEC: Object = {"driver": "gpu.example.com", "pool": POOL, "nodeName": "n"}
UUID = "12345678-1234-1234-1234-123456789abc"


def named(name: str, **parts: Any) -> Object:
    return {"metadata": {"name": name}, **parts}


def claim(name: str, **exactly: Any) -> Object:
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com", **exactly}}
    return named(name, spec={"devices": {"requests": [request]}})


class DeviceCase(NewerCase):
    def refused_device(self, device: Object, *wanted: str) -> None:
        """Check what a slice with one device is told about it."""
        spec = {**SPEC, "devices": [{"name": "gpu", **device}]}
        self.refused(SLICES, named("bad", spec=spec), *(f"spec.devices[0]{each}" for each in wanted))


@since(LAST)
class SelectorTests(DeviceCase):
    """Expressions that select devices."""

    def selecting(self, *expressions: str) -> Object:
        return claim("x", selectors=[{"cel": {"expression": each}} for each in expressions])

    def test_expressions_are_compiled(self) -> None:
        """A selector is a boolean expression about the device; it may name a value (reference KIND-94)."""
        good = 'cel.bind(own, device.attributes["gpu.example.com"], own.model == "a" && own.fast)'
        amounts = 'device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("1Gi"))'
        self.done("POST", CLAIMS, self.selecting(good, amounts, "device.allowMultipleAllocations"))
        place = "spec.devices.requests[0].exactly.selectors"
        wrong = "must evaluate to bool or the unknown type, not string"
        self.refused(
            CLAIMS, self.selecting("device.nope", '"text"'),
            f'{place}[0].cel.expression: Invalid value: "device.nope": compilation failed: ERROR: <input>:1:7: ',
            f'{place}[1].cel.expression: Invalid value: "\\"text\\"": {wrong}',
        )  # fmt: skip

    def test_cost_of_expressions(self) -> None:
        """A selector that may cost more than 1000000 is refused (reference KIND-94)."""
        deep = "true"
        for name in "abcd":
            deep = f"device.attributes.all({name}, {deep})"
        place = "spec.devices.requests[0].exactly.selectors[0].cel.expression"
        text = f"{place}: Forbidden: too complex, exceeds cost limit"
        self.refused(CLAIMS, self.selecting(f"{deep} && {deep.replace('true', deep)}"), text)

    def test_classes(self) -> None:
        """The expressions of a class are compiled, on an update too (reference KIND-94)."""
        path, place = f"{GROUP}/v1/deviceclasses", "spec.selectors[0].cel.expression"
        self.done("POST", path, named("gpu", spec={"selectors": [{"cel": {"expression": "true"}}]}))
        change = {"spec": {"selectors": [{"cel": {"expression": "1 +"}}]}}
        self.refused(f"{path}/gpu", change, f'{place}: Invalid value: "1 +": compilation failed', method="PATCH")


@since(LAST)
class ClaimTests(DeviceCase):
    def test_constraints(self) -> None:
        """A constraint is about one attribute, whose name has a domain (reference KIND-94)."""
        wrong = [
            {"requests": ["gpu"]},
            {"matchAttribute": "a.b/model", "distinctAttribute": "a.b/model"},
            {"matchAttribute": "model"},
            {"requests": ["none"], "matchAttribute": "a.b/model"},
        ]
        made = claim("x")
        made["spec"]["devices"]["constraints"] = wrong
        at = "spec.devices.constraints"
        self.refused(
            CLAIMS, made,
            f"{at}[0].matchAttribute: Required value",
            f"{at}[1]: Invalid value: ",
            f'{at}[2].matchAttribute: Invalid value: "model": must include a domain',
            f'{at}[3].requests[0]: Invalid value: "none": must be the name of a request in the claim',
        )  # fmt: skip

    def test_parameters(self) -> None:
        """Parameters are an object, and drivers have names in either case (reference KIND-94)."""
        made, at = claim("x"), "spec.devices.config"
        configurations = [{"driver": "GPU.example.com", "parameters": {}}, {"driver": "a_b", "parameters": [1]}]
        made["spec"]["devices"]["config"] = [{"opaque": each} for each in configurations]
        self.refused(
            CLAIMS, made,
            f'{at}[1].opaque.driver: Invalid value: "a_b": ',
            f'{at}[1].opaque.parameters: Invalid value: "<value omitted>": must be a valid JSON object',
        )  # fmt: skip

    def test_statuses(self) -> None:
        """An allocation is for requests of the claim; drivers speak of allocated devices only (reference KIND-94)."""
        self.done("POST", CLAIMS, claim("used"))
        path = f"{CLAIMS}/used/status"
        device = {"driver": "gpu.example.com", "pool": "node-1", "device": "gpu-0"}
        wrong = {"allocation": {"devices": {"results": [{**device, "request": "other"}]}}}
        place = "status.allocation.devices.results[0].request"
        self.refused(path, {"status": wrong}, f'{place}: Invalid value: "other": must be the name', method="PATCH")
        good: Object = {"allocation": {"devices": {"results": [{**device, "request": "gpu"}]}}}
        self.done("PATCH", path, {"status": good}, MERGE)
        network = {"networkData": {"ips": ["10.0.0.1"]}}
        told = [{**device, "device": "gpu-1"}, {**device, **network, "data": {"a": "x" * 10240}}]
        at = "status.devices"
        self.refused(
            path, {"status": {"devices": told}},
            f'{at}[0]: Invalid value: "gpu.example.com/node-1/gpu-1": must be an allocated device in the claim',
            f"{at}[1].data: Too long: ",
            f'{at}[1].networkData.ips[0]: Invalid value: "10.0.0.1": must be a valid address in CIDR form',
            method="PATCH",
        )  # fmt: skip
        users = [{"resource": "pods", "name": "web", "uid": "1"}] * 2
        twice = 'status.reservedFor[1].uid: Duplicate value: "1"'
        self.refused(path, {"status": {"reservedFor": users}}, twice, method="PATCH")


@since(LAST)
class SliceTests(DeviceCase):
    def test_attributes(self) -> None:
        """An attribute has one value; versions are semantic, and names C identifiers (reference KIND-94)."""
        attributes = {"a": {}, "b": {"int": 1, "bool": True}, "c": {"version": "1"}, "d-e": {"int": 1}}
        self.refused_device(
            {"attributes": attributes},
            ".attributes[a]: Required value: exactly one value must be specified",
            ".attributes[b]: Invalid value: ",
            '.attributes[c].version: Invalid value: "1": must be a string compatible with semver.org spec 2.0.0',
            '.attributes[d-e]: Invalid value: "d-e": a valid C identifier',
        )
        many = {f"a{number}": {"int": 1} for number in range(33)}
        text = ": Invalid value: 33: the total number of attributes and capacities must not exceed 32"
        self.refused_device({"attributes": many}, text)

    def test_policies_for_requests(self) -> None:
        """A capacity that is shared says which amounts may be asked for (reference KIND-94)."""

        def device(*, shared: bool = True, **policy: Any) -> Object:
            amount = {"value": "10", "requestPolicy": policy}
            return {"allowMultipleAllocations": shared, "capacity": {"memory": amount}}

        at = ".capacity[memory].requestPolicy"
        alone = f"{at}: Forbidden: allowMultipleAllocations must be true"
        self.refused_device(device(shared=False, default="1"), alone)
        both: Object = {"validValues": ["1"], "validRange": {"min": "1"}}
        self.refused_device(device(default="1", **both), f"{at}: Forbidden: exactly one policy can be specified")
        self.refused_device(device(validValues=["1"]), f"{at}.default: Required value")
        self.refused_device(
            device(default="3", validValues=["2", "1", "11"]),
            f'{at}.default: Invalid value: "3": must be one of validValues',
            f'{at}.validValues[1]: Invalid value: "1": values must be in ascending order',
            f'{at}.validValues[2]: Invalid value: "11": must not be more than the capacity',
        )
        self.refused_device(
            device(default="3", validRange={"min": "5", "max": "4"}),
            f'{at}.default: Invalid value: "3": default is less than min: 5',
            f'{at}.validRange.max: Invalid value: "4": max is less than min: 5',
        )
        self.refused_device(device(default="3", validRange={}), f"{at}.validRange.min: Required value")

    def test_nodes_of_devices(self) -> None:
        """If each device says its nodes, it does so in one way (reference KIND-94)."""
        spec = {key: value for key, value in SPEC.items() if key != "nodeName"}
        spec |= {"perDeviceNodeSelection": True, "devices": [{"name": "a"}, {"name": "b", "nodeName": "n"}]}
        text = "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required"
        self.refused(SLICES, named("bad", spec=spec), f"spec.devices[0]: Required value: {text}")
        unset = {**SPEC, "allNodes": False}
        self.refused(
            SLICES, named("bad", spec=unset),
            'spec: Invalid value: "{nodeName, allNodes}": exactly one of ',
            "spec.allNodes: Invalid value: false: must be either unset or set to true",
        )  # fmt: skip

    def test_number_of_devices(self) -> None:
        """A slice has 128 devices, or 64 if one has taints or takes counters (reference KIND-94)."""
        devices: list[Object] = [{"name": f"gpu-{number}"} for number in range(65)]
        self.done("POST", SLICES, named("many", spec={**SPEC, "devices": devices}))
        devices[0]["taints"] = [{"key": "a", "effect": "NoSchedule"}]
        text = "spec.devices: Too many: 65: must have at most 64 items"
        self.refused(SLICES, named("bad", spec={**SPEC, "devices": devices}), text)


class OlderVersionTests(DeviceCase):
    more: ClassVar[Any] = {
        "emulated_version": "1.33", "runtime_config": (("api/all", "true"),),
    }  # fmt: skip

    def test_claims_of_v1beta1(self) -> None:
        """In v1beta1 a request has the fields of its alternative itself; defaults are the same (KIND-94)."""
        path = f"{GROUP}/v1beta1/namespaces/default/resourceclaims"
        request = {"name": "gpu", "deviceClassName": "gpu.example.com"}
        made = self.done("POST", path, named("one", spec={"devices": {"requests": [request]}}))
        filled = {**request, "allocationMode": "ExactCount", "count": 1}
        self.assertEqual(made["spec"]["devices"]["requests"], [filled])
        newer = self.done("GET", f"{GROUP}/v1beta2/namespaces/default/resourceclaims/one")
        exactly = {key: value for key, value in filled.items() if key != "name"}
        self.assertEqual(newer["spec"]["devices"]["requests"], [{"name": "gpu", "exactly": exactly}])
        choice = {"name": "any", "firstAvailable": [{"name": "a", "deviceClassName": "x"}]}
        made = self.done("POST", path, named("two", spec={"devices": {"requests": [choice]}}))
        self.assertEqual(made["spec"]["devices"]["requests"][0]["deviceClassName"], "")

    def test_templates_of_v1beta1(self) -> None:
        """Templates of claims are converted as claims are (reference KIND-94)."""
        kind = "namespaces/default/resourceclaimtemplates"
        request = {"name": "gpu", "deviceClassName": "gpu.example.com"}
        template = named("one", spec={"spec": {"devices": {"requests": [request]}}})
        self.done("POST", f"{GROUP}/v1beta1/{kind}", template)
        newer = self.done("GET", f"{GROUP}/v1beta2/{kind}/one")
        found = newer["spec"]["spec"]["devices"]["requests"][0]["exactly"]
        self.assertEqual(found["deviceClassName"], "gpu.example.com")

    def test_slices_of_v1beta1(self) -> None:
        """In v1beta1 a device has its attributes in `basic` (reference KIND-94)."""
        device: Object = {"name": "gpu", "basic": {"attributes": {"model": {"string": "a"}}}}
        made = self.done("POST", f"{GROUP}/v1beta1/resourceslices", named("one", spec={**SPEC, "devices": [device]}))
        self.assertEqual(made["spec"]["devices"], [device])
        newer = self.done("GET", f"{GROUP}/v1beta2/resourceslices/one")
        self.assertEqual(newer["spec"]["devices"], [{"name": "gpu", **device["basic"]}])

    def test_releases_have_their_versions(self) -> None:
        """A version that came after the emulated release is unknown, whatever is switched on (KIND-90)."""
        found = self.done("GET", GROUP)
        self.assertEqual([each["version"] for each in found["versions"]], ["v1beta2", "v1beta1", "v1alpha3"])


@since(LAST)
class AlphaTests(DeviceCase):
    more: ClassVar[Any] = {"runtime_config": (("resource.orch.io/v1alpha3", "true"),)}

    def test_taint_rules(self) -> None:
        """A rule has a taint, and chooses devices by well-formed names (reference KIND-94)."""
        path = f"{GROUP}/v1alpha3/devicetaintrules"
        taint = {"key": "a", "effect": "NoExecute"}
        made = self.done("POST", path, named("one", spec={"deviceSelector": {"pool": "a/b"}, "taint": taint}))
        self.assertEqual(made["metadata"]["generation"], 1)
        self.refused(
            path, named("bad", spec={"deviceSelector": {"device": "A", "driver": "a_b"}, "taint": {"key": "a"}}),
            'spec.deviceSelector.driver: Invalid value: "a_b": ',
            'spec.deviceSelector.device: Invalid value: "A": ',
            "spec.taint.effect: Required value",
        )  # fmt: skip

    def test_requests_for_counts(self) -> None:
        """A request asks for 100 pools unless it says otherwise; it and its answer stay (reference KIND-94)."""
        path = f"{GROUP}/v1alpha3/resourcepoolstatusrequests"
        made = self.done("POST", path, named("one", spec={"driver": "gpu.example.com"}))
        self.assertEqual(made["spec"]["limit"], 100)
        text = "spec.limit: Invalid value: 1001: must be between 1 and 1000, inclusive"
        self.refused(path, named("bad", spec={"driver": "gpu.example.com", "limit": 1001}), text)
        changed = "spec: Invalid value: "
        self.refused(f"{path}/one", {"spec": {"limit": 5}}, changed, method="PATCH")
        pool = {"driver": "gpu.example.com", "poolName": "a", "generation": 1, "validationError": "x"}
        status = {"poolCount": 1, "pools": [{**pool, "totalDevices": 1}]}
        place = "status.pools[0].totalDevices"
        why = f"{place}: Forbidden: may not be set when validationError is set"
        self.refused(f"{path}/one/status", {"status": status}, why, method="PATCH")
        self.done("PATCH", f"{path}/one/status", {"status": {**status, "pools": [pool]}}, MERGE)
        again = {"status": {"poolCount": 2}}
        self.refused(f"{path}/one/status", again, "status: Invalid value: ", method="PATCH")
