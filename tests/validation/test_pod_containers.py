"""Containers of pods and of templates of pods (reference KIND-38 to KIND-42)."""

from __future__ import annotations

from tests.validation import case
from tests.validation.container_examples import C
from tests.validation.examples import Accepted, Base, Entry, Refused, Shown, Warned
from tests.validation.pod_container_fields import FIELDS

CONTAINERS = [{"name": "c", "image": "i:1"}]
POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": CONTAINERS}}
TEMPLATE = {
    "apiVersion": "v1",
    "kind": "PodTemplate",
    "metadata": {"name": "a"},
    "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": CONTAINERS}},
}


class PodContainerTests(case.EntryCase):
    file = "pod.json"
    bases = {
        "Pod": Base(path="/api/v1/namespaces/default/pods", obj=POD),
        "PodTemplateSpec": Base(path="/api/v1/namespaces/default/podtemplates", obj=TEMPLATE),
    }
    examples = {**FIELDS}

    def entries(self) -> list[Entry]:
        """Those that are about containers."""
        return [each for each in super().entries() if "ontainers" in each.fact["path"]]
