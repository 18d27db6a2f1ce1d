"""The roles and bindings of every installation, as data, in both vocabularies."""

from __future__ import annotations

import orjson
from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming import Naming
from orchtw.registry.bootstrap.roles import expected_objects


class ExpectedTests(SynchronousTestCase):
    def test_other_vocabulary(self) -> None:
        """With the other vocabulary no neutral name is left (reference ROLE-8)."""
        objects = list(expected_objects(Naming.kubernetes()))
        self.assertNotIn(b"orch", orjson.dumps(objects))
        names = {obj["metadata"]["name"] for _, obj in objects}
        self.assertLess({"system:kube-scheduler", "system:kubelet-api-admin", "system:kube-dns"}, names)
        meta = dict(objects)["clusterroles"]["metadata"]
        self.assertEqual(meta["annotations"], {"rbac.authorization.kubernetes.io/autoupdate": "true"})

    def test_each_controller_has_its_role(self) -> None:
        """A controller's role is bound to the service account of its name (reference ROLE-9)."""
        objects = list(expected_objects(Naming.orch()))
        bound = {obj["metadata"]["name"]: obj for plural, obj in objects if plural == "clusterrolebindings"}
        roles = [obj["metadata"]["name"] for plural, obj in objects if plural == "clusterroles"]
        for name in roles:
            prefix, _, account = name.rpartition(":")
            if prefix == "system:controller":
                [subject] = bound[name]["subjects"]
                self.assertEqual(
                    subject, {"kind": "ServiceAccount", "name": account, "namespace": "orch-system"}
                )
        self.assertNotIn("subjects", bound["system:node"])

    def test_bindings_have_their_roles(self) -> None:
        """No binding leads to a role that is not made (reference ROLE-9, ROLE-11)."""
        objects = list(expected_objects(Naming.orch()))
        made = {
            (obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
            for plural, obj in objects if plural in ("roles", "clusterroles")
        }  # fmt: skip
        for _, obj in objects:
            if role := obj.get("roleRef"):
                scope = obj["metadata"].get("namespace", "") if role["kind"] == "Role" else ""
                self.assertIn((scope, role["name"]), made)
