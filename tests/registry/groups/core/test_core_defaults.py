"""Defaults of core kinds, and fields that the server sets whatever is sent (reference KIND-16, KIND-21, KIND-33)."""

from __future__ import annotations

from orchtw.wire.objects import Object
from tests.end_to_end.minimal import signing_request
from tests.verbs.served import ServedCase

DRY = "?dryRun=All"
REQUESTS = "/apis/certificates.orch.io/v1/certificatesigningrequests"
DEFINITIONS = "/apis/apiextensions.orch.io/v1/customresourcedefinitions"
STORAGE = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


class DefaultTests(ServedCase):
    def test_volumes(self) -> None:
        """Each source of a volume has its defaults; a volume without one is an emptyDir (reference KIND-16)."""
        claim = {"metadata": {"creationTimestamp": None}, "spec": {**STORAGE, "volumeMode": "Filesystem"}}
        disk = {"diskName": "d", "diskURI": "https://x/y"}
        target = {"targetPortal": "a", "iqn": "iqn.2001-04.com.example:x", "lun": 0}
        scale = {"gateway": "g", "system": "s", "secretRef": {"name": "s"}, "volumeName": "v"}
        rados = {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"}
        token = {"path": "t", "expirationSeconds": 3600}
        for source, sent, added in (
            ("secret", {"secretName": "s"}, {"defaultMode": 420}),
            ("configMap", {"name": "s"}, {"defaultMode": 420}),
            ("downwardAPI", {}, {"defaultMode": 420}),
            ("projected", {"sources": [{"serviceAccountToken": {"path": "t"}}]},
             {"sources": [{"serviceAccountToken": token}], "defaultMode": 420}),
            ("hostPath", {"path": "/x"}, {"type": ""}),
            ("iscsi", target, {"iscsiInterface": "default"}),
            ("rbd", {"monitors": ["m"], "image": "i"}, rados),
            ("azureDisk", disk, {"cachingMode": "ReadWrite", "kind": "Shared", "fsType": "ext4", "readOnly": False}),
            ("scaleIO", scale, {"storageMode": "ThinProvisioned", "fsType": "xfs"}),
            ("ephemeral", {"volumeClaimTemplate": {"spec": STORAGE}}, {"volumeClaimTemplate": claim}),
            ("emptyDir", None, {}),
        ):  # fmt: skip
            volume = {"name": "v", **({} if sent is None else {source: sent})}
            spec = {"serviceAccountName": "a", "containers": [{"name": "c", "image": "i"}], "volumes": [volume]}
            (found,) = self.done("POST", f"pods{DRY}", {"metadata": {"name": "p"}, "spec": spec})["spec"]["volumes"]
            self.assertEqual(found, {"name": "v", source: {**(sent or {}), **added}})

    def test_others(self) -> None:
        """Secrets, volumes, claims, endpoints, limits and phases have theirs (reference KIND-21)."""
        meta: Object = {"metadata": {"name": "x"}}
        self.assertEqual(self.done("POST", f"secrets{DRY}", meta)["type"], "Opaque")
        self.assertEqual(self.done("POST", f"/api/v1/namespaces{DRY}", meta)["status"]["phase"], "Active")
        node = {**meta, "status": {"capacity": {"cpu": "2"}}}
        self.assertEqual(self.done("POST", f"/api/v1/nodes{DRY}", node)["status"]["allocatable"], {"cpu": "2"})
        volume = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}}
        found = self.done("POST", f"/api/v1/persistentvolumes{DRY}", {**meta, "spec": volume})
        policy = found["spec"]["persistentVolumeReclaimPolicy"], found["spec"]["volumeMode"], found["status"]["phase"]
        self.assertEqual(policy, ("Retain", "Filesystem", "Pending"))
        source = {"kind": "PersistentVolumeClaim", "name": "other"}
        for field in ("dataSource", "dataSourceRef"):
            claim = self.done("POST", f"persistentvolumeclaims{DRY}", {**meta, "spec": {**STORAGE, field: source}})
            self.assertEqual((claim["spec"]["volumeMode"], claim["status"]["phase"]), ("Filesystem", "Pending"))
            copies = [claim["spec"][each]["name"] for each in ("dataSource", "dataSourceRef")]
            self.assertEqual(copies, ["other", "other"])
        subsets = [{"addresses": [{"ip": "10.1.2.3"}], "ports": [{"port": 80}]}]
        (subset,) = self.done("POST", f"endpoints{DRY}", {**meta, "subsets": subsets})["subsets"]
        self.assertEqual(subset["ports"], [{"port": 80, "protocol": "TCP"}])
        limit = {"type": "Container", "max": {"cpu": "4", "memory": "4"}, "min": {"example.com/a": "1"}}
        limits = [{**limit, "default": {"cpu": "2"}}, {"type": "Pod", "max": {"cpu": "2"}}]
        sent = {**meta, "spec": {"limits": limits}}
        container, pod = self.done("POST", f"limitranges{DRY}", sent)["spec"]["limits"]
        self.assertEqual(container["default"], {"cpu": "2", "memory": "4"})
        self.assertEqual(container["defaultRequest"], {"cpu": "2", "memory": "4", "example.com/a": "1"})
        self.assertEqual(pod, {"type": "Pod", "max": {"cpu": "2"}})


