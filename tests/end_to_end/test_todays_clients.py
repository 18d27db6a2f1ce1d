"""First requests of clients of later releases: discovery, the state in a watch, and the user of a client."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import jwt
import orjson
from twisted.internet.threads import deferToThread

from tests.emulated import since
from tests.end_to_end.case import ServerCase

kubernetes: Any
try:
    import kubernetes
    from kubernetes import watch as kubernetes_watch
except ImportError:
    kubernetes = None

T = TypeVar("T")
FORM = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


@since((1, 30))
class TodaysClientsTests(ServerCase):
    """The public client, which blocks, in a thread; under Kubernetes' own names."""

    vocabulary = "kubernetes"
    if kubernetes is None:
        skip = "the kubernetes package is not installed (extra `test`): not run"

    async def setUp(self) -> None:  # type: ignore[override]
        await super().setUp()
        self.api: Any = kubernetes.config.new_client_from_config(str(self.server.kubeconfig))
        self.addCleanup(self.api.close)
        self.v1: Any = kubernetes.client.CoreV1Api(self.api)

    async def away(self, work: Callable[[], T]) -> T:
        """Run blocking client code beside the reactor."""
        return await deferToThread(work)

    def get(self, path: str, **headers: str) -> Any:
        """Return the response to a GET, whatever its status."""
        given = {"Accept": FORM, **{name.replace("_", "-"): value for name, value in headers.items()}}
        return self.api.rest_client.pool_manager.request("GET", f"{self.api.configuration.host}{path}", headers=given)

    async def test_discovery(self) -> None:
        """Two requests show every resource, and a 304 says that nothing has changed (reference DISC-13, DISC-14)."""
        for path, resource in (("/api", "pods"), ("/apis", "deployments")):
            found = await self.away(partial(self.get, path))
            self.assertEqual((found.status, found.headers["Content-Type"]), (200, FORM))
            items = orjson.loads(found.data)["items"]
            names = {
                each["resource"] for item in items for version in item["versions"] for each in version["resources"]
            }
            self.assertIn(resource, names)
            tag = found.headers["ETag"]
            again = await self.away(partial(self.get, path, If_None_Match=tag))
            self.assertEqual((again.status, again.data), (304, b""))

    async def test_watch_list(self) -> None:
        """A watch shows the state, marks its end, and goes on (reference WATCH-20)."""
        models = kubernetes.client
        body = models.V1ConfigMap(metadata=models.V1ObjectMeta(name="first", labels={"own": "yes"}))

        def events() -> list[tuple[str, str]]:
            self.v1.create_namespaced_config_map(self.namespace, body)
            found: list[tuple[str, str]] = []
            watch = kubernetes_watch.Watch()
            stream = watch.stream(
                self.v1.list_namespaced_config_map,
                self.namespace,
                label_selector="own",
                send_initial_events=True,
                resource_version_match="NotOlderThan",
                allow_watch_bookmarks=True,
                timeout_seconds=30,
            )
            for event in stream:
                meta = event["raw_object"]["metadata"]
                if event["type"] == "BOOKMARK":
                    self.assertEqual(meta["annotations"], {"k8s.io/initial-events-end": "true"})
                    body.metadata.name = "second"
                    self.v1.create_namespaced_config_map(self.namespace, body)
                found.append((event["type"], meta.get("name", "")))
                if len(found) == 3:
                    watch.stop()
            return found

        self.assertEqual(await self.away(events), [("ADDED", "first"), ("BOOKMARK", ""), ("ADDED", "second")])

    async def test_identity(self) -> None:
        """A client is told its user, and the id of its token (reference AUTHN-60, AUTHN-61)."""
        models = kubernetes.client

        def asked() -> tuple[str, Any, Any]:
            review = models.AuthenticationV1Api(self.api).create_self_subject_review(models.V1SelfSubjectReview())
            self.v1.create_namespaced_service_account(
                self.namespace, models.V1ServiceAccount(metadata=models.V1ObjectMeta(name="sa"))
            )
            request = models.AuthenticationV1TokenRequest(spec=models.V1TokenRequestSpec(audiences=[]))
            made = self.v1.create_namespaced_service_account_token("sa", self.namespace, request)
            token = made.status.token
            body = models.V1TokenReview(spec=models.V1TokenReviewSpec(token=token))
            user = models.AuthenticationV1Api(self.api).create_token_review(body).status.user
            return (
                review.status.user_info.username,
                jwt.decode(token, options={"verify_signature": False}),
                user.extra,
            )

        name, claims, extra = await self.away(asked)
        self.assertEqual(name, "kubernetes-admin")
        self.assertEqual(extra, {"authentication.kubernetes.io/credential-id": [f"JTI={claims['jti']}"]})
