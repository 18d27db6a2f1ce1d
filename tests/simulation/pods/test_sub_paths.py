"""Paths inside volumes that an environment decides about (reference SIM-20)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.simulation.pods.sub_paths import bad_sub_path
from tests.simulation.pods.cases import container, pod


class SubPathTests(SynchronousTestCase):
    def test_paths(self) -> None:
        """A path is relative, stays in its volume, and its variables are set."""
        env = [{"name": "NAME", "value": "a"}, {"name": "UP", "value": ".."}, {"name": "ROOT", "value": "/tmp"}]
        for pattern, why in (
            ("$(NAME)/b..c", ""),
            ("$(NONE)/x", 'refers to variable "NONE", which is not set'),
            ("x/$(UP)", "gives 'x/..', which leaves the volume"),
            ("$(ROOT)", "gives the absolute path '/tmp'"),
        ):
            mounts = [{"name": "other", "mountPath": "/"}, {"name": "v", "mountPath": "/v", "subPathExpr": pattern}]
            found = bad_sub_path(pod(), container(env=env, volumeMounts=mounts))
            self.assertEqual(found, f"subPathExpr '{pattern}' of volume \"v\" {why}" if why else "")
