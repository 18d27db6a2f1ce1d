"""A server that its own tests control, and objects for them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from tests.testing.api_servers import CONFIG_MAPS, ForkedServersCase, shared

MERGE = "application/merge-patch+json"
DEFINITION = {
    "metadata": {"name": "things.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "things", "kind": "Thing"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
THINGS = "/apis/example.com/v1/namespaces/default/things"


class ControlCase(ForkedServersCase):
    def setUp(self) -> None:
        super().setUp()
        self.server = shared()

    def create(self, path: str, obj: Any) -> Any:
        """Create an object; returns it as stored."""
        return self.server.request("POST", path, obj).checked(path).json

    def patch_data(self, name: str, **data: str) -> None:
        """Change the data of a ConfigMap."""
        self.server.request("PATCH", f"{CONFIG_MAPS}/{name}", {"data": data}, MERGE).checked(name)

    def meanwhile(self, work: Callable[[], Any]) -> None:
        """Do something in a thread, which the end of the test waits for."""
        thread = threading.Thread(target=work)
        thread.start()
        self.addCleanup(thread.join)
