"""Users and field managers of controllers, and what follows from definitions (reference CTRL-1, CTRL-34)."""

from __future__ import annotations

from typing import Any

from orchtw.admission.attributes import Attributes
from orchtw.admission.chain import ChainPlugin
from orchtw.controllers import CONTROLLERS
from orchtw.wire.objects import Object
from tests.verbs.served import Recorder, ServedCase

NAMESPACES = "/api/v1/namespaces"
DEFINITIONS = "/apis/apiextensions.orch.io/v1/customresourcedefinitions"


class Everyone(Recorder):
    """Notes all writes, and refuses some."""

    def __init__(self) -> None:
        super().__init__()
        self.users: list[tuple[str, str]] = []
        self.refused = ""

    async def admit(self, attributes: Attributes) -> None:
        self.users.append((attributes.user.name, attributes.resource.plural))
        if self.refused and attributes.user.name.endswith(self.refused):
            raise attributes.forbidden("not now")

    async def validate(self, attributes: Attributes) -> None:
        pass


class WriterTests(ServedCase):
    """A server with controllers, whose writes a plugin sees."""

    more = {"controllers": ("*",)}

    def make_plugin(self) -> ChainPlugin:
        self.everyone = Everyone()
        return self.everyone

    def settle(self) -> None:
        """Let the controllers work for some seconds."""
        for _ in range(60):
            self.clock.advance(0.1)

    def managers(self, path: str) -> set[str]:
        """The field managers of an object."""
        return {each["manager"] for each in self.done("GET", path)["metadata"]["managedFields"]}

    def test_users(self) -> None:
        """A controller writes as its own user through admission, under the name of its host (reference CTRL-1)."""
        self.settle()
        self.everyone.users.clear()
        self.done("POST", NAMESPACES, {"metadata": {"name": "n"}})
        self.settle()
        writers = {user for user, _ in self.everyone.users} - {"admin"}
        names = {user.removeprefix("system:serviceaccount:orch-system:") for user in writers}
        self.assertTrue(names)
        self.assertFalse([name for name in names if ":" in name], writers)
        quota = {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "1"}}}
        self.done("POST", f"{NAMESPACES}/n/resourcequotas?fieldManager=me", quota)
        self.settle()
        self.assertEqual(self.managers(f"{NAMESPACES}/n/resourcequotas/q"), {"me", "orch-controller-manager"})
        self.assertEqual(self.managers(f"{NAMESPACES}/default"), {"orch-apiserver"})
        role = "/apis/rbac.authorization.orch.io/v1/clusterroles/admin"
        self.assertEqual(self.managers(role), {"orch-apiserver", "clusterrole-aggregation-controller"})

    def test_admission(self) -> None:
        """Admission can refuse a controller's writes, which it tries again later (reference CTRL-1, CTRL-3)."""
        self.settle()
        self.everyone.refused = "service-account-controller"
        self.done("POST", NAMESPACES, {"metadata": {"name": "n"}})
        self.settle()
        self.assertEqual(self.code("GET", f"{NAMESPACES}/n/serviceaccounts/default"), 404)
        self.everyone.refused = ""
        self.settle()
        self.assertEqual(self.code("GET", f"{NAMESPACES}/n/serviceaccounts/default"), 200)

    def test_no_events(self) -> None:
        """Requests, refused ones too, leave no Event objects (reference OPS-21)."""
        self.settle()
        self.done("POST", NAMESPACES, {"metadata": {"name": "n"}})
        self.done("POST", "pods", {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}})
        self.send("POST", "pods", {"metadata": {"name": "A"}})
        self.done("DELETE", f"{NAMESPACES}/n")
        self.settle()
        self.assertEqual(self.done("GET", "/api/v1/events")["items"], [])

    def test_not_included(self) -> None:
        """Nothing schedules, runs or multiplies pods but outside controllers (reference CTRL-36)."""
        missing = {"deployment", "replicaset", "statefulset", "daemonset", "job", "cronjob", "endpoint", "scheduler"}
        self.assertFalse(missing & set(CONTROLLERS))

    def test_definitions(self) -> None:
        """A definition gets its conditions, discovery, OpenAPI and APIService, and takes all along (CTRL-34)."""
        schema = {"openAPIV3Schema": {"type": "object"}}
        version = {"name": "v1", "served": True, "storage": True, "schema": schema}
        names = {"plural": "ws", "kind": "W"}
        spec = {"group": "ex.io", "names": names, "scope": "Namespaced", "versions": [version]}
        self.done("POST", DEFINITIONS, {"metadata": {"name": "ws.ex.io"}, "spec": spec})
        self.settle()
        conditions: list[Object] = self.done("GET", f"{DEFINITIONS}/ws.ex.io")["status"]["conditions"]
        self.assertEqual({each["type"]: each["status"] for each in conditions},
                         {"NamesAccepted": "True", "Established": "True"})
        path = "/apis/ex.io/v1/namespaces/default/ws"
        self.done("POST", path, {"apiVersion": "ex.io/v1", "kind": "W", "metadata": {"name": "w"}})
        self.assertEqual(self.shown(), (True, True, 200))
        self.done("DELETE", f"{DEFINITIONS}/ws.ex.io")
        self.settle()
        self.assertEqual(self.code("GET", f"{DEFINITIONS}/ws.ex.io"), 404)
        self.assertEqual((self.shown(), self.code("GET", path)), ((False, False, 404), 404))
        self.assertFalse([key for key in self.store.items if "/ex.io/" in key])

    def shown(self) -> tuple[bool, bool, int]:
        """Report whether discovery and OpenAPI have the group, and the code of its APIService."""
        groups: Any = self.done("GET", "/apis")["groups"]
        documents = self.done("GET", "/openapi/v3")["paths"]
        services = "/apis/apiregistration.orch.io/v1/apiservices"
        listed = "ex.io" in [each["name"] for each in groups]
        return listed, "apis/ex.io/v1" in documents, self.code("GET", f"{services}/v1.ex.io")
