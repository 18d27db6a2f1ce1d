"""Webhooks that answer when a test says so, and the matches that call all of them."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import orjson
from twisted.internet.defer import Deferred

from orchtw.admission.attributes import Attributes
from orchtw.admission.webhooks.plans import Match
from orchtw.wire.objects import Object
from tests.admission.webhooks.hooks import configuration, rule, webhook


class AnsweringCaller:
    """Records the called webhooks, by the order of their calls, and what each was shown."""

    def __init__(self) -> None:
        self.shown: list[Object] = []
        self._waiting: list[Deferred[bytes]] = []

    async def post(self, _remote: Any, body: bytes, **_settings: Any) -> bytes:
        """Wait for the test's answer."""
        self.shown.append(orjson.loads(body)["request"])
        waiting: Deferred[bytes] = Deferred()
        self._waiting.append(waiting)
        return await waiting

    def answer(self, call: int, *operations: Object, allowed: bool = True) -> None:
        """Answer the call of that number, with a patch of some operations."""
        response: Object = {"uid": self.shown[call]["uid"], "allowed": allowed}
        if operations:
            response |= {"patchType": "JSONPatch", "patch": b64encode(orjson.dumps(operations)).decode()}
        review = {"apiVersion": "admission.orch.io/v1", "kind": "AdmissionReview", "response": response}
        self._waiting[call].callback(orjson.dumps(review))


def matches_of(asked: Attributes, *settings: Any) -> list[Match]:
    """Return a match for each of the webhooks, named by their places and with these settings."""
    specs = [webhook(rule("pods"), name=f"{number}.b.c", **each) for number, each in enumerate(settings)]
    hooks = configuration("c", *specs).hooks
    return [Match(hook, asked.resource, position) for position, hook in enumerate(hooks)]
