"""Every kind by the public Python client's dynamic half, which knows what discovery tells it (reference CLIENT-6)."""

from __future__ import annotations

from typing import Any

from twisted.internet.threads import deferToThread

from orchtw.schema.catalogue import ResourceType
from orchtw.wire.objects import Object
from tests.end_to_end.case import ServerCase, surface
from tests.end_to_end.custom_case import DEFINITION, is_served
from tests.end_to_end.minimal import Minimal

kubernetes: Any
try:
    import kubernetes
    from kubernetes.dynamic import DynamicClient
except ImportError:
    kubernetes = None


QUOTA = "ResourceQuota"


class DynamicClientTests(ServerCase):
    """The client blocks, so all of its work runs in a thread."""

    vocabulary = "kubernetes"
    flags = ("--controllers=*,-validatingadmissionpolicy-status",)  # it writes to new policies, too
    if kubernetes is None:
        skip = "the kubernetes package is not installed (extra `test`): not run"

    async def test_every_kind(self) -> None:
        """Each is created, updated and, where it has one, given another status, in each version that is on."""
        catalogue, codecs = surface(self.vocabulary)
        minimal = Minimal(catalogue, codecs)
        api = kubernetes.config.new_client_from_config(str(self.server.kubeconfig))
        self.addCleanup(api.close)
        client = await deferToThread(DynamicClient, api)
        count = 0
        for resource in catalogue.resources:
            if resource.default_on and {"create", "update"} <= set(resource.verbs):
                obj = minimal.obj(resource, self.unique("d"), self.namespace)
                await deferToThread(self.live, client, resource, obj)
                count += 1
        self.assertGreater(count, 50)

    def live(self, client: Any, resource: ResourceType, obj: Object) -> None:
        found = client.resources.get(api_version=resource.api_version, kind=resource.kind)
        where = {"namespace": self.namespace} if resource.namespaced else {}
        made = found.create(body=obj, **where).to_dict()
        while resource.kind == DEFINITION and not is_served(made):
            made = found.get(name=obj["metadata"]["name"], **where).to_dict()  # the server writes to it as well
        made["metadata"].setdefault("labels", {})["updated"] = "yes"
        made = found.replace(body=_whatever_is_there(made), **where).to_dict()
        self.assertEqual(made["metadata"]["labels"]["updated"], "yes", resource)
        if any(each.name == "status" for each in resource.subresources):
            answer = found.status.replace(body=_whatever_is_there(made), **where).to_dict()
            self.assertEqual(answer["metadata"]["name"], obj["metadata"]["name"])
        found.delete(name=obj["metadata"]["name"], **where)


def _whatever_is_there(obj: Object) -> Object:
    """The object for a replacement that a controller, which writes the status of new ones, cannot overtake."""
    if obj["kind"] in (QUOTA, "FlowSchema"):
        obj["metadata"].pop("resourceVersion", None)
    return obj
