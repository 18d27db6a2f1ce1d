"""A server with a plugin that notes what passes admission, and what the tests send there."""

from __future__ import annotations

from orchtw.admission.attributes import Attributes
from orchtw.wire.objects import Object
from tests.verbs.served import ServedCase

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
REVIEWS = "/apis/authorization.orch.io/v1"
TEMPLATE: Object = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


class AdmissionCase(ServedCase):
    def pod(self, name: str = "p", node: str = "") -> None:
        spec = {**TEMPLATE["spec"], **({"nodeName": node} if node else {})}
        self.done("POST", "pods", {"metadata": {"name": name, "labels": {"a": "b"}}, "spec": spec})
        self.forget()

    def asked(self, attributes: Attributes) -> tuple[str, str, str, str]:
        """Operation, resource, sub-resource and name."""
        return attributes.operation, attributes.resource.plural, attributes.subresource, attributes.name

    def refuse(self, attributes: Attributes) -> None:
        attributes.warn("refused")
        raise attributes.forbidden("no")
