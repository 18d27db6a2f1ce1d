"""Secrets and ConfigMaps that a pod lacks (reference SIM-20)."""

from __future__ import annotations

from orchtw.simulation.pods.pod_run import NOTHING_MISSING, Missing
from orchtw.simulation.pods.references import missing
from orchtw.wire.objects import Object
from tests.simulation.cluster_case import ClusterCase
from tests.simulation.pods.cases import container, pod

_POD = pod(
    container(env=[{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]),
    volumes=[
        {"name": "v", "configMap": {"name": "m"}},
        {"name": "w", "secret": {"secretName": "s", "optional": True}},
    ],
)


class MissingTests(ClusterCase):
    """A pod with a Secret's key, a ConfigMap as a volume, and an optional Secret."""

    def found(self, obj: Object) -> Missing:
        """Return what the pod lacks."""
        return self.world.run(missing(self.world.client, obj, "always"))

    def test_missing(self) -> None:
        """Volumes and containers lack objects, then a key; nothing is missing in the end."""
        mount = 'MountVolume.SetUp failed for volume "v" : configmap "m" not found'
        self.assertEqual(self.found(_POD), Missing(volumes=mount, containers={"c": 'secret "s" not found'}))
        self.create("configmaps", "m")
        self.create("secrets", "s", data={"other": ""})
        self.assertEqual(self.found(_POD), Missing(containers={"c": "couldn't find key k in Secret a/s"}))
        self.patch("secrets", "s", {"data": {"k": ""}})
        self.assertEqual(self.found(_POD), NOTHING_MISSING)

    def test_sub_path(self) -> None:
        """A container whose path in a volume cannot be used does not start."""
        made = container(volumeMounts=[{"name": "v", "mountPath": "/v", "subPathExpr": "$(NONE)"}])
        why = "subPathExpr '$(NONE)' of volume \"v\" refers to variable \"NONE\", which is not set"
        self.assertEqual(self.found(pod(made)), Missing(containers={"c": why}))

    def test_ignored(self) -> None:
        """SIM-22: a pod with the annotation lacks nothing."""
        meta = {**_POD["metadata"], "annotations": {"simulate.orch.io/ignore-missing": "true"}}
        self.assertEqual(self.found({**_POD, "metadata": meta}), NOTHING_MISSING)