class OwnedTests(ServedCase):
    """Fields that are the server's (reference KIND-33)."""

    def test_set(self) -> None:
        """Identity, uid, times, status and addresses are not what a client says (reference KIND-33, CSR-2)."""
        meta = {"name": "x", "uid": "u", "creationTimestamp": "2000-01-01T00:00:00Z"}
        spec = {"request": signing_request(), "signerName": "example.com/s", "usages": ["client auth"]}
        sent = {**spec, "username": "eve", "uid": "e", "groups": ["system:masters"], "extra": {"a": ["b"]}}
        status = {"conditions": [{"type": "Approved", "status": "True"}]}
        found = self.done("POST", f"{REQUESTS}{DRY}", {"metadata": meta, "spec": sent, "status": status})
        own = {**spec, "username": "admin", "uid": "admin", "groups": ["system:masters", "system:authenticated"]}
        self.assertEqual((found["spec"], found["status"]), (own, {}))
        self.assertNotIn(found["metadata"]["uid"], ("u", ""))
        self.assertNotEqual(found["metadata"]["creationTimestamp"], meta["creationTimestamp"])
        ports = {"spec": {"ports": [{"port": 80}]}, "status": {"loadBalancer": {"ingress": [{"ip": "10.9.9.9"}]}}}
        made = self.done("POST", "services", {"metadata": {"name": "x"}, **ports})
        self.assertEqual(made["status"], {"loadBalancer": {}})
        changed = {"metadata": {"name": "x"}, **ports}
        kept = self.done("PUT", "services/x", changed)
        for field in ("clusterIP", "clusterIPs"):
            self.assertEqual(kept["spec"][field], made["spec"][field])
        self.assertEqual(kept["status"], made["status"])

    def test_duration(self) -> None:
        """A certificate is asked for for at least ten minutes (reference CSR-6)."""
        spec = {"request": signing_request(), "signerName": "example.com/s", "usages": ["client auth"]}
        for seconds, code in ((599, 422), (0, 422), (-1, 422), (600, 201), (None, 201)):
            body = {"metadata": {"name": "x"}, "spec": {**spec, "expirationSeconds": seconds}}
            answer = self.send("POST", f"{REQUESTS}{DRY}", body)
            self.assertEqual(answer.code, code, seconds)
            if code == 422:
                (cause,) = answer.json["details"]["causes"]
                text = f"Invalid value: {seconds}: may not specify a duration less than 600 seconds (10 minutes)"
                self.assertEqual((cause["field"], cause["message"]), ("spec.expirationSeconds", text))


class NamesakeTests(ServedCase):
    """Custom kinds with the names of built-in ones (reference KIND-5)."""

    def test_no_rules(self) -> None:
        """A kind of another group, with the same first word too, has none of the rules of its namesake (KIND-5)."""
        schema = {"openAPIV3Schema": {"type": "object", "x-orch-preserve-unknown-fields": True}}
        for group, kind, plural in (
            ("batch.example.com", "Job", "jobs"), ("example.com", "Service", "services"),
            ("apps.example.com", "Deployment", "deployments"), ("example.com", "Secret", "secrets"),
        ):  # fmt: skip
            version = {"name": "v1", "served": True, "storage": True, "schema": schema}
            names = {"plural": plural, "kind": kind}
            spec = {"group": group, "scope": "Namespaced", "names": names, "versions": [version]}
            self.done("POST", DEFINITIONS, {"metadata": {"name": f"{plural}.{group}"}, "spec": spec})
            self.clock.advance(10)
            path = f"/apis/{group}/v1/namespaces/default/{plural}"
            body = {"apiVersion": f"{group}/v1", "kind": kind, "metadata": {"name": "0.a"}, "spec": {"selector": "a"}}
            made = self.done("POST", path, body)
            self.assertEqual((made["spec"], "status" in made, "type" in made), ({"selector": "a"}, False, False))
            self.done("PUT", f"{path}/0.a", {**made, "spec": {"selector": "b"}})
            self.assertEqual(self.done("DELETE", f"{path}/0.a")["kind"], "Status")
