"""Audit that the flags of a server ask for (reference AUDIT-2, AUDIT-4, AUDIT-7, AUDIT-14)."""

from __future__ import annotations

from pathlib import Path

import orjson
from twisted.logger import LogLevel, capturedLogs

from orchtw.wire.objects import Object
from tests.verbs.served import ServedCase

SECRET = {"metadata": {"name": "s"}, "data": {"key": "c2VjcmV0"}}
POLICY = """\
apiVersion: audit.orch.io/v1
kind: Policy
rules:
- {level: None, verbs: [delete]}
- {level: Metadata, resources: [{resources: [configmaps]}]}
- {level: Request, resources: [{resources: [services]}]}
- {level: RequestResponse, resources: [{resources: [secrets]}]}
"""


class LogTests(ServedCase):
    """A server with a log of audit, written as it goes."""

    def setUp(self) -> None:
        folder = Path(self.mktemp())
        folder.mkdir()
        self.log = folder / "audit.log"
        (folder / "policy").write_text(POLICY)
        settings = {"audit_policy_file": folder / "policy", "audit_log_path": str(self.log)}
        self.patch(type(self), "more", settings)
        super().setUp()
        self.log.write_bytes(b"")

    def events(self) -> list[Object]:
        """The events since the last call."""
        found = [orjson.loads(line) for line in self.log.read_bytes().splitlines()]
        self.log.write_bytes(b"")
        return found

    def test_levels(self) -> None:
        """From Request on an event has the object sent, from RequestResponse on the one answered (AUDIT-2)."""
        service = {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}
        both = {"requestObject", "responseObject"}
        for path, body, level, objects in (
            ("configmaps", {"metadata": {"name": "s"}}, "Metadata", set()),
            ("services", service, "Request", {"requestObject"}),
            ("secrets", SECRET, "RequestResponse", both),
        ):
            self.done("POST", path, body)
            received, complete = self.events()
            self.assertEqual((received["stage"], received.keys() & both), ("RequestReceived", set()))
            self.assertEqual((complete["stage"], complete["level"]), ("ResponseComplete", level))
            self.assertEqual(complete.keys() & both, objects, path)
            self.done("DELETE", f"{path}/s")
            self.assertEqual(self.events(), [])

    def test_secrets(self) -> None:
        """Data of Secrets is recorded as any other, headers of requests are not (reference AUDIT-7)."""
        headers = {"x-other": "hidden", "cookie": "hidden", "content-type": "application/json"}
        self.done("POST", "secrets", SECRET, headers)
        text = self.log.read_bytes()
        (_, event) = self.events()
        self.assertEqual((event["requestObject"]["data"], event["responseObject"]["data"]), (SECRET["data"],) * 2)
        self.assertNotIn(b"hidden", text)
        self.assertNotIn(b"Bearer", text)

    def test_id(self) -> None:
        """The audit id of events is that of the answer, the client's own if there is one (AUDIT-4, REQ-22)."""
        for headers in ({"audit-id": "mine"}, {}):
            answer = self.send("GET", "configmaps", None, headers)
            ids = {event["auditID"] for event in self.events()}
            self.assertEqual(ids, {headers.get("audit-id", answer.headers["audit-id"])})


class PolicyTests(ServedCase):
    """A server that is given a log, but no policy."""

    def setUp(self) -> None:
        self.log = Path(self.mktemp())
        self.patch(type(self), "more", {"audit_log_path": str(self.log)})
        with capturedLogs() as self.logs:
            super().setUp()

    def test_none(self) -> None:
        """Without a policy the flags of backends have no effect, which the log says (reference AUDIT-14)."""
        self.done("POST", "configmaps", {"metadata": {"name": "x"}})
        self.assertFalse(self.log.exists())
        texts = [event["log_format"] for event in self.logs if event["log_level"] is LogLevel.warn]
        self.assertIn("no --audit-policy-file is given: no audit events will be recorded", texts)
