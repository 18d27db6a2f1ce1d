"""Volumes of pods, as far as the picture of the cluster says (reference SIM-66)."""
# covers: orchtw.simulation.scheduling.static_volumes, orchtw.simulation.scheduling.node_info

from __future__ import annotations

from collections.abc import Sequence

from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.simulation.scheduling.node_info import NodeInfo
from orchtw.simulation.scheduling.pod_info import PodInfo
from orchtw.simulation.scheduling.static_volumes import StaticVolumes
from orchtw.simulation.scheduling.volumes import VolumeFilter, VolumeSources
from orchtw.wire.objects import Object


def claim(name: str, size: str = "1Gi", **spec: object) -> Object:
    """Return a claim of namespace a."""
    content = {"resources": {"requests": {"storage": size}}, "accessModes": ["ReadWriteOnce"], **spec}
    return {"metadata": {"name": name, "namespace": "a", "uid": f"uid-{name}"}, "spec": content}


def volume(name: str, size: str = "1Gi", phase: str = "Available", **spec: object) -> Object:
    """Return a volume that any node reaches."""
    content = {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], **spec}
    return {"metadata": {"name": name}, "spec": content, "status": {"phase": phase}}


def node(**labels: str) -> NodeInfo:
    """Return a node with these labels."""
    made = NodeInfo("n")
    made.update({"metadata": {"name": "n", "labels": labels}, "spec": {}})
    return made


def pod(*claims: str) -> PodInfo:
    """Return a pod with these claims."""
    volumes = [{"name": each, "persistentVolumeClaim": {"claimName": each}} for each in claims]
    meta = {"name": "p", "namespace": "a", "uid": "u", "creationTimestamp": "2023-01-01T00:00:00Z"}
    return PodInfo({"metadata": meta, "spec": {"containers": [], "volumes": volumes}})


class ChoiceTests(SynchronousTestCase):
    """Present volumes for claims that wait."""

    def chosen(self, claims: Sequence[Object], volumes: Sequence[Object]) -> list[tuple[str, str]] | None:
        found = StaticVolumes(claims, lambda name: volumes).choose(node(), lambda claim: False)
        if found is None:
            return None
        return [(claim["metadata"]["name"], volume["metadata"]["name"]) for claim, volume in found.present]

    def test_smallest(self) -> None:
        """Small claims choose first, and take the smallest volume that will do."""
        volumes = [volume("large", "9Gi"), volume("small", "2Gi"), volume("tiny", "1Mi")]
        self.assertEqual(self.chosen([claim("b", "5Gi"), claim("a")], volumes), [("a", "small"), ("b", "large")])
        self.assertIsNone(self.chosen([claim("a", "5Gi"), claim("b", "5Gi")], volumes))

    def test_unfit(self) -> None:
        """Mode, access, selector and state have to suit; a volume that names the claim is for it alone."""
        for each in (
            volume("v", volumeMode="Block"),
            volume("v", accessModes=["ReadOnlyMany"]),
            volume("v", phase="Bound"),
            volume("v", claimRef={"namespace": "a", "name": "other"}),
        ):
            self.assertIsNone(self.chosen([claim("c")], [each]), each)
        self.assertIsNone(self.chosen([claim("c", selector={"matchLabels": {"a": "b"}})], [volume("v")]))
        reserved = volume("v", claimRef={"namespace": "a", "name": "c"})
        self.assertEqual(self.chosen([claim("c")], [reserved]), [("c", "v")])


class FilterTests(SynchronousTestCase):
    """Refusals because of claims."""

    def filtered(self, found: Object | None, *, users: int = 0, volumes: Sequence[Object] = ()) -> VolumeFilter:
        named = {each["metadata"]["name"]: each for each in volumes}
        late = {"volumeBindingMode": "WaitForFirstConsumer", "provisioner": "ex.io/p"}
        late["allowedTopologies"] = [{"matchLabelExpressions": [{"key": "z", "values": ["1"]}]}]  # type: ignore[assignment]
        sources = VolumeSources(
            lambda key: found, named.get, {"late": late}.get, lambda name: [], lambda key: users
        )
        return VolumeFilter(pod("c"), sources, Naming.orch())

    def reason(self, filtered: VolumeFilter, **labels: str) -> str:
        refusal = filtered.refusal or filtered.check(node(**labels))
        return "" if refusal is None else refusal.reasons[0]

    def test_claims(self) -> None:
        """Claims that are away, about to go or lost stop the pod everywhere."""
        gone = claim("c")
        gone["metadata"]["deletionTimestamp"] = "2023-01-01T00:00:00Z"
        lost = {**claim("c", volumeName="v"), "status": {"phase": "Lost"}}
        for found, text in (
            (None, 'persistentvolumeclaim "c" not found'),
            (gone, 'persistentvolumeclaim "c" is being deleted'),
            (lost, 'persistentvolumeclaim "c" bound to non-existent persistentvolume "v"'),
            (claim("c"), "pod has unbound immediate PersistentVolumeClaims"),
        ):
            self.assertEqual(self.reason(self.filtered(found)), text)

    def test_zone(self) -> None:
        """Labels of zones on a volume keep the pod in these."""
        bound = {**claim("c", volumeName="v"), "status": {"phase": "Bound"}}
        placed = volume("v")
        placed["metadata"]["labels"] = {"topology.orch.io/zone": "x__y"}
        filtered = self.filtered(bound, volumes=[placed])
        self.assertEqual(self.reason(filtered, **{"topology.orch.io/zone": "y"}), "")
        self.assertEqual(
            self.reason(filtered, **{"topology.orch.io/zone": "w"}), "node(s) had no available volume zone"
        )

    def test_topologies(self) -> None:
        """A volume is made where its class allows, and on the node that was selected before."""
        waiting = claim("c", storageClassName="late")
        none = "node(s) didn't find available persistent volumes to bind"
        self.assertEqual([self.reason(self.filtered(waiting), z=each) for each in "12"], ["", none])
        waiting["metadata"]["annotations"] = {"volume.orch.io/selected-node": "other"}
        self.assertEqual(self.reason(self.filtered(waiting), z="1"), none)

    def test_one_pod(self) -> None:
        """A claim for one pod is not given to a second one."""
        bound = {**claim("c", volumeName="v", accessModes=["ReadWriteOncePod"]), "status": {"phase": "Bound"}}
        self.assertEqual(self.reason(self.filtered(bound, volumes=[volume("v")])), "")
        self.assertEqual(
            self.reason(self.filtered(bound, users=1, volumes=[volume("v")])),
            "node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode",
        )
