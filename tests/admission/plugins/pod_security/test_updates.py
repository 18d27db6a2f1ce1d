"""Updates of pods that are evaluated (reference PLUG-36)."""

from __future__ import annotations

from copy import deepcopy

from twisted.trial.unittest import SynchronousTestCase

from orchtw.admission.plugins.pod_security.updates import matters
from orchtw.registry.groups.core.pod_annotations import keys_in
from orchtw.wire.objects import Object
from tests.admission.plugins.pod_security.pods import LISTS, container, each_list


class MattersTests(SynchronousTestCase):
    """Updates of a pod with a container in each list."""

    def setUp(self) -> None:
        self.old, self.new = each_list(), each_list()

    def check(self, expected: bool) -> None:
        self.assertEqual(matters(self.new, self.old, keys_in("orch")), expected)

    def test_nothing(self) -> None:
        """Fields that no control checks do not matter."""
        self.new["metadata"]["labels"] = {"a": "b"}
        self.new["metadata"]["annotations"]["a"] = "b"
        self.new["spec"]["activeDeadlineSeconds"] = 5
        self.new["spec"]["tolerations"] = [{"operator": "Exists"}]
        self.check(False)

    def test_images(self) -> None:
        """Another image in any list does."""
        for key in LISTS:
            self.new = deepcopy(self.old)
            self.new["spec"][key][0]["image"] = "other"
            self.check(True)

    def test_annotations(self) -> None:
        """Another profile of the pod or of one of its containers does."""
        for key in ("seccomp.security.alpha.orch.io/pod", "container.seccomp.security.alpha.orch.io/c"):
            self.new = deepcopy(self.old)
            self.new["metadata"]["annotations"] = {key: "unconfined"}
            self.check(True)
        self.new["metadata"]["annotations"] = {"container.seccomp.security.alpha.orch.io/other": "unconfined"}
        self.check(False)

    def test_numbers(self) -> None:
        """More or fewer containers do, and a new ephemeral one."""
        for key in LISTS:
            self.new = deepcopy(self.old)
            self.new["spec"][key].append(container("new"))
            self.check(True)
        self.new = deepcopy(self.old)
        del self.new["spec"]["initContainers"]
        self.check(True)
        self.new = deepcopy(self.old)
        self.old["spec"]["ephemeralContainers"] = None
        self.check(True)

    def test_bare(self) -> None:
        """Pods without any of it are the same."""
        bare: Object = {"metadata": {}, "spec": {"containers": [{"name": "c"}]}}
        self.old, self.new = bare, deepcopy(bare)
        self.check(False)
