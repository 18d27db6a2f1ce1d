"""Requests about fields of later releases, and the objects that they send."""

from __future__ import annotations

from typing import Any

from orchtw.wire.objects import Object
from tests.verbs.served import MERGE, ServedCase

CONTAINER = {"name": "main", "image": "web:1"}
HOST_IPS = {**CONTAINER, "env": [{"name": "IPS", "valueFrom": {"fieldRef": {"fieldPath": "status.hostIPs"}}}]}
NEVER = {"restartPolicy": "Never"}
PODS, JOBS = "pods", "/apis/batch/v1/namespaces/default/jobs"
SETS = "/apis/apps/v1/namespaces/default/statefulsets"
CLAIMS = "persistentvolumeclaims"


def pod(name: str, **spec: Any) -> Object:
    return {"metadata": {"name": name}, "spec": {"containers": [CONTAINER], **spec}}


def job(name: str, restart: str = "Never", /, **spec: Any) -> Object:
    template = {"spec": {"restartPolicy": restart, "containers": [CONTAINER]}}
    return {"metadata": {"name": name}, "spec": {"template": template, **spec}}


class NewerCase(ServedCase):
    """Requests and the texts of their refusals."""

    def refused(self, path: str, obj: Object, *wanted: str, method: str = "POST") -> None:
        answer = self.send(method, path, obj, MERGE if method == "PATCH" else None)
        self.assertEqual(answer.code, 422, answer.body)
        found = [f"{each.get('field', '')}: {each['message']}" for each in answer.json["details"]["causes"]]
        for text in wanted:
            self.assertTrue(any(each.startswith(text) for each in found), f"{text}\nnot in {found}")
        self.assertEqual(len(found), len(wanted), found)
