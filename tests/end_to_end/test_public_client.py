"""The public Python client, unmodified, under Kubernetes' own names (reference VOC-1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from twisted.internet.threads import deferToThread

from tests.end_to_end.case import ServerCase

kubernetes: Any
try:
    import kubernetes
    from kubernetes import watch as kubernetes_watch
except ImportError:
    kubernetes = None

T = TypeVar("T")
LABELS = {"app": "web"}


class PublicClientTests(ServerCase):
    """The client blocks, so each test's work runs in a thread."""

    vocabulary = "kubernetes"
    if kubernetes is None:
        skip = "the kubernetes package is not installed (extra `test`): not run"

    async def setUp(self) -> None:  # type: ignore[override]
        await super().setUp()
        api = kubernetes.config.new_client_from_config(str(self.server.kubeconfig))
        self.addCleanup(api.close)
        self.v1: Any = kubernetes.client.CoreV1Api(api)
        self.apps: Any = kubernetes.client.AppsV1Api(api)
        self.models: Any = kubernetes.client

    async def away(self, work: Callable[[], T]) -> T:
        """Run blocking client code beside the reactor."""
        return await deferToThread(work)

    def config_map(self, name: str, **data: str) -> Any:
        return self.models.V1ConfigMap(metadata=self.models.V1ObjectMeta(name=name, labels=LABELS), data=data)

    def deployment(self, name: str) -> Any:
        models = self.models
        container = models.V1Container(name="c", image="example.com/web:1")
        template = models.V1PodTemplateSpec(
            metadata=models.V1ObjectMeta(labels=LABELS), spec=models.V1PodSpec(containers=[container])
        )
        spec = models.V1DeploymentSpec(
            replicas=2, selector=models.V1LabelSelector(match_labels=LABELS), template=template
        )
        return models.V1Deployment(metadata=models.V1ObjectMeta(name=name), spec=spec)

    def refused(self, code: int, reason: str, work: Callable[[], Any]) -> None:
        """The call raises the client's exception for this Status."""
        with self.assertRaises(kubernetes.client.ApiException) as caught:
            work()
        self.assertEqual(caught.exception.status, code)
        self.assertIn(f'"reason":"{reason}"', caught.exception.body)

    async def test_core_objects(self) -> None:
        """Create, read, replace, patch and delete a ConfigMap."""

        def work() -> None:
            v1, namespace = self.v1, self.namespace
            made = v1.create_namespaced_config_map(namespace, self.config_map("a", key="one"))
            self.assertEqual((made.data, made.metadata.labels), ({"key": "one"}, LABELS))
            made.data["key"] = "two"
            replaced = v1.replace_namespaced_config_map("a", namespace, made)
            self.assertEqual(replaced.data, {"key": "two"})
            self.assertNotEqual(replaced.metadata.resource_version, made.metadata.resource_version)
            patched = v1.patch_namespaced_config_map(
                "a", namespace, {"data": {"key": None, "more": "x"}}, _content_type="application/merge-patch+json"
            )
            self.assertEqual(patched.data, {"more": "x"})
            self.assertEqual(v1.read_namespaced_config_map("a", namespace).data, {"more": "x"})
            gone = v1.delete_namespaced_config_map("a", namespace)
            # Releases of the client differ in whether they make a model of this answer.
            self.assertEqual(gone["status"] if isinstance(gone, dict) else gone.status, "Success")
            self.refused(404, "NotFound", lambda: v1.read_namespaced_config_map("a", namespace))

        await self.away(work)

    async def test_apps_objects(self) -> None:
        """Create, read, scale, change the status of and delete a Deployment."""

        def work() -> None:
            apps, namespace = self.apps, self.namespace
            made = apps.create_namespaced_deployment(namespace, self.deployment("web"))
            self.assertEqual((made.spec.replicas, made.metadata.generation), (2, 1))
            scale = apps.read_namespaced_deployment_scale("web", namespace)
            self.assertEqual((scale.spec.replicas, scale.status.selector), (2, "app=web"))
            scale.spec.replicas = 5
            apps.replace_namespaced_deployment_scale("web", namespace, scale)
            live = apps.read_namespaced_deployment("web", namespace)
            self.assertEqual((live.spec.replicas, live.metadata.generation), (5, 2))
            live.status.replicas, live.status.ready_replicas = 5, 4
            apps.replace_namespaced_deployment_status("web", namespace, live)
            listed = apps.list_namespaced_deployment(namespace).items
            self.assertEqual([(each.spec.replicas, each.status.ready_replicas) for each in listed], [(5, 4)])
            apps.delete_namespaced_deployment("web", namespace)
            self.assertEqual(apps.list_namespaced_deployment(namespace).items, [])

        await self.away(work)

    async def test_conflict(self) -> None:
        """A replace with a version that is no longer the live one is refused (reference WRITE-10)."""

        def work() -> None:
            v1, namespace = self.v1, self.namespace
            old = v1.create_namespaced_config_map(namespace, self.config_map("a", key="one"))
            self.refused(
                409, "AlreadyExists", lambda: v1.create_namespaced_config_map(namespace, self.config_map("a"))
            )
            v1.patch_namespaced_config_map(
                "a", namespace, {"data": {"key": "two"}}, _content_type="application/merge-patch+json"
            )
            self.refused(409, "Conflict", lambda: v1.replace_namespaced_config_map("a", namespace, old))

        await self.away(work)

    async def test_pages(self) -> None:
        """`limit` and `_continue` read a list in pages that hold each object once (reference READ-12, READ-13)."""

        def work() -> None:
            v1, namespace = self.v1, self.namespace
            names = [f"m{number}" for number in range(5)]
            for name in names:
                v1.create_namespaced_config_map(namespace, self.config_map(name))
            seen, left, versions, token = [], [], set(), None
            while token != "":
                page = v1.list_namespaced_config_map(namespace, limit=2, _continue=token)
                seen += [each.metadata.name for each in page.items]
                left.append(page.metadata.remaining_item_count)
                versions.add(page.metadata.resource_version)
                token = page.metadata._continue or ""
            self.assertEqual((seen, left, len(versions)), (names, [3, 1, None], 1))

        await self.away(work)

    async def test_watch(self) -> None:
        """The client's `Watch` class sees what was there, and each change once."""

        def work() -> None:
            v1, namespace = self.v1, self.namespace
            v1.create_namespaced_config_map(namespace, self.config_map("a"))
            watch, seen = kubernetes_watch.Watch(), []
            for event in watch.stream(v1.list_namespaced_config_map, namespace, timeout_seconds=30):
                seen.append((event["type"], event["object"].metadata.name))
                if len(seen) == 1:
                    v1.create_namespaced_config_map(namespace, self.config_map("b"))
                    body = {"data": {"k": "v"}}
                    v1.patch_namespaced_config_map("a", namespace, body, _content_type="application/merge-patch+json")
                    v1.delete_namespaced_config_map("b", namespace)
                if event["type"] == "DELETED":
                    watch.stop()
            self.assertEqual(seen, [("ADDED", "a"), ("ADDED", "b"), ("MODIFIED", "a"), ("DELETED", "b")])

        await self.away(work)

    async def test_watch_resumes(self) -> None:
        """A watch from a list's version sees only what came after it, and ends at its time-out."""

        def work() -> None:
            v1, namespace = self.v1, self.namespace
            v1.create_namespaced_config_map(namespace, self.config_map("before"))
            version = v1.list_namespaced_config_map(namespace).metadata.resource_version
            v1.create_namespaced_config_map(namespace, self.config_map("after"))
            stream = kubernetes_watch.Watch().stream(
                v1.list_namespaced_config_map, namespace, resource_version=version, timeout_seconds=1
            )
            self.assertEqual([event["object"].metadata.name for event in stream], ["after"])

        await self.away(work)

    async def test_selectors(self) -> None:
        """Label and field selectors choose (reference READ-18, READ-20)."""

        def work() -> None:
            v1, namespace = self.v1, self.namespace
            for name in ("a", "b"):
                v1.create_namespaced_config_map(namespace, self.config_map(name))
            by_label = v1.list_namespaced_config_map(namespace, label_selector="app in (web)")
            self.assertEqual(len(by_label.items), 2)
            by_field = v1.list_namespaced_config_map(namespace, field_selector="metadata.name=b")
            self.assertEqual([each.metadata.name for each in by_field.items], ["b"])

        await self.away(work)
