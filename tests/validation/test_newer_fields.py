"""Fields that built-in kinds have gained since release 1.24, with the texts of their rules."""
# covers: orchtw.registry.groups.core.newer_pods
# covers: orchtw.registry.groups.core.pod_directives
# covers: orchtw.registry.groups.core.pod_resizes
# covers: orchtw.registry.groups.batch.job_policies

from __future__ import annotations

from typing import Any

from orchtw.config.releases import LAST
from orchtw.wire.objects import Object
from tests.emulated import since
from tests.validation.newer_case import CLAIMS, CONTAINER, HOST_IPS, JOBS, NEVER, PODS, SETS, NewerCase, job, pod
from tests.verbs.served import MERGE


@since(LAST)
class PodTests(NewerCase):
    """Rules of pods since release 1.24."""

    def test_sidecars_have_probes(self) -> None:
        """An init container that restarts always may have probes; another may not (reference KIND-97)."""
        probe = {"tcpSocket": {"port": 80}}
        first = {"name": "first", "image": "a:1", "readinessProbe": probe}
        self.done("POST", PODS, pod("sidecar", initContainers=[{**first, "restartPolicy": "Always"}]))
        place = "spec.initContainers[0].readinessProbe"
        text = f"{place}: Forbidden: may not be set for init containers without restartPolicy=Always"
        self.refused(PODS, pod("no-sidecar", initContainers=[first]), text)

    def test_restart_policies_of_containers(self) -> None:
        """A container's policy is one of three, and rules need it (reference KIND-97)."""
        self.done("POST", PODS, pod("own-policy", containers=[{**CONTAINER, "restartPolicy": "Never"}]))
        place = "spec.containers[0].restartPolicy"
        values = 'supported values: "Always", "Never", "OnFailure"'
        self.refused(
            PODS, pod("bad-policy", containers=[{**CONTAINER, "restartPolicy": "No"}]),
            f'{place}: Unsupported value: "No": {values}',
        )  # fmt: skip
        rule = {"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}}
        self.refused(
            PODS, pod("rules", containers=[{**CONTAINER, "restartPolicyRules": [rule]}]),
            f"{place}: Required value: must specify restartPolicy when restart rules are used",
        )  # fmt: skip

    def test_gated_pods(self) -> None:
        """Gates hold a new pod back, exclude a node, and can only be removed (reference KIND-96)."""
        gates = [{"name": "example.com/one"}, {"name": "example.com/two"}]
        made = self.done("POST", PODS, pod("gated", schedulingGates=gates))
        condition = made["status"]["conditions"][0]
        self.assertEqual((condition["type"], condition["reason"]), ("PodScheduled", "SchedulingGated"))
        text = "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared"
        self.refused(PODS, pod("placed", schedulingGates=gates, nodeName="n"), text)
        more = {"spec": {"schedulingGates": [*gates, {"name": "example.com/x"}]}}
        added = "only deletion is allowed, but found new scheduling gate 'example.com/x'"
        self.refused(f"{PODS}/gated", more, f"spec.schedulingGates[2].name: Forbidden: {added}", method="PATCH")
        binding = {"metadata": {"name": "gated"}, "target": {"kind": "Node", "name": "n"}}
        self.assertEqual(self.code("POST", f"{PODS}/gated/binding", binding), 409)
        self.done("PATCH", f"{PODS}/gated", {"spec": {"nodeSelector": {"disk": "ssd"}}}, MERGE)
        other = {"spec": {"nodeSelector": {"disk": "hdd"}}}
        narrower = "spec.nodeSelector: Invalid value: "
        self.refused(f"{PODS}/gated", other, narrower, method="PATCH")
        left = self.done("PATCH", f"{PODS}/gated", {"spec": {"schedulingGates": gates[1:]}}, MERGE)
        self.assertEqual(left["spec"]["schedulingGates"], gates[1:])

    def test_topology(self) -> None:
        """Domains need DoNotSchedule; policies are Honor or Ignore (reference KIND-96)."""
        labels = {"labelSelector": {"matchLabels": {"app": "web"}}}
        spread = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", **labels}
        good = {**spread, "minDomains": 2, "nodeAffinityPolicy": "Ignore", "matchLabelKeys": ["version"]}
        made = self.done("POST", PODS, pod("spread", topologySpreadConstraints=[good]))
        self.assertEqual(made["spec"]["topologySpreadConstraints"][0]["minDomains"], 2)
        anyway = {**spread, "minDomains": 2, "whenUnsatisfiable": "ScheduleAnyway", "nodeTaintsPolicy": "No"}
        at = "spec.topologySpreadConstraints[0]"
        text = "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway"
        self.refused(
            PODS, pod("anyway", topologySpreadConstraints=[anyway]),
            f"{at}.minDomains: Invalid value: 2: {text}",
            f'{at}.nodeTaintsPolicy: Unsupported value: "No": supported values: "Honor", "Ignore"',
        )  # fmt: skip

    def test_profiles_users_and_claims(self) -> None:
        """A local profile is named, a user namespace excludes the node's, and claims are the pod's (KIND-96)."""
        local = {"appArmorProfile": {"type": "Localhost"}}
        place = "spec.securityContext.appArmorProfile.localhostProfile"
        must = "must be set when AppArmor type is Localhost"
        self.refused(PODS, pod("profile", securityContext=local), f"{place}: Required value: {must}")
        text = "spec.hostPID: Forbidden: when `hostUsers` is false"
        self.refused(PODS, pod("users", hostUsers=False, hostPID=True), text)
        user = {**CONTAINER, "resources": {"claims": [{"name": "gpu"}, {"name": "none"}]}}
        claims = [{"name": "gpu", "resourceClaimName": "one"}]
        names = "must be one of the names in pod.spec.resourceClaims"
        place = "spec.containers[0].resources.claims[1].name"
        self.refused(
            PODS, pod("claims", containers=[user], resourceClaims=claims), f'{place}: Not found: "none": {names}'
        )

    def test_images_as_volumes(self) -> None:
        """A volume may be an image, whose pull policy follows from its tag (reference KIND-96)."""
        volumes = [{"name": "data", "image": {"reference": "data:1"}}]
        made = self.done("POST", PODS, pod("image", volumes=volumes))
        self.assertEqual(made["spec"]["volumes"][0]["image"]["pullPolicy"], "IfNotPresent")

    def test_images_without_a_reference(self) -> None:
        """The volume of a pod names its image; that of a template may leave it to others (reference KIND-96)."""
        volumes = [{"name": "data", "image": {"pullPolicy": "Always"}}]
        self.refused(PODS, pod("image", volumes=volumes), "spec.volumes[0].image.reference: Required value")
        self.done("POST", JOBS, job("image", template={"spec": {**pod("a", volumes=volumes)["spec"], **NEVER}}))

    def test_pauses(self) -> None:
        """A pause is not longer than the pod's grace period (reference KIND-104)."""

        def pausing(seconds: int) -> Object:
            return pod("pause", containers=[{**CONTAINER, "lifecycle": {"preStop": {"sleep": {"seconds": seconds}}}}])

        place = "spec.containers[0].lifecycle.preStop.sleep"
        text = "must be non-negative and less than terminationGracePeriodSeconds (30)"
        for seconds in (-1, 31):
            self.refused(PODS, pausing(seconds), f"{place}: Invalid value: {seconds}: {text}")
        self.done("POST", PODS, pausing(30))

    def test_keys_of_files(self) -> None:
        """The key of a variable in a file has at most 128 characters (reference KIND-96)."""
        reference = {"volumeName": "data", "path": "a", "key": "k" * 129}
        container = {**CONTAINER, "env": [{"name": "A", "valueFrom": {"fileKeyRef": reference}}]}
        place = "spec.containers[0].env[0].valueFrom.fileKeyRef.key"
        self.refused(PODS, pod("file", containers=[container]), f"{place}: Too long: must have at most 128 bytes")

    def test_resources_of_the_whole_pod(self) -> None:
        """They decide the quality of service, and requests follow from limits (reference KIND-97)."""
        whole = {"limits": {"cpu": "1", "memory": "1Gi"}}
        made = self.done("POST", PODS, pod("whole", resources=whole))
        self.assertEqual(made["spec"]["resources"]["requests"], whole["limits"])
        self.assertEqual(made["status"]["qosClass"], "Guaranteed")

    def test_requests_of_the_whole_pod(self) -> None:
        """They suffice for the containers and sidecars together (reference KIND-97)."""
        half = {**CONTAINER, "resources": {"requests": {"cpu": "700m"}}}
        whole = pod("small", resources={"requests": {"cpu": "1"}}, containers=[half, {**half, "name": "b"}])
        what = "must be greater than or equal to aggregate container requests of 1400m"
        self.refused(PODS, whole, f'spec.resources.requests[cpu]: Invalid value: "1": {what}')

    def test_values_of_newer_fields(self) -> None:
        """Policies of images, groups and labels have fixed values (reference KIND-96)."""
        security = {"seLinuxChangePolicy": "Other", "supplementalGroupsPolicy": "Other"}
        volumes = [{"name": "data", "image": {"reference": "a:1", "pullPolicy": "Other"}}]
        self.refused(
            PODS, pod("other", securityContext=security, volumes=volumes),
            'spec.securityContext.seLinuxChangePolicy: Unsupported value: "Other": ',
            'spec.securityContext.supplementalGroupsPolicy: Unsupported value: "Other": ',
            'spec.volumes[0].image.pullPolicy: Unsupported value: "Other": ',
        )  # fmt: skip

    def test_host_ips(self) -> None:
        """A variable may show all addresses of the host (reference KIND-96)."""
        self.done("POST", PODS, pod("addresses", containers=[HOST_IPS]))

    def test_resizes(self) -> None:
        """The sub-resource changes cpu and memory, and nothing else (reference KIND-99)."""
        start = {"requests": {"cpu": "1", "memory": "1Mi"}, "limits": {"cpu": "2"}}
        self.done("POST", PODS, pod("resized", containers=[{**CONTAINER, "resources": start}]))
        path = f"{PODS}/resized/resize"

        def change(**container: Any) -> Object:
            return {"spec": {"containers": [{**CONTAINER, "resources": start, **container}]}}

        more = {"requests": {"cpu": "2", "memory": "1Mi"}, "limits": {"cpu": "3"}}
        found = self.done("PATCH", path, change(resources=more, image="other:2"), MERGE)
        self.assertEqual(found["spec"]["containers"][0]["resources"], more)
        self.assertEqual(found["spec"]["containers"][0]["image"], CONTAINER["image"])
        quality = 'spec: Invalid value: "Guaranteed": Pod QOS Class may not change as a result of resizing'
        full = {"cpu": "1", "memory": "1Gi"}
        self.refused(path, change(resources={"requests": full, "limits": full}), quality, method="PATCH")
        gone = "spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed"
        self.refused(path, change(resources={"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}), gone, method="PATCH")
        disk = {**more, "requests": {**more["requests"], "ephemeral-storage": "1Gi"}}
        only = "spec: Forbidden: only cpu and memory resources are mutable"
        self.refused(path, change(resources=disk), only, method="PATCH")
        two = {"spec": {"containers": [CONTAINER, {**CONTAINER, "name": "second"}]}}
        count = "spec: Forbidden: containers may not be added or removed on resize"
        self.refused(path, two, count, method="PATCH")


@since(LAST)
class JobTests(NewerCase):
    """Rules of jobs since release 1.24."""

    def test_replacement(self) -> None:
        """Pods are replaced at once, or after their failure if failures are looked at (reference KIND-95)."""
        plain = self.done("POST", JOBS, job("plain"))
        self.assertEqual(plain["spec"]["podReplacementPolicy"], "TerminatingOrFailed")
        rule = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}
        failures = self.done("POST", JOBS, job("failures", podFailurePolicy={"rules": [rule]}))
        self.assertEqual(failures["spec"]["podReplacementPolicy"], "Failed")
        kept = failures["spec"]["podFailurePolicy"]["rules"][0]
        self.assertEqual(kept["onPodConditions"][0]["status"], "True")

    def test_failures_by_index(self) -> None:
        """Limits by index need indexes, and each other (reference KIND-95)."""
        needs = "requires indexed completion mode"
        self.refused(
            JOBS, job("a", maxFailedIndexes=1),
            "spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified",
            f"spec.maxFailedIndexes: Invalid value: 1: {needs}",
        )  # fmt: skip
        indexed = {"completionMode": "Indexed", "completions": 5, "backoffLimitPerIndex": 1}
        made = self.done("POST", JOBS, job("b", **indexed))
        self.assertEqual(made["spec"]["backoffLimit"], 2147483647)
        text = "spec.maxFailedIndexes: Invalid value: 6: must be less than or equal to completions"
        self.refused(JOBS, job("c", **indexed, maxFailedIndexes=6), text)
        many = {**indexed, "completions": 100_001, "parallelism": 1}
        above = "must be specified when completions is above 100000"
        self.refused(JOBS, job("d", **many), f"spec.maxFailedIndexes: Required value: {above}")

    def test_failure_rules(self) -> None:
        """A rule has one requirement, exit codes are ordered, and pods never restart (reference KIND-95)."""
        at = "spec.podFailurePolicy.rules"
        codes = {"operator": "In", "values": [3, 1, 0]}
        rules = [{"action": "FailIndex", "onExitCodes": codes}, {"action": "Count"}]
        self.refused(
            JOBS, job("rules", podFailurePolicy={"rules": rules}),
            f'{at}[0].action: Invalid value: "FailIndex": requires the backoffLimitPerIndex to be set',
            f"{at}[0].onExitCodes.values[2]: Invalid value: 0: must not be 0 for the In operator",
            f"{at}[0].onExitCodes.values: Invalid value: ",
            f"{at}[1]: Invalid value: specifying one of OnExitCodes and OnPodConditions is required",
        )  # fmt: skip
        place = "spec.template.spec.restartPolicy"
        text = 'only "Never" is supported when podFailurePolicy is specified'
        never = job("restarts", "OnFailure", podFailurePolicy={"rules": []})
        self.refused(JOBS, never, f'{place}: Invalid value: "OnFailure": {text}')

    def test_success_rules(self) -> None:
        """There is a rule, which says a number or indexes (reference KIND-95)."""
        indexed = {"completionMode": "Indexed", "completions": 5}
        at = "spec.successPolicy.rules"
        some = "at least one rules must be specified when the successPolicy is specified"
        self.refused(JOBS, job("none", **indexed, successPolicy={"rules": []}), f"{at}: Required value: {some}")
        one = "at least one of succeededCount or succeededIndexes must be specified"
        self.refused(JOBS, job("empty", **indexed, successPolicy={"rules": [{}]}), f"{at}[0]: Required value: {one}")
        rule = {"succeededIndexes": "0-1,4", "succeededCount": 2}
        self.done("POST", JOBS, job("some", **indexed, successPolicy={"rules": [rule]}))

    def test_managers(self) -> None:
        """A manager is a path with a domain, and stays (reference KIND-95)."""
        text = 'must be a domain-prefixed path (such as "acme.io/foo")'
        self.refused(JOBS, job("bad", managedBy="foo"), f'spec.managedBy: Invalid value: "foo": {text}')
        self.done("POST", JOBS, job("managed", managedBy="example.com/queue"))
        change = {"spec": {"managedBy": "example.com/other"}}
        text = 'spec.managedBy: Invalid value: "example.com/other": field is immutable'
        self.refused(f"{JOBS}/managed", change, text, method="PATCH")


@since(LAST)
class OtherKindTests(NewerCase):
    def test_stateful_sets(self) -> None:
        """Replicas may be numbered from any start, and claims deleted with them (reference KIND-98)."""
        spec = {
            "selector": {"matchLabels": {"app": "db"}},
            "template": {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [CONTAINER]}},
            "ordinals": {"start": 5},
            "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete"},
        }
        made = self.done("POST", SETS, {"metadata": {"name": "db"}, "spec": spec})
        retention = {"whenDeleted": "Delete", "whenScaled": "Retain"}
        self.assertEqual(made["spec"]["persistentVolumeClaimRetentionPolicy"], retention)
        text = "spec.ordinals.start: Invalid value: -1: must be greater than or equal to 0"
        self.refused(SETS, {"metadata": {"name": "x"}, "spec": {**spec, "ordinals": {"start": -1}}}, text)

    def test_services_and_budgets(self) -> None:
        """Preferences among endpoints and evictions of unready pods have fixed values (reference KIND-98)."""
        spec = {"ports": [{"port": 80}], "trafficDistribution": "PreferClose"}
        service: Object = {"metadata": {"name": "web"}, "spec": spec}
        self.assertEqual(self.done("POST", "services", service)["spec"]["trafficDistribution"], "PreferClose")
        bad = {"metadata": {"name": "bad"}, "spec": {**spec, "trafficDistribution": "Near"}}
        values = '"PreferClose", "PreferSameNode", "PreferSameZone"'
        text = f'spec.trafficDistribution: Unsupported value: "Near": supported values: {values}'
        self.refused("services", bad, text)
        budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
        budget = {"metadata": {"name": "web"}, "spec": {"minAvailable": 1, "unhealthyPodEvictionPolicy": "Never"}}
        place = "spec.unhealthyPodEvictionPolicy"
        text = f'{place}: Unsupported value: "Never": supported values: "AlwaysAllow", "IfHealthyBudget"'
        self.refused(budgets, budget, text)

    def test_bound_claims(self) -> None:
        """The class of attributes of a bound claim may change, and nothing else but its size (reference KIND-93)."""
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        claim = {"metadata": {"name": "data"}, "spec": {**spec, "volumeAttributesClassName": "slow"}}
        self.done("POST", CLAIMS, claim)
        self.done("PATCH", f"{CLAIMS}/data/status", {"status": {"phase": "Bound"}}, MERGE)
        change = {"spec": {"volumeAttributesClassName": "fast"}}
        made = self.done("PATCH", f"{CLAIMS}/data", change, MERGE)
        self.assertEqual(made["spec"]["volumeAttributesClassName"], "fast")
        what = "resources.requests and volumeAttributesClassName for bound claims"
        text = f"spec: Forbidden: spec is immutable after creation except {what}"
        self.refused(f"{CLAIMS}/data", {"spec": {"storageClassName": "x"}}, text, method="PATCH")

    def test_autoscalers(self) -> None:
        """A metric may be about one container, and a tolerance is not negative (reference KIND-98)."""
        path = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
        source = {
            "name": "cpu", "container": "main", "target": {"type": "Utilization", "averageUtilization": 50},
        }  # fmt: skip
        spec = {
            "scaleTargetRef": {"kind": "Deployment", "name": "web", "apiVersion": "apps/v1"},
            "maxReplicas": 3,
            "metrics": [{"type": "ContainerResource", "containerResource": source}],
            "behavior": {"scaleUp": {"tolerance": "100m"}},
        }
        made = self.done("POST", path, {"metadata": {"name": "web"}, "spec": spec})
        self.assertEqual(made["spec"]["metrics"], spec["metrics"])
        self.assertEqual(made["spec"]["behavior"]["scaleUp"]["tolerance"], "100m")

    def test_fields_of_gates_that_are_off(self) -> None:
        """A field whose gate is off by default is known, and dropped (reference KIND-91)."""
        path = "/apis/coordination.orch.io/v1/namespaces/default/leases?fieldValidation=Strict"
        spec = {"holderIdentity": "a", "preferredHolder": "b", "strategy": "OldestEmulationVersion"}
        made = self.done("POST", path, {"metadata": {"name": "lease"}, "spec": spec})
        self.assertEqual(made["spec"], {"holderIdentity": "a"})


    def test_hints_and_drivers(self) -> None:
        """Hints for nodes are few; tokens as secrets need audiences, updates 10 s (reference KIND-98)."""
        slices = "/apis/discovery.orch.io/v1/namespaces/default/endpointslices"
        hints = {"forNodes": [{"name": f"n-{number}"} for number in range(9)]}
        found = {"metadata": {"name": "web"}, "addressType": "IPv4"}
        endpoints = [{"addresses": ["10.0.0.1"], "hints": hints}]
        text = "endpoints[0].hints.forNodes: Too many: 9: must have at most 8 items"
        self.refused(slices, {**found, "endpoints": endpoints}, text)
        driver = {"serviceAccountTokenInSecrets": True, "nodeAllocatableUpdatePeriodSeconds": 9}
        self.refused(
            "/apis/storage.orch.io/v1/csidrivers", {"metadata": {"name": "disk"}, "spec": driver},
            "spec.nodeAllocatableUpdatePeriodSeconds: Invalid value: 9: must be greater than or equal to 10",
            "spec.serviceAccountTokenInSecrets: Invalid value: true: must be unset when tokenRequests is empty",
        )  # fmt: skip

    def test_sources_in_other_namespaces(self) -> None:
        """While its gate is off, the namespace of a claim's source is dropped (reference KIND-93)."""
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        source = {"apiGroup": "example.com", "kind": "Backup", "name": "a"}
        claim = {"metadata": {"name": "data"}, "spec": {**spec, "dataSourceRef": {**source, "namespace": "b"}}}
        made = self.done("POST", CLAIMS, claim)
        self.assertEqual(made["spec"]["dataSourceRef"], source)

    def test_types_that_took_the_place_of_others(self) -> None:
        """Requests of claims and addresses of Ingresses lack what other kinds gained (reference KIND-90)."""
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}, "claims": []}}
        answer = self.send("POST", f"{CLAIMS}?fieldValidation=Strict", {"metadata": {"name": "a"}, "spec": spec})
        self.assertIn('unknown field "spec.resources.claims"', answer.json["message"])
        path = "/apis/networking.orch.io/v1/namespaces/default/ingresses"
        balancer = {"ingress": [{"ip": "10.0.0.1", "ipMode": "VIP"}]}
        obj = {"metadata": {"name": "a"}, "spec": {"defaultBackend": {"resource": {"kind": "A", "name": "b"}}}}
        self.done("POST", path, obj)
        made = self.done("PATCH", f"{path}/a/status", {"status": {"loadBalancer": balancer}}, MERGE)
        self.assertEqual(made["status"]["loadBalancer"], {"ingress": [{"ip": "10.0.0.1"}]})
