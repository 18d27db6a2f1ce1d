"""The least pod and pod template that are valid, and where they are served."""

from __future__ import annotations

from typing import Any, Final

from tests.validation.examples import Base

CONTAINERS: Final = [{"name": "c", "image": "i:1"}]
SPEC: Final = {"containers": CONTAINERS}
PODS: Final = "/api/v1/namespaces/default/pods"
POD: Final[dict[str, Any]] = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": SPEC}
TEMPLATE: Final = {
    "apiVersion": "v1",
    "kind": "PodTemplate",
    "metadata": {"name": "a"},
    "template": {"metadata": {"labels": {"a": "b"}}, "spec": SPEC},
}
TEMPLATES: Final = Base(path="/api/v1/namespaces/default/podtemplates", obj=TEMPLATE)
