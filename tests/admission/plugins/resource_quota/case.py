"""Base of the quota tests: a server that counts, and counted objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from twisted.internet.defer import Deferred

from orchtw.testing.in_process import ClientAnswer
from orchtw.wire.objects import Object
from tests.in_process import InProcessServer
from tests.verbs.served import DEFAULT, ServedCase

QUOTAS = f"{DEFAULT}/resourcequotas"
PODS = f"{DEFAULT}/pods"
MAPS = f"{DEFAULT}/configmaps"
SERVICES = f"{DEFAULT}/services"
CLAIMS = f"{DEFAULT}/persistentvolumeclaims"


def pod(name: str, requests: Object | None = None, **spec: Any) -> Object:
    resources = {"requests": requests or {}}
    return {
        "metadata": {"name": name},
        "spec": {"containers": [{"name": "c", "image": "i", "resources": resources}], **spec},
    }


def config_map(name: str) -> Object:
    return {"metadata": {"name": name}}


def claim(name: str, storage: str) -> Object:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": storage}}}
    return {"metadata": {"name": name}, "spec": spec}


class QuotaCase(ServedCase):
    """Makes quotas, counted by hand."""

    def quota(self, name: str, hard: Object, used: Object | None = None, **spec: Any) -> None:
        self.done("POST", QUOTAS, {"metadata": {"name": name}, "spec": {"hard": hard, **spec}})
        self.count(name, hard, dict.fromkeys(hard, "0") if used is None else used)

    def count(self, name: str, hard: Object, used: Object) -> None:
        status = {"metadata": {"name": name}, "status": {"hard": hard, "used": used}}
        self.done("PUT", f"{QUOTAS}/{name}/status", status)

    def used(self, name: str = "rq") -> Object:
        found: Object = self.done("GET", f"{QUOTAS}/{name}")["status"]["used"]
        return found

    def refusal(self, path: str, obj: Object, code: int = 403) -> str:
        answer = self.send("POST", path, obj)
        self.assertEqual(answer.code, code, answer.body)
        message: str = answer.json["message"]
        return message

    def begin(
        self, method: str, path: str, body: Object, server: InProcessServer | None = None
    ) -> list[ClientAnswer]:
        """Send a request; its answer will be in the list."""
        answers: list[ClientAnswer] = []
        sent = Deferred.fromCoroutine((server or self.server).request(method, path, body))
        sent.addCallback(answers.append)
        return answers

    def settle(self, seconds: float = 0.0) -> None:
        """Let happen what is due."""
        for _ in range(40):
            self.clock.advance(0)
        passed = 0.0
        while passed < seconds:
            self.clock.advance(0.1)
            passed += 0.1

    def codes(self, sent: Sequence[list[ClientAnswer]]) -> dict[int, int]:
        """Return the number of responses by code."""
        found: dict[int, int] = {}
        for (answer,) in sent:
            found[answer.code] = found.get(answer.code, 0) + 1
        return found


LIMITED = """
apiVersion: apiserver.config.orch.io/v1
kind: AdmissionConfiguration
plugins:
- name: ResourceQuota
  configuration:
    apiVersion: apiserver.config.orch.io/v1
    kind: ResourceQuotaConfiguration
    limitedResources:
    - resource: persistentvolumeclaims
      matchContains: [".storageclass.storage.orch.io/requests.storage"]
    - resource: pods
      matchScopes:
      - {scopeName: PriorityClass, operator: In, values: [system-node-critical]}
"""
