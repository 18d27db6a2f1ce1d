"""Answers of webhooks, good and bad (reference HOOK-13, HOOK-22)."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import orjson
from twisted.trial.unittest import SynchronousTestCase

from orchtw.admission.webhooks.answer import INVALID, UNREADABLE, BadAdmissionReview, Expected, ReviewAnswer
from tests.admission.asked import CODECS

V1 = "admission.orch.io/v1"
PATCH = b64encode(b"[]").decode()


def review(response: Any = None, api_version: str = V1, kind: str = "AdmissionReview", **more: Any) -> bytes:
    return orjson.dumps({"apiVersion": api_version, "kind": kind, "response": response, **more})


def read(text: bytes, version: str = "v1", *, mutating: bool = True) -> ReviewAnswer:
    codec = CODECS.kind(f"admission.orch.io/{version}", "AdmissionReview")
    return Expected(version=version, uid="u", mutating=mutating, codec=codec).read(text)


# Response, whether it came from a mutating webhook, what is wrong.
BAD_V1: tuple[tuple[Any, bool, str], ...] = (
    (None, True, "webhook response was absent"),
    ({}, True, 'expected response.uid="u", got ""'),
    ({"uid": "x" * 99}, True, f'expected response.uid="u", got "{"x" * 64}..."'),
    ({"uid": "u", "patch": PATCH}, True, "webhook returned response.patch but not response.patchType"),
    ({"uid": "u", "patchType": "JSONPatch"}, True, "webhook returned response.patchType but not response.patch"),
    ({"uid": "u", "patchType": "X", "patch": PATCH}, True, 'webhook returned invalid response.patchType of "X"'),
    ({"uid": "u", "patchType": "", "patch": PATCH}, True, 'webhook returned invalid response.patchType of ""'),
    ({"uid": "u", "patch": PATCH}, False, "validating webhook may not return response.patch"),
    ({"uid": "u", "patchType": "JSONPatch"}, False, "validating webhook may not return response.patchType"),
)


class AnswerTests(SynchronousTestCase):
    def test_good(self) -> None:
        """All that an answer can say is read; the request need not be left out (reference HOOK-13)."""
        status = {"code": 403, "message": "no", "reason": "Other"}
        response = {
            "uid": "u",
            "allowed": True,
            "status": status,
            "patch": b64encode(b"[1]").decode(),
            "patchType": "JSONPatch",
            "warnings": ["w"],
            "auditAnnotations": {"k": "v"},
        }
        found = read(review(response, request={"uid": 1}))
        self.assertEqual((found.allowed, found.patch, found.warnings), (True, b"[1]", ("w",)))
        self.assertEqual(found.annotations, {"k": "v"})
        assert found.status is not None
        self.assertEqual({key: found.status[key] for key in status}, status)

    def test_least(self) -> None:
        """An absent `allowed` means no."""
        self.assertEqual(read(review({"uid": "u"})), ReviewAnswer(allowed=False))

    def test_invalid(self) -> None:
        """Of v1 the uid, the kind and what belongs together are checked."""
        for response, mutating, why in BAD_V1:
            error = self.assertRaises(BadAdmissionReview, read, review(response), mutating=mutating)
            self.assertEqual((str(error), error.code), (INVALID + why, 503))

    def test_another_kind(self) -> None:
        """It must be a review of the version that was sent."""
        expected = f"{INVALID}expected webhook response of {V1}, Kind=AdmissionReview, got "
        for api_version, kind, shown in (
            ("admission.orch.io/v1beta1", "AdmissionReview", "admission.orch.io/v1beta1, Kind=AdmissionReview"),
            (V1, "Other", f"{V1}, Kind=Other"),
            ("", "", "/, Kind="),
        ):
            error = self.assertRaises(BadAdmissionReview, read, review({"uid": "u"}, api_version, kind))
            self.assertEqual(str(error), expected + shown)

    def test_unreadable(self) -> None:
        """Malformed JSON, or JSON of wrong types, is a failure too."""
        for text, why in (
            (b"<html></html>", "couldn't get version/kind; json parse error: "),
            (b"[]", "couldn't get version/kind; json parse error: a list is not an object"),
            (review({"uid": 1}), "response.uid: expected a string, got number 1"),
            (review({"uid": "u", "allowed": "x"}), 'response.allowed: expected a boolean, got string "x"'),
            (review({"uid": "u", "patch": "!"}), 'response.patch: expected base64 text, got string "!"'),
            (review([]), "response: expected an object, got a list"),
        ):
            error = self.assertRaises(BadAdmissionReview, read, text)
            self.assertTrue(str(error).startswith(UNREADABLE + why), str(error))
            self.assertEqual(error.code, 400)

    def test_older(self) -> None:
        """Of v1beta1 nobody checks the uid, kind and version may be left out, and a patch needs no type; a validating
        one's is ignored.
        """
        beta = "admission.orch.io/v1beta1"
        found = read(review({"allowed": True, "patch": b64encode(b"[1]").decode()}, beta), "v1beta1")
        self.assertEqual((found.allowed, found.patch), (True, b"[1]"))
        text = review({"allowed": True, "patch": PATCH, "patchType": "X"}, beta)
        self.assertEqual(read(text, "v1beta1", mutating=False), ReviewAnswer(allowed=True))
        self.assertEqual(read(b'{"response":{"allowed":true}}', "v1beta1"), ReviewAnswer(allowed=True))
        for api_version, kind in ((V1, "AdmissionReview"), (beta, "Other"), ("v1", "Status")):
            text = review({"allowed": True}, api_version, kind)
            error = self.assertRaises(BadAdmissionReview, read, text, "v1beta1")
            self.assertIn(f"expected webhook response of {beta}, Kind=AdmissionReview, got ", str(error))
        error = self.assertRaises(BadAdmissionReview, read, review(None, beta), "v1beta1")
        self.assertEqual(str(error), INVALID + "webhook response was absent")
