"""The objects that events of audit hold: those of requests and of answers (reference AUDIT-15)."""

from __future__ import annotations

import orjson

from orchtw.audit.bodies import MOST_BYTES
from orchtw.audit.policy import METADATA, REQUEST, REQUEST_RESPONSE
from orchtw.request import Ending, Request, Response
from orchtw.schema.codec.envelope import wrap
from orchtw.schema.codec.yaml_codec import encode_yaml
from tests.end_to_end.case import surface
from tests.filters.audit_case import BARE, CONFIG_MAP, AuditStageCase, answers


class BodyTests(AuditStageCase):
    """Request and response bodies, at the levels that record them."""

    def test_request_objects(self) -> None:
        """From level Request on, the object of the body; what it says of itself completes the reference."""
        meta = {"name": "c", "namespace": "n", "uid": "u", "resourceVersion": "7"}

        async def handler(request: Request) -> Response:
            assert request.on_decoded is not None
            request.on_decoded({**CONFIG_MAP, "metadata": {**CONFIG_MAP["metadata"], **meta}})
            return Response(code=201)

        path = "/api/v1/namespaces/n/configmaps"
        whole = {"resource": "configmaps", "namespace": "n", "name": "c", "uid": "u", "apiVersion": "v1",
                 "resourceVersion": "7"}
        for level, omits, expected in (
            (METADATA, False, None),
            (REQUEST, False, [{"manager": "m"}]),
            (REQUEST, True, None),
        ):
            asked = self.serve(handler, level=level, method="POST", path=path, outcome={"omit_managed_fields": omits})
            self.successResultOf(asked)
            self.assertEqual(self.last["objectRef"], whole)
            found = self.last.get("requestObject")
            self.assertEqual(found is not None, level == REQUEST)
            if found:
                self.assertEqual(found["metadata"].get("managedFields"), expected)

    def test_patches(self) -> None:
        """A patch is shown as it was sent, YAML as JSON; one that is neither is left out."""
        for body, expected in (
            (b'{"a":\n1}', {"a": 1}),
            (b'[{"op":"test"}]', [{"op": "test"}]),
            (b"a: 1\n", {"a": 1}),
            (b"a: [", None),
        ):
            self.successResultOf(self.serve(answers(b""), level=REQUEST, method="PATCH", body=body))
            self.assertEqual(self.last.get("requestObject"), expected)
        self.successResultOf(self.serve(answers(b""), level=METADATA, method="PATCH", body=b"{}"))
        self.assertNotIn("requestObject", self.last)

    def test_response_objects(self) -> None:
        """At level RequestResponse the answer's object as JSON on one line, in whatever format it was sent."""
        codec = surface("orch")[1].kind("v1", "ConfigMap")
        plain, kind = orjson.dumps(CONFIG_MAP), "application/json"
        canonical = codec.normalise(CONFIG_MAP)
        for body, content_type, omits, expected in (
            (plain, kind, False, CONFIG_MAP),
            (plain + b"\n", kind, False, CONFIG_MAP),
            ((plain[:9], plain[9:]), kind, False, CONFIG_MAP),
            (orjson.dumps(CONFIG_MAP, option=orjson.OPT_INDENT_2), kind, False, CONFIG_MAP),
            (plain, kind, True, BARE),
            (encode_yaml(CONFIG_MAP), "application/yaml", False, CONFIG_MAP),
            (wrap("v1", "ConfigMap", codec.encode_protobuf(canonical)), "application/vnd.orch.protobuf", False,
             canonical),
            (b"ok", "text/plain", False, None),
            (b'{"major":"1"}', kind, False, None),
            (b'{"kind":', kind, True, None),
            (b"", "", False, None),
        ):
            outcome = {"omit_managed_fields": omits}
            answer = self.serve(answers(body, content_type), level=REQUEST_RESPONSE, outcome=outcome)
            self.successResultOf(answer).end(Ending.COMPLETE)
            self.assertEqual(self.last.get("responseObject"), expected, body)
            self.assertNotIn(b"\n", self.sink.events[-1].json)
        self.successResultOf(self.serve(answers(plain, kind), level=REQUEST))
        self.assertNotIn("responseObject", self.last)

    def test_lists_without_managed_fields(self) -> None:
        """Items of lists and objects of rows lose them too."""
        body = {"kind": "List", "items": [CONFIG_MAP], "rows": [{"cells": [], "object": CONFIG_MAP}, {}]}
        outcome = {"omit_managed_fields": True}
        answer = answers(orjson.dumps(body), "application/json")
        self.successResultOf(self.serve(answer, level=REQUEST_RESPONSE, outcome=outcome))
        expected = {"kind": "List", "items": [BARE], "rows": [{"cells": [], "object": BARE}, {}]}
        self.assertEqual(self.last["responseObject"], expected)

    def test_answers_in_parts(self) -> None:
        """An answer that is made as it is sent is complete when it is sent, and shown as far as it is bounded."""
        for parts, expected in (
            ([b'{"kind":"List",', b'"items":[]}'], {"kind": "List", "items": []}),
            ([b"x" * (MOST_BYTES // 2)] * 3, None),
        ):

            async def handler(request: Request, parts: list[bytes] = parts) -> Response:
                return Response(content_type="application/json", parts=iter(parts))

            answer = self.successResultOf(self.serve(handler, level=REQUEST_RESPONSE))
            self.assertEqual(self.stages[-1], "RequestReceived")
            self.assertEqual(list(answer.parts or ()), parts)
            answer.end(Ending.COMPLETE)
            self.assertEqual((self.stages[-1], self.last.get("responseObject")), ("ResponseComplete", expected))
            truncated = self.last.get("annotations", {}).get("audit.orch.io/truncated")
            self.assertEqual(truncated, None if expected else "true")
