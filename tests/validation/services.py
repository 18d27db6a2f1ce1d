"""Services that are valid, changes to them, and servers that pick what is free."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from random import Random
from typing import Any, ClassVar

from orchtw.assembly import writes
from tests.validation.examples import GONE
from tests.verbs.served import DEFAULT, ServedCase

SERVICES = f"{DEFAULT}/services"
ENDPOINTS = f"{DEFAULT}/endpoints"
PORT = {"port": 80, "protocol": "TCP"}
OTHER_PORT = {"name": "b", "port": 81}
SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "web"},
    "spec": {"selector": {"app": "web"}, "ports": [{"name": "a", **PORT}]},
}
SUBSETS = [{"addresses": [{"ip": "192.0.2.1"}], "ports": [{"name": "a", "port": 80}]}]
EXTERNAL = {"spec.type": "ExternalName", "spec.externalName": "example.com", "spec.selector": GONE}
BALANCED = {"spec.type": "LoadBalancer"}
LOCAL = {**BALANCED, "spec.externalTrafficPolicy": "Local"}
NODES = {"spec.type": "NodePort"}
HEADLESS = {"spec.clusterIP": "None"}
TWO = {"spec.ipFamilyPolicy": "RequireDualStack"}
NOBODYS = {"spec.clusterIP": "10.0.0.200"}
RANGES = "metadata.annotations[service.beta.orch.io/load-balancer-source-ranges]"
WHEN_CLIENT = "when session affinity type is ClientIP"


class PickingCase(ServedCase):
    """A server that picks the same addresses and ports in every run, and few of those that tests ask for.

    It has two families.
    """

    more: ClassVar[Mapping[str, Any]] = {"service_cluster_ip_range": ("10.0.0.0/16", "fd00::/112")}

    def setUp(self) -> None:
        self.patch(writes, "SystemRandom", partial(Random, 24))
        super().setUp()
