"""Responses of webhooks and their validation (reference HOOK-13, HOOK-22)."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from orchtw.admission.webhooks.review import KIND
from orchtw.errors import BadRequest
from orchtw.schema.codec.json_text import load_json
from orchtw.schema.codec.kind_codec import KindCodec
from orchtw.schema.codec.mismatch import describe, shortened
from orchtw.values.causes import go_quote
from orchtw.wire.objects import Object

JSON_PATCH: Final = "JSONPatch"
INVALID: Final = "received invalid webhook response: "
UNREADABLE: Final = "failed to call webhook: "


class BadAdmissionReview(Exception):
    """Error: a response is invalid, in the release's words; `code` is the status that the call counts as."""

    def __init__(self, why: str, code: int) -> None:
        super().__init__(why)
        self.code = code


class ReviewAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Response of a webhook: `status` is the Status of a refusal, or None; `patch` the JSON of a patch, or empty."""

    allowed: bool
    status: Object | None = None
    patch: bytes = b""
    warnings: tuple[str, ...] = ()
    annotations: Mapping[str, str] = msgspec.field(default_factory=dict)


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    """Expected response; `version`, `uid` and `codec` are those of the review that was sent."""

    version: str
    uid: str
    mutating: bool
    codec: KindCodec

    def read(self, text: bytes) -> ReviewAnswer:
        """Parse a response. Raises BadAdmissionReview."""
        try:
            review = load_json(text)
        except ValueError as error:
            raise _unreadable(f"couldn't get version/kind; json parse error: {error}") from None
        if type(review) is not dict:
            raise _unreadable(f"couldn't get version/kind; json parse error: {describe(review)} is not an object")
        response = self._response(review)
        if response is None:
            raise _invalid("webhook response was absent")
        self._check(review, response)
        return ReviewAnswer(
            allowed=response["allowed"],
            status=response.get("status"),
            patch=self._patch(response),
            warnings=tuple(response.get("warnings") or ()),
            annotations=response.get("auditAnnotations") or {},
        )

    def _response(self, review: Object) -> Object | None:
        """Return the `response` member with values of the right types, or None. Raises BadAdmissionReview."""
        if review.get("response") is None:
            return None
        try:
            found: Object = self.codec.normalise({"response": review["response"]})["response"]
        except BadRequest as problem:
            raise _unreadable(problem.message.partition(": ")[2]) from None
        return found

    def _check(self, review: Object, response: Object) -> None:
        """Check the response's uid and the review's kind; v1beta1 ignores the uid and does not need the kind.

        Raises BadAdmissionReview.
        """
        v1 = self.version == "v1"
        if v1 and response["uid"] != self.uid:
            raise _invalid(f"expected response.uid={go_quote(self.uid)}, got {go_quote(shortened(response['uid']))}")
        found, wanted = (review.get("apiVersion"), review.get("kind")), (self.codec.api_version, KIND)
        if found != wanted and (v1 or any(found)):
            expected = f"{self.codec.api_version}, Kind={KIND}"
            raise _invalid(f"expected webhook response of {expected}, got {_shown_kind(review)}")

    def _patch(self, response: Object) -> bytes:
        patch, kind = b64decode(response.get("patch") or ""), response.get("patchType")
        if self.version != "v1":
            return patch if self.mutating else b""
        if not self.mutating:
            if patch:
                raise _invalid("validating webhook may not return response.patch")
            if kind is not None:
                raise _invalid("validating webhook may not return response.patchType")
            return b""
        if patch and kind is None:
            raise _invalid("webhook returned response.patch but not response.patchType")
        if kind is not None and not patch:
            raise _invalid("webhook returned response.patchType but not response.patch")
        if kind not in (None, JSON_PATCH):
            raise _invalid(f"webhook returned invalid response.patchType of {go_quote(shortened(kind))}")
        return patch


def _invalid(why: str) -> BadAdmissionReview:
    return BadAdmissionReview(INVALID + why, 503)


def _unreadable(why: str) -> BadAdmissionReview:
    return BadAdmissionReview(UNREADABLE + why, 400)


def _shown_kind(review: Mapping[str, Any]) -> str:
    """Format a kind such as `ex.io/v1, Kind=Foo`."""
    version, kind = review.get("apiVersion"), review.get("kind")
    group, _, version = (version if type(version) is str else "").rpartition("/")
    return shortened(f"{group}/{version}, Kind={kind if type(kind) is str else ''}")
