"""Refusals as Status objects: codes, reasons, texts and details (reference ERR-1, ERR-6)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw import errors
from orchtw.errors import Cause, StatusError

NOW = "please apply your changes to the latest version and try again"

# Refusal, code and reason, message, and details (None without any).
REFUSALS: tuple[tuple[StatusError, int, str, str, dict[str, Any] | None], ...] = (
    (errors.BadRequest("why"), 400, "BadRequest", "why", None),
    (errors.Unauthorized("wrong token"), 401, "Unauthorized", "Unauthorized", None),
    (
        errors.Forbidden.of("pods", "", "p", "no"),
        403, "Forbidden", 'pods "p" is forbidden: no', {"name": "p", "kind": "pods"},
    ),
    (
        errors.Forbidden.of("deployments", "apps", "", "no", [Cause("r", "m", "f")]),
        403, "Forbidden", "deployments.apps is forbidden: no",
        {"group": "apps", "kind": "deployments", "causes": [{"reason": "r", "message": "m", "field": "f"}]},
    ),
    (errors.Forbidden.path("no"), 403, "Forbidden", "forbidden: no", {}),
    (
        errors.NotFound.of("deployments", "apps", "d"),
        404, "NotFound", 'deployments.apps "d" not found', {"name": "d", "group": "apps", "kind": "deployments"},
    ),
    (errors.NotFound.generic(), 404, "NotFound", "the server could not find the requested resource", {}),
    (
        errors.NotFound.generic("x"), 404, "NotFound", "the server could not find the requested resource: x", {},
    ),
    (
        errors.MethodNotAllowed(), 405, "MethodNotAllowed",
        "the server does not allow this method on the requested resource", {},
    ),
    (
        errors.NotAcceptable.of(["a/b", "c/d"]), 406, "NotAcceptable",
        "only the following media types are accepted: a/b, c/d", {},
    ),
    (
        errors.AlreadyExists.of("pods", "", "p"),
        409, "AlreadyExists", 'pods "p" already exists', {"name": "p", "kind": "pods"},
    ),
    (
        errors.AlreadyExists.generated("pods", "", "p"), 409, "AlreadyExists",
        'pods "p" already exists, the server was not able to generate a unique name for the object',
        {"name": "p", "kind": "pods", "retryAfterSeconds": 1},
    ),
    (
        errors.Conflict.modified("pods", "", "p"), 409, "Conflict",
        f'Operation cannot be fulfilled on pods "p": the object has been modified; {NOW}',
        {"name": "p", "kind": "pods"},
    ),
    (errors.Gone("why"), 410, "Gone", "why", None),
    (errors.Expired.watch(3, 9), 410, "Expired", "too old resource version: 3 (9)", None),
    (
        errors.Expired.list(), 410, "Expired", "The resourceVersion for the provided list is too old.", None,
    ),
    (
        errors.RequestEntityTooLarge.limit(3145728), 413, "RequestEntityTooLarge",
        "Request entity too large: limit is 3145728", None,
    ),
    (
        errors.ObjectTooLarge.limit(10), 413, "RequestEntityTooLarge", "Request entity too large: limit is 10", None,
    ),
    (
        errors.UnsupportedMediaType.of(["a/b"]), 415, "UnsupportedMediaType",
        "the body of the request was in an unknown format - accepted media types include: a/b", {},
    ),
    (errors.TooManyRequests("later"), 429, "TooManyRequests", "later", None),
    (
        errors.InternalError.of("why"), 500, "InternalError", "Internal error occurred: why",
        {"causes": [{"message": "why"}]},
    ),
    (errors.ServiceUnavailable("why"), 503, "ServiceUnavailable", "why", None),
    (
        errors.Fenced(), 503, "ServiceUnavailable",
        "the Lease that this writer works under is not its own any more", None,
    ),
    (
        errors.Timeout.request(), 504, "Timeout",
        "Timeout: request did not complete within the allotted timeout", None,
    ),
    (
        errors.Timeout.future_version(9, 7), 504, "Timeout",
        "Timeout: Too large resource version: 9, current: 7",
        {"causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
         "retryAfterSeconds": 1},
    ),
)  # fmt: skip


class StatusTests(SynchronousTestCase):
    def test_refusals(self) -> None:
        """Each refusal is a Status with the reference's code, reason and words (reference ERR-38, ERR-39)."""
        for error, code, reason, message, details in REFUSALS:
            expected = {
                "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message,
                "reason": reason, **({} if details is None else {"details": details}), "code": code,
            }  # fmt: skip
            self.assertEqual(list(error.to_status().items()), list(expected.items()))
            self.assertEqual(str(error), message)

    def test_codes(self) -> None:
        """Reasons and codes are those of the reference's table (reference ERR-3)."""
        page = Path(__file__).resolve().parent.parent / "docs" / "reference" / "errors.md"
        rule = page.read_text().partition("**ERR-3**")[2].partition("**ERR-4**")[0]
        told = {
            (int(code), reason)
            for code, reasons in re.findall(r"^\| (\d+) \| (.*) \|$", rule, re.M)
            for reason in reasons.replace("and none (Unknown)", "").strip(", ").split(", ")
        }
        self.assertEqual({(error.code, error.reason) for error, *_ in REFUSALS} | {(422, "Invalid")}, told)

    def test_every_class(self) -> None:
        """Each refusal of the API is among them, or has a test of its own."""
        known = {type(error) for error, *_ in REFUSALS} | {errors.Invalid}
        classes = {each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, StatusError)}
        self.assertEqual(classes - {StatusError}, known)

    def test_without_reason(self) -> None:
        """A refusal that no reason fits leaves it out."""
        self.assertNotIn("reason", StatusError("why").to_status())

    def test_retry_after(self) -> None:
        """An error with a retry delay carries it for the Retry-After header too."""
        self.assertEqual([each.retry_after_s for each in (
            errors.Timeout.future_version(2, 1), errors.AlreadyExists.generated("pods", "", "p"),
            errors.TooManyRequests("later", {"retryAfterSeconds": 7}), errors.TooManyRequests("later"),
        )], [1, 1, 7, 0])  # fmt: skip

    def test_reason_of_401_is_for_the_log(self) -> None:
        """A client is not told what is wrong with its credentials."""
        error = errors.Unauthorized("the token is expired")
        self.assertEqual(error.why, "the token is expired")
        self.assertNotIn("token", str(error.to_status()))

    def test_expired_token(self) -> None:
        """An expired continue token is answered with a fresh one."""
        status = errors.Expired.token("fresh").to_status()
        self.assertEqual((status["code"], status["reason"]), (410, "Expired"))
        self.assertEqual(status["metadata"], {"continue": "fresh"})
        self.assertIn("use the continue token in this response", status["message"])


