"""A whole server with PodSecurity, and what the tests ask it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from orchtw.testing.in_process import ClientAnswer
from orchtw.wire.objects import Object
from tests.admission.plugins.pod_security.pods import container, good_pod
from tests.verbs.served import MERGE, ServedCase

PREFIX = "pod-security.orch.io/"
_WARNING = re.compile(r'299 - "((?:[^"\\]|\\.)*)"')
NO_LEVEL = "must be one of privileged, baseline, restricted"
PRIVILEGED = 'privileged (container "c" must not set securityContext.privileged=true)'


class PodSecurityCase(ServedCase):
    """Namespaces with labels, and pods in them."""

    more: ClassVar[Mapping[str, Any]] = {"allow_privileged": True}

    def namespace(self, name: str, **labels: str) -> None:
        self.done("POST", "/api/v1/namespaces", {"metadata": {"name": name, "labels": self.labels(labels)}})

    def labels(self, labels: Mapping[str, str]) -> Object:
        return {PREFIX + key.replace("_", "-"): value for key, value in labels.items()}

    def label(self, name: str, query: str = "", **labels: str) -> ClientAnswer:
        """The answer to other labels of a namespace."""
        body = {"metadata": {"labels": self.labels(labels)}}
        return self.send("PATCH", f"/api/v1/namespaces/{name}{query}", body, MERGE)

    def pods(self, namespace: str) -> str:
        return f"/api/v1/namespaces/{namespace}/pods"

    def bad_pod(self, name: str = "p", **spec: Any) -> Object:
        """Return a privileged pod."""
        pod = good_pod(containers=[container("c", privileged=True, allowPrivilegeEscalation=None)], **spec)
        pod["metadata"] = {"name": name}
        return pod

    def warnings(self, answer: ClientAnswer) -> list[str]:
        """The texts of the Warning headers."""
        texts = _WARNING.findall(answer.headers.get("warning", ""))
        return [text.replace('\\"', '"') for text in texts]

    def annotations(self) -> Object:
        """Return the plugin's audit annotations of the administrator's last request."""
        request = self.plugin.admitted[-1].request
        assert request is not None
        found = request.annotations
        return {key.removeprefix(PREFIX): value for key, value in found.items() if key.startswith(PREFIX)}
