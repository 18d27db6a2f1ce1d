"""Admission webhook for tests: an HTTPS server, the configuration that points at it, and the recorded reviews.

```python
class MyTests(twisted.trial.unittest.TestCase):
    async def test_pods_get_a_label(self) -> None:
        webhook = AdmissionWebhook(reactor, "pods", mutating=True)
        self.addCleanup(webhook.stop)
        await client.post(webhook.path, webhook.configuration)
        webhook.patch({"op": "add", "path": "/metadata/labels", "value": {"seen": "yes"}})
        ...
        self.assertEqual(webhook.reviews[0]["operation"], "CREATE")
```
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from typing import Any

import orjson
from twisted.internet.defer import Deferred

from orchtw.naming.naming import Naming
from orchtw.testing.webhook import Reply, WebhookRequest, WebhookServer

Response = dict[str, Any]
Answers = Callable[[dict[str, Any]], Any]
"""Function from a review's request to the response (without uid), a Reply, or an awaitable of one of them."""

NAME = "webhook.example.com"


class AdmissionWebhook:
    """Webhook that allows everything by default; `reviews` records the `request` of each AdmissionReview.

    `resources` are those of its rule, in all groups; with `mutating` it may change objects. `settings` are further
    fields of the webhook in the configuration, such as `failurePolicy="Ignore"`; `server` creates its server.
    `answers` may be set to a function of the test.
    """

    def __init__(
        self,
        reactor: Any,
        *resources: str,
        mutating: bool = False,
        operations: Sequence[str] = ("*",),
        name: str = NAME,
        vocabulary: str = "orch",
        server: Callable[..., WebhookServer] = WebhookServer,
        **settings: Any,
    ) -> None:
        self.name = name
        self.reviews: list[dict[str, Any]] = []
        self.answers: Answers = _yes
        self.server = server(reactor, self._answer)
        self._kind = "MutatingWebhookConfiguration" if mutating else "ValidatingWebhookConfiguration"
        self._api_version = Naming.of(vocabulary).api_version("admissionregistration.orch.io/v1")
        rule = {"operations": [*operations], "apiGroups": ["*"], "apiVersions": ["*"], "resources": [*resources]}
        self._settings = {"sideEffects": "None", "admissionReviewVersions": ["v1"], "rules": [rule], **settings}

    @property
    def path(self) -> str:
        """Return the path to create the configuration at."""
        return f"/apis/{self._api_version}/{self._kind.lower()}s"

    @property
    def configuration(self) -> dict[str, Any]:
        """Return the configuration that makes an API server call the webhook."""
        webhook = {"name": self.name, "clientConfig": self.server.client_config("/admit"), **self._settings}
        meta = {"name": self.name}
        return {"apiVersion": self._api_version, "kind": self._kind, "metadata": meta, "webhooks": [webhook]}

    def allow(self, **response: Any) -> None:
        """Allow from now on, with further fields of the response, such as `warnings`."""
        self.answers = lambda _request: {"allowed": True, **response}

    def deny(self, message: str = "", **status: Any) -> None:
        """Deny from now on, with this message and further fields of the Status, such as `code`."""
        given = {**({"message": message} if message else {}), **status}
        self.answers = lambda _request: {"allowed": False, **({"status": given} if given else {})}

    def patch(self, *operations: dict[str, Any]) -> None:
        """Allow from now on, and change the object by a JSON patch."""
        self.answers = lambda _request: patching(*operations)

    def reply(self, reply: Reply) -> None:
        """Send this reply from now on, which may be invalid."""
        self.answers = lambda _request: reply

    def stop(self) -> Deferred[None]:
        """Stop the server; suitable for addCleanup."""
        return self.server.stop()

    async def _answer(self, asked: WebhookRequest) -> Any:
        review = asked.json
        request = review["request"]
        self.reviews.append(request)
        found = self.answers(request)
        if hasattr(found, "__await__"):
            found = await found
        if not isinstance(found, dict):
            return found
        response = {"uid": request["uid"], **found}
        return {"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response}


def patching(*operations: dict[str, Any]) -> Response:
    """Return the response that allows a request and patches its object."""
    return {"allowed": True, "patchType": "JSONPatch", "patch": base64.b64encode(orjson.dumps(operations)).decode()}


def _yes(_request: dict[str, Any]) -> Response:
    return {"allowed": True}
