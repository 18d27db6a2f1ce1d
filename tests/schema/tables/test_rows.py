"""A row of each kind with printer columns, as a table of objects and their cells (reference TABLE-8)."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.registry.strategies import KINDS
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.kinds import GroupKind
from orchtw.schema.tables.convertor import TableLayout

NOW_S = 1704067200.0 + 3600
META = {"name": "x", "namespace": "default", "creationTimestamp": "2024-01-01T00:00:00Z"}
AGE = "60m"

CONTAINERS = {"containers": [{"name": "a", "image": "i:1"}, {"name": "b", "image": "i:2"}]}
PODS = {"metadata": {"labels": {"app": "web"}}, "spec": CONTAINERS}
SELECTOR = {"matchLabels": {"app": "web"}}
WORKLOAD = {"replicas": 3, "selector": SELECTOR, "template": PODS}

# Kind, fields, and the cells behind the name.
ROWS: tuple[tuple[str, str, dict[str, Any], list[Any]], ...] = (
    ("v1", "Namespace", {"status": {"phase": "Active"}}, ["Active", AGE]),
    ("v1", "Secret", {"type": "Opaque", "data": {"a": "", "b": ""}}, ["Opaque", 2, AGE]),
    ("v1", "ConfigMap", {"data": {"a": ""}, "binaryData": {"b": ""}}, [2, AGE]),
    ("v1", "ServiceAccount", {"secrets": [{"name": "s"}]}, [1, AGE]),
    (
        "v1", "Endpoints",
        {"subsets": [
            {"addresses": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}], "ports": [{"port": 80}]},
            {"addresses": [{"ip": "10.0.0.2"}]},
        ]},
        ["10.0.0.1:80,[fd00::1]:80,10.0.0.2", AGE],
    ),
    ("v1", "Endpoints", {}, ["<none>", AGE]),
    (
        "v1", "PersistentVolume",
        {
            "spec": {
                "capacity": {"storage": "5Gi"}, "accessModes": ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteOnce"],
                "persistentVolumeReclaimPolicy": "Retain", "claimRef": {"namespace": "n", "name": "c"},
                "storageClassName": "gold", "volumeMode": "Block",
            },
            "status": {"phase": "Bound", "reason": "because"},
        },
        ["5Gi", "RWO,ROX", "Retain", "Bound", "n/c", "gold", "because", AGE, "Block"],
    ),
    (
        "v1", "PersistentVolumeClaim",
        {
            "spec": {"volumeName": "v", "storageClassName": "gold", "volumeMode": "Filesystem"},
            "status": {"phase": "Bound", "capacity": {"storage": "5Gi"}, "accessModes": ["ReadWriteMany"]},
        },
        ["Bound", "v", "5Gi", "RWX", "gold", AGE, "Filesystem"],
    ),
    (
        "v1", "PersistentVolumeClaim",
        {"metadata": {**META, "deletionTimestamp": META["creationTimestamp"]}, "spec": {}, "status": {}},
        ["Terminating", "", "", "", "", AGE, "<unset>"],
    ),
    (
        "v1", "ResourceQuota",
        {"status": {"hard": {"pods": "3", "limits.cpu": "2", "cpu": "1"}, "used": {"pods": "1"}}},
        [AGE, "cpu: 0/1, pods: 1/3", "limits.cpu: 0/2"],
    ),
    ("v1", "PodTemplate", {"template": PODS}, ["a,b", "i:1,i:2", "app=web"]),
    (
        "v1", "ReplicationController",
        {"spec": {**WORKLOAD, "selector": {"app": "web"}}, "status": {"replicas": 2, "readyReplicas": 1}},
        [3, 2, 1, AGE, "a,b", "i:1,i:2", "app=web"],
    ),
    (
        "apps/v1", "ReplicaSet", {"spec": WORKLOAD, "status": {"replicas": 2}},
        [3, 2, 0, AGE, "a,b", "i:1,i:2", "app=web"],
    ),
    (
        "apps/v1", "DaemonSet",
        {
            "spec": {"selector": SELECTOR, "template": {"spec": {**CONTAINERS, "nodeSelector": {"d": "s"}}}},
            "status": {
                "desiredNumberScheduled": 5, "currentNumberScheduled": 4, "numberReady": 3,
                "updatedNumberScheduled": 2, "numberAvailable": 1,
            },
        },
        [5, 4, 3, 2, 1, "d=s", AGE, "a,b", "i:1,i:2", "app=web"],
    ),
    ("apps/v1", "StatefulSet", {"spec": WORKLOAD, "status": {"readyReplicas": 1}}, ["1/3", AGE, "a,b", "i:1,i:2"]),
    (
        "apps/v1", "ControllerRevision",
        {
            "metadata": {**META, "ownerReferences": [
                {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "1"},
                {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "2", "controller": True},
            ]},
            "revision": 7,
        },
        ["daemonset.apps/d", 7, AGE],
    ),
    ("apps/v1", "ControllerRevision", {"revision": 7}, ["<none>", 7, AGE]),
    (
        "batch/v1", "CronJob",
        {
            "spec": {"schedule": "* * * * *", "suspend": False,
                     "jobTemplate": {"spec": {"selector": SELECTOR, "template": PODS}}},
            "status": {"active": [{"name": "j"}], "lastScheduleTime": "2024-01-01T00:59:00Z"},
        },
        ["* * * * *", "False", 1, "60s", AGE, "a,b", "i:1,i:2", "app=web"],
    ),
    (
        "policy/v1", "PodDisruptionBudget", {"spec": {"maxUnavailable": "30%"}, "status": {"disruptionsAllowed": 2}},
        ["N/A", "30%", 2, AGE],
    ),
    (
        "networking.orch.io/v1", "Ingress",
        {
            "spec": {"ingressClassName": "n", "tls": [{}], "rules": [{"host": "a.io"}, {}, {"host": "b.io"}]},
            "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}, {"hostname": "lb.example"}]}},
        },
        ["n", "a.io,b.io", "192.0.2.1,lb.example", "80, 443", AGE],
    ),
    ("networking.orch.io/v1", "Ingress", {"spec": {}}, ["<none>", "*", "", "80", AGE]),
    (
        "networking.orch.io/v1", "IngressClass",
        {"spec": {"controller": "ex.io/c", "parameters": {"apiGroup": "ex.io", "kind": "P", "name": "p"}}},
        ["ex.io/c", "P.ex.io/p", AGE],
    ),
    ("networking.orch.io/v1", "NetworkPolicy", {"spec": {"podSelector": SELECTOR}}, ["app=web", AGE]),
    (
        "discovery.orch.io/v1", "EndpointSlice",
        {
            "addressType": "IPv4", "ports": [{"port": 80}, {"name": "n"}, {}],
            "endpoints": [{"addresses": [f"10.0.0.{number}"]} for number in range(5)],
        },
        ["IPv4", "80,n,*", "10.0.0.0,10.0.0.1,10.0.0.2 + 2 more...", AGE],
    ),
    (
        "certificates.orch.io/v1", "CertificateSigningRequest",
        {
            "spec": {"signerName": "ex.io/s", "username": "ann", "expirationSeconds": 7200},
            "status": {"conditions": [{"type": "Approved", "status": "True"}], "certificate": "eA=="},
        },
        [AGE, "ex.io/s", "ann", "120m", "Approved,Issued"],
    ),
    (
        "certificates.orch.io/v1", "CertificateSigningRequest",
        {"spec": {}, "status": {"conditions": [{"type": "Denied", "status": "True"}, {"type": "Failed"}]}},
        [AGE, "<none>", "", "<none>", "Denied,Failed"],
    ),
    ("coordination.orch.io/v1", "Lease", {"spec": {"holderIdentity": "h"}}, ["h", AGE]),
    (
        "storage.orch.io/v1", "StorageClass", {"provisioner": "ex.io/p", "allowVolumeExpansion": True},
        ["ex.io/p", "Delete", "Immediate", "true", AGE],
    ),
    (
        "storage.orch.io/v1", "VolumeAttachment",
        {
            "spec": {"attacher": "ex.io/a", "nodeName": "n", "source": {"persistentVolumeName": "v"}},
            "status": {"attached": True},
        },
        ["ex.io/a", "v", "n", True, AGE],
    ),
    ("storage.orch.io/v1", "CSINode", {"spec": {"drivers": [{"name": "d", "nodeID": "n"}]}}, [1, AGE]),
    (
        "storage.orch.io/v1", "CSIDriver",
        {"spec": {"attachRequired": False, "tokenRequests": [{"audience": "a"}, {"audience": "b"}],
                  "volumeLifecycleModes": ["Ephemeral"]}},
        [False, False, False, "a,b", False, "Ephemeral", AGE],
    ),
    ("scheduling.orch.io/v1", "PriorityClass", {"value": 7, "globalDefault": True}, [7, True, AGE]),
    ("node.orch.io/v1", "RuntimeClass", {"handler": "h"}, ["h", AGE]),
    (
        "admissionregistration.orch.io/v1", "ValidatingWebhookConfiguration", {"webhooks": [{"name": "a"}]}, [1, AGE],
    ),
    (
        "flowcontrol.apiserver.orch.io/v1beta2", "FlowSchema",
        {
            "spec": {"priorityLevelConfiguration": {"name": "p"}, "matchingPrecedence": 5,
                     "distinguisherMethod": {"type": "ByUser"}},
            "status": {"conditions": [{"type": "Dangling", "status": "False"}]},
        },
        ["p", 5, "ByUser", AGE, "False"],
    ),
    (
        "flowcontrol.apiserver.orch.io/v1beta2", "PriorityLevelConfiguration",
        {"spec": {"type": "Limited", "limited": {"assuredConcurrencyShares": 5, "limitResponse": {
            "type": "Queue", "queuing": {"queues": 64, "handSize": 6, "queueLengthLimit": 50}}}}},
        ["Limited", 5, 64, 6, 50, AGE],
    ),
    (
        "flowcontrol.apiserver.orch.io/v1beta2", "PriorityLevelConfiguration", {"spec": {"type": "Exempt"}},
        ["Exempt", "<none>", "<none>", "<none>", "<none>", AGE],
    ),
    (
        "apiregistration.orch.io/v1", "APIService",
        {
            "spec": {"service": {"namespace": "n", "name": "s"}},
            "status": {"conditions": [{"type": "Available", "status": "False", "reason": "Missing"}]},
        },
        ["n/s", "False (Missing)", AGE],
    ),
    ("apiregistration.orch.io/v1", "APIService", {"spec": {}}, ["Local", "Unknown", AGE]),
)  # fmt: skip


class RowTests(SynchronousTestCase):
    catalogue = Catalogue.load(Naming.orch())
    codecs = Codecs(catalogue)

    def row(self, api_version: str, kind: str, fields: dict[str, Any]) -> list[Any]:
        """The cells of an object."""
        (resource,) = (
            each for each in self.catalogue.resources if (each.api_version, each.kind) == (api_version, kind)
        )
        naming = self.catalogue.naming
        layout = TableLayout(resource.columns, KINDS[GroupKind.of(resource.group, kind, naming)].cells, naming)
        obj = {"kind": kind, "apiVersion": api_version, "metadata": META, **fields}
        cells: list[Any] = layout.row(self.codecs.kind(api_version, kind).normalise(obj), NOW_S)["cells"]
        return cells

    def test_rows(self) -> None:
        """Each kind shows what the reference shows of it."""
        for api_version, kind, fields, expected in ROWS:
            self.assertEqual(self.row(api_version, kind, fields), ["x", *expected], kind)
