"""ResourceQuota (reference PLUG-25 to PLUG-31, PLUG-53)."""

from __future__ import annotations

from typing import Any

from orchtw.objects import Object
from tests.verbs.served import DEFAULT, ServedCase

QUOTAS = f"{DEFAULT}/resourcequotas"
PODS = f"{DEFAULT}/pods"


def pod(name: str, requests: Object | None = None, limits: Object | None = None, **spec: Any) -> Object:
    resources = {"requests": requests or {}, "limits": limits or {}}
    return {
        "metadata": {"name": name},
        "spec": {"containers": [{"name": "c", "image": "i", "resources": resources}], **spec},
    }


class QuotaCase(ServedCase):
    """Makes quotas, counted by hand."""

    def quota(self, name: str, hard: Object, used: Object | None = None, **spec: Any) -> None:
        self.done("POST", QUOTAS, {"metadata": {"name": name}, "spec": {"hard": hard, **spec}})
        self.count(name, hard, dict.fromkeys(hard, "0") if used is None else used)

    def count(self, name: str, hard: Object, used: Object) -> None:
        status = {"metadata": {"name": name}, "status": {"hard": hard, "used": used}}
        self.done("PUT", f"{QUOTAS}/{name}/status", status)

    def used(self, name: str) -> Object:
        found: Object = self.done("GET", f"{QUOTAS}/{name}")["status"]["used"]
        return found

    def refusal(self, path: str, obj: Object, code: int = 403) -> str:
        answer = self.send("POST", path, obj)
        self.assertEqual(answer.code, code, answer.body)
        message: str = answer.json["message"]
        return message


class ChargeTests(QuotaCase):
    def test_exceeded(self) -> None:
        """What does not fit is refused, and what is exceeded named."""
        self.quota("rq", {"requests.cpu": "1", "pods": "1", "requests.memory": "1Gi"})
        self.done("POST", PODS, pod("a", {"cpu": "500m", "memory": "1Mi"}))
        self.assertEqual(self.used("rq"), {"pods": "1", "requests.cpu": "500m", "requests.memory": "1Mi"})
        self.assertEqual(
            self.refusal(PODS, pod("b", {"cpu": "2", "memory": "1Mi"})),
            'pods "b" is forbidden: exceeded quota: rq, requested: pods=1,requests.cpu=2, '
            "used: pods=1,requests.cpu=500m, limited: pods=1,requests.cpu=1",
        )


class CountedTests(QuotaCase):
    more = {"controllers": ("resourcequota",)}

    def settle(self, seconds: float) -> None:
        for _ in range(int(seconds * 10)):
            self.clock.advance(0.1)

    def test_x(self) -> None:
        self.done("POST", QUOTAS, {"metadata": {"name": "rq"}, "spec": {"hard": {"pods": "3", "count/configmaps": "5"}}})
        self.done("POST", PODS, pod("a"))
        print(self.done("GET", f"{QUOTAS}/rq")["status"])
        self.done("POST", f"{DEFAULT}/configmaps", {"metadata": {"name": "a"}})
        print(self.send("POST", f"{DEFAULT}/configmaps", {"metadata": {"name": "a"}}).code)
        print(self.done("GET", f"{QUOTAS}/rq")["status"])
        self.settle(3)
        print(self.done("GET", f"{QUOTAS}/rq")["status"])
        self.done("DELETE", f"{DEFAULT}/configmaps/a")
        self.clock.advance(0); self.clock.advance(0)
        print(self.done("GET", f"{QUOTAS}/rq"))
