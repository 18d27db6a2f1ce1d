"""Variables of containers that come from other objects (reference SIM-21)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from orchtw.simulation.agent.environment import MOST_SERVICES, with_environment
from orchtw.simulation.pods.plans import variables

EARLY, STARTED, LATE = (f"2026-01-01T00:00:0{number}Z" for number in (1, 2, 3))


def service(name: str, address: str, *ports: dict[str, Any], created: str = EARLY) -> dict[str, Any]:
    """A Service with an address."""
    spec = {"clusterIP": address, "ports": list(ports)}
    return {"metadata": {"name": name, "creationTimestamp": created}, "spec": spec}


class FakeClient:
    """Client of objects by kind, namespace and name."""

    def __init__(self, objects: dict[tuple[str, str], list[dict[str, Any]]]) -> None:
        self.objects = objects

    def resource(self, group: str, version: str, plural: str) -> str:
        """The plural, which stands for the resource."""
        return plural

    async def find(self, plural: str, namespace: str, name: str) -> Any:
        """The object of that name, or None."""
        found = self.objects.get((plural, namespace), [])
        return next((self.item(each) for each in found if each["metadata"]["name"] == name), None)

    async def list(self, plural: str, namespace: str) -> Any:
        """All objects of the namespace."""
        return SimpleNamespace(items=[self.item(each) for each in self.objects.get((plural, namespace), [])])

    @staticmethod
    def item(obj: dict[str, Any]) -> Any:
        """The object as an item that is yet to be loaded."""
        return SimpleNamespace(name=obj["metadata"]["name"], load=lambda: obj)


class EnvironmentTests(SynchronousTestCase):
    """A container on a node, in a namespace with a ConfigMap, a Secret and Services."""

    def setUp(self) -> None:
        named = {"metadata": {"name": "s"}}
        self.client = FakeClient(
            {
                ("configmaps", "ns"): [{**named, "data": {"a": "1", "b": "$(a)"}}],
                ("secrets", "ns"): [{**named, "data": {"key": "dGV4dA=="}}],
                ("nodes", ""): [{"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "4", "pods": "9"}}}],
                ("services", "default"): [service("kubernetes", "10.0.0.1", {"name": "https", "port": 443})],
                ("services", "ns"): [
                    service("my-web", "10.0.0.2", {"name": "ui", "port": 80}, {"port": 53, "protocol": "UDP"}),
                    service("new", "10.0.0.3", {"port": 80}, created=LATE),
                    service("headless", "None", {"port": 80}),
                    service("outside", "", {"port": 80}),
                ],
            }
        )

    def found(self, container: dict[str, Any], **spec: Any) -> dict[str, str]:
        """The variables of a container of a pod."""
        pod = {
            "metadata": {"name": "p", "namespace": "ns"},
            "spec": {"nodeName": "n", "containers": [{"name": "c", **container}], **spec},
            "status": {"startTime": STARTED},
        }
        client: Any = self.client
        made = self.successResultOf(Deferred.fromCoroutine(with_environment(client, pod)))
        return dict(variables(made, made["spec"]["containers"][0]))

    def test_references(self) -> None:
        """Keys of ConfigMaps and Secrets have their texts, in which nothing is replaced."""
        sources = [("configMapKeyRef", "b"), ("secretKeyRef", "key"), ("configMapKeyRef", "gone")]
        given = [{kind: {"name": "s", "key": key}} for kind, key in sources]
        env = [{"name": f"V{number}", "valueFrom": each} for number, each in enumerate(given)]
        found = self.found({"env": [*env, {"name": "W", "value": "$(V1)!"}]})
        self.assertEqual((found["V0"], found["V1"], found["W"]), ("$(a)", "text", "text!"))
        self.assertNotIn("V2", found)

    def test_whole_objects(self) -> None:
        """All keys of a ConfigMap or Secret become variables, with a prefix; the container's own come after them."""
        maps, secrets = {"configMapRef": {"name": "s"}, "prefix": "P_"}, {"secretRef": {"name": "s"}}
        given = [maps, secrets, {"secretRef": {"name": "x"}}]
        found = self.found({"envFrom": given, "env": [{"name": "P_a", "value": "own"}]})
        self.assertEqual((found["P_a"], found["P_b"], found["key"]), ("own", "$(a)", "text"))

    def test_services(self) -> None:
        """Services that were there at the start have variables for their address and ports."""
        found = self.found({})
        self.assertEqual(found["KUBERNETES_SERVICE_HOST"], "10.0.0.1")
        self.assertEqual(found["KUBERNETES_SERVICE_PORT_HTTPS"], "443")
        self.assertEqual((found["MY_WEB_SERVICE_PORT"], found["MY_WEB_SERVICE_PORT_UI"]), ("80", "80"))
        self.assertEqual((found["MY_WEB_PORT"], found["MY_WEB_PORT_53_UDP"]), ("tcp://10.0.0.2:80", "udp://10.0.0.2:53"))
        self.assertEqual((found["MY_WEB_PORT_53_UDP_PROTO"], found["MY_WEB_PORT_53_UDP_ADDR"]), ("udp", "10.0.0.2"))
        self.assertEqual([name for name in found if name.startswith(("NEW", "HEADLESS", "OUTSIDE"))], [])

    def test_without_links(self) -> None:
        """Without links there are only the variables of the API server's Service."""
        found = self.found({}, enableServiceLinks=False)
        self.assertIn("KUBERNETES_SERVICE_HOST", found)
        self.assertNotIn("MY_WEB_SERVICE_HOST", found)

    def test_many_services(self) -> None:
        """Of very many Services the first ones have variables."""
        many = [service(f"s{number}", "10.0.0.9", {"port": 1}) for number in range(MOST_SERVICES + 1)]
        self.client.objects["services", "ns"] = many
        found = self.found({})
        self.assertIn(f"S{MOST_SERVICES - 1}_SERVICE_HOST", found)
        self.assertNotIn(f"S{MOST_SERVICES}_SERVICE_HOST", found)

    def test_limits(self) -> None:
        """Limits that a container does not have are those of its node."""
        given = [{"resourceFieldRef": {"resource": f"limits.{kind}"}} for kind in ("cpu", "memory")]
        env = [{"name": name, "valueFrom": each} for name, each in zip(("CPU", "MEMORY"), given, strict=True)]
        found = self.found({"env": env, "resources": {"limits": {"memory": "1Ki"}}})
        self.assertEqual((found["CPU"], found["MEMORY"]), ("4", "1024"))