class InvalidTests(SynchronousTestCase):
    def test_one_cause(self) -> None:
        """A single cause ends the message, with its field before its text."""
        cause = Cause("FieldValueRequired", "Required value", "a.b")
        status = errors.Invalid.of("ConfigMap", "", "m", [cause]).to_status()
        self.assertEqual(status["message"], 'ConfigMap "m" is invalid: a.b: Required value')
        self.assertEqual(
            status["details"],
            {"name": "m", "kind": "ConfigMap",
             "causes": [{"reason": "FieldValueRequired", "message": "Required value", "field": "a.b"}]},
        )  # fmt: skip

    def test_several(self) -> None:
        """Several causes are in brackets; a repeated text appears once, but all causes are kept."""
        causes = [Cause("R", "one", "f"), Cause("R", "two"), Cause("S", "one", "f")]
        status = errors.Invalid.of("Role", "rbac.orch.io", "r", causes).to_status()
        self.assertEqual(status["message"], 'Role.rbac.orch.io "r" is invalid: [f: one, two]')
        self.assertEqual(len(status["details"]["causes"]), 3)

    def test_long_name(self) -> None:
        """A name of megabytes is not repeated."""
        status = errors.Invalid.of("Pod", "", "x" * (1 << 20), [Cause("R", "m")]).to_status()
        self.assertEqual(len(status["details"]["name"]), errors.MAX_NAME_CHARACTERS)
        self.assertLess(len(status["message"]), 2 * errors.MAX_NAME_CHARACTERS)


class ConfigErrorTests(SynchronousTestCase):
    def test_lines(self) -> None:
        """Every problem is a line."""
        error = errors.ConfigError("one", "two")
        self.assertEqual((str(error), error.problems), ("one\ntwo", ("one", "two")))
