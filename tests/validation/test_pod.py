"""Pods and templates of pods, but for their containers (reference KIND-35, KIND-36, KIND-37, KIND-38)."""

from __future__ import annotations

from tests.validation import case
from tests.validation.examples import Base, Entry
from tests.validation.pod_specs import SPECS
from tests.validation.pod_volumes import VOLUMES

CONTAINERS = [{"name": "c", "image": "i:1"}]
POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": CONTAINERS}}
TEMPLATE = {
    "apiVersion": "v1",
    "kind": "PodTemplate",
    "metadata": {"name": "a"},
    "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": CONTAINERS}},
}
TEMPLATES = Base(path="/api/v1/namespaces/default/podtemplates", obj=TEMPLATE)


class PodTests(case.EntryCase):
    file = "pod.json"
    bases = {
        "Pod": Base(path="/api/v1/namespaces/default/pods", obj=POD),
        "PodTemplate": TEMPLATES,
        "PodTemplateSpec": TEMPLATES,
    }
    examples = {**VOLUMES, **SPECS}

    def entries(self) -> list[Entry]:
        """Those that are not about containers."""
        return [each for each in super().entries() if "ontainers" not in each.fact["path"]]
