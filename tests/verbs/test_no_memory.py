"""Requests for which the process gets no memory (reference ERR-41)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import orjson
import yaml

from orchtw.wire import json_values
from orchtw.wire.objects import Object
from tests.verbs.served import APPLY, DEFAULT, MERGE, ServedCase

MAPS = f"{DEFAULT}/configmaps"
STRATEGIC = {"content-type": "application/strategic-merge-patch+json"}
PATCH = {"content-type": "application/json-patch+json"}


def _nothing(*_text: Any) -> Any:
    raise orjson.JSONDecodeError("Not enough memory to allocate buffer for parsing", "", 0)


def _none(*_text: Any, **_more: Any) -> Any:
    raise MemoryError


class NoMemoryTests(ServedCase):
    def setUp(self) -> None:
        super().setUp()
        self.body: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "b"}}
        self.done("POST", "configmaps", self.body)

    def assertOurFault(self, *request: Any) -> None:
        got = self.send(*request)
        self.assertEqual((got.code, got.headers.get("retry-after")), (500, "1"), request)
        status = got.json
        self.assertEqual((status["reason"], status["details"]["retryAfterSeconds"]), ("InternalError", 1))
        self.assertIn("the server is out of memory", status["message"])

    def test_json(self) -> None:
        """Whatever is sent as JSON: it is the server's fault, and the client is told when to come again."""
        without = SimpleNamespace(loads=_nothing, JSONDecodeError=orjson.JSONDecodeError)
        body = orjson.dumps(self.body)
        self.patch(json_values, "orjson", without)
        for request in (
            ("POST", MAPS, body, {"content-type": "application/json"}),
            ("PUT", f"{MAPS}/a", body, {"content-type": "application/json"}),
            ("PATCH", f"{MAPS}/a", body, MERGE),
            ("PATCH", f"{MAPS}/a", body, STRATEGIC),
            ("PATCH", f"{MAPS}/a", b"[]", PATCH),
            ("PATCH", f"{MAPS}/a?fieldManager=m", body, APPLY),
            ("DELETE", f"{MAPS}/a", b"{}", {"content-type": "application/json"}),
        ):
            self.assertOurFault(*request)
        self.patch(json_values, "orjson", orjson)
        self.assertEqual(self.done("GET", f"{MAPS}/a")["data"], {"a": "b"})

    def test_yaml(self) -> None:
        """The same in YAML."""
        self.patch(yaml, "parse", _none)
        self.assertOurFault("POST", MAPS, b"a: b", {"content-type": "application/yaml"})
