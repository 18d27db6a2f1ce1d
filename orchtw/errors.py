"""Every refusal the API can give, as exceptions that become Status objects at the edge.

One class per API reason (reference ERR-3). Constructors that carry a known text (reference ERR-6) are class
methods; raise those. Anything that is not a `StatusError` is the server's own fault and ends in a 500.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final, Self

import msgspec

MAX_CAUSES: Final = 100
"""Causes that one refusal shows; what comes after them is not worth finding."""

MAX_CAUSES_CHARACTERS: Final = 64 * 1024
"""Size limit of the texts of all causes: a response is no longer than its reader can use."""

MAX_NAME_CHARACTERS: Final = 1024
"""Size limit of a name repeated in a refusal; legal ones are a quarter of that."""

MORE_CAUSES: Final = "there are more errors; they are not shown"


class Cause(msgspec.Struct, frozen=True):
    """One reason of several: its type ("FieldValueInvalid"), text and field path ("metadata.name")."""

    reason: str
    message: str
    field: str = ""

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" if self.field else self.message

    def to_json(self) -> dict[str, str]:
        """Return the entry of `details.causes`; empty parts left out."""
        out = {"reason": self.reason, "message": self.message, "field": self.field}
        return {key: value for key, value in out.items() if value}


def shown_causes(causes: Sequence[Cause]) -> Sequence[Cause]:
    """Return as many causes as a refusal shows, at least the first; if some are left out, a last one says so."""
    shown, characters = 0, 0
    for cause in causes[:MAX_CAUSES]:
        characters += len(cause.field) + len(cause.message)
        if shown and characters > MAX_CAUSES_CHARACTERS:
            break
        shown += 1
    return causes if shown == len(causes) else [*causes[:shown], Cause("", MORE_CAUSES)]


class StatusError(Exception):
    """A refusal with a code, a reason, a message and details (reference ERR-1).

    `details` holds the parts of Status.details that apply (name, group, kind, uid, causes,
    retryAfterSeconds); None leaves the member out. `metadata` is Status.metadata (ListMeta), which only
    an expired continue token fills.
    """

    code: ClassVar[int] = 500
    reason: ClassVar[str] = ""

    def __init__(
        self, message: str, details: dict[str, Any] | None = None, metadata: dict[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.details = details
        self.metadata = metadata or {}

    def to_status(self) -> dict[str, Any]:
        """Return the Status object in canonical key order."""
        status: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": self.metadata,
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            status["reason"] = self.reason
        if self.details is not None:
            status["details"] = self.details
        status["code"] = self.code
        return status

    @property
    def retry_after_s(self) -> int:
        """Seconds for a Retry-After header; 0 means none."""
        return int((self.details or {}).get("retryAfterSeconds", 0))


def qualified(resource: str, group: str) -> str:
    """`pods` or `deployments.apps`: how messages name a resource or a kind."""
    return f"{resource}.{group}" if group else resource


def _details(name: str, group: str, kind: str, **more: Any) -> dict[str, Any]:
    out = {"name": name, "group": group, "kind": kind, **more}
    return {key: value for key, value in out.items() if value}


class BadRequest(StatusError):
    """400: the request itself cannot be understood."""

    code, reason = 400, "BadRequest"


class Unauthorized(StatusError):
    """401: credentials are missing, unknown or wrong."""

    code, reason = 401, "Unauthorized"

    def __init__(self, why: str = "") -> None:
        """`why` is for the operator's log; the client is told nothing."""
        super().__init__("Unauthorized")
        self.why = why


class Forbidden(StatusError):
    """403: known, but not allowed."""

    code, reason = 403, "Forbidden"

    @classmethod
    def of(
        cls, resource: str, group: str, name: str, why: str, causes: Sequence[Cause] = ()
    ) -> Forbidden:
        """`pods "x" is forbidden: why`; without a name the quoted part is left out."""
        subject = qualified(resource, group) + (f' "{name}"' if name else "")
        return cls(
            f"{subject} is forbidden: {why}",
            _details(name, group, resource, causes=[cause.to_json() for cause in causes]),
        )

    @classmethod
    def path(cls, why: str) -> Forbidden:
        """Return a non-resource path that the user may not reach."""
        return cls(f"forbidden: {why}", {})


class NotFound(StatusError):
    """404: no such object or path."""

    code, reason = 404, "NotFound"

    @classmethod
    def of(cls, resource: str, group: str, name: str) -> NotFound:
        """Return no object of that name."""
        return cls(f'{qualified(resource, group)} "{name}" not found', _details(name, group, resource))

    @classmethod
    def generic(cls, why: str = "") -> NotFound:
        """Return no such resource or path."""
        text = "the server could not find the requested resource"
        return cls(f"{text}: {why}" if why else text, {})


class MethodNotAllowed(StatusError):
    """405: the path exists, the method does not apply to it."""

    code, reason = 405, "MethodNotAllowed"

    def __init__(self) -> None:
        super().__init__("the server does not allow this method on the requested resource", {})

    @classmethod
    def at_present(cls, why: str) -> MethodNotAllowed:
        """Return the method applies at other times."""
        refusal = cls()
        refusal.message = why
        return refusal


class NotAcceptable(StatusError):
    """406: no requested media type can be served."""

    code, reason = 406, "NotAcceptable"

    @classmethod
    def of(cls, served: Sequence[str]) -> NotAcceptable:
        """Names the media types that are possible."""
        return cls("only the following media types are accepted: " + ", ".join(served), {})


_NO_UNIQUE_NAME: Final = "the server was not able to generate a unique name for the object"


class AlreadyExists(StatusError):
    """409: create of a name that is taken."""

    code, reason = 409, "AlreadyExists"

    @classmethod
    def of(cls, resource: str, group: str, name: str, *, ending: bool = False) -> AlreadyExists:
        """Return the name is taken, by an object that is being deleted if `ending` (reference ERR-6)."""
        return cls(cls._text(resource, group, name, ending), _details(name, group, resource))

    @classmethod
    def generated(cls, resource: str, group: str, name: str, *, ending: bool = False) -> AlreadyExists:
        """Return a generated name collided; the client may try again at once (reference OBJ-30)."""
        text = f"{cls._text(resource, group, name, ending)}, {_NO_UNIQUE_NAME}"
        return cls(text, _details(name, group, resource, retryAfterSeconds=1))

    @staticmethod
    def _text(resource: str, group: str, name: str, ending: bool) -> str:
        taken = f'{qualified(resource, group)} "{name}" already exists'
        return f"object is being deleted: {taken}" if ending else taken


class Conflict(StatusError):
    """409: a precondition on the stored object does not hold."""

    code, reason = 409, "Conflict"

    @classmethod
    def of(cls, resource: str, group: str, name: str, why: str) -> Conflict:
        """Return the operation cannot be fulfilled, and why."""
        return cls(
            f'Operation cannot be fulfilled on {qualified(resource, group)} "{name}": {why}',
            _details(name, group, resource),
        )

    @classmethod
    def modified(cls, resource: str, group: str, name: str) -> Conflict:
        """Return a stale resourceVersion (reference ERR-7)."""
        why = "the object has been modified; please apply your changes to the latest version and try again"
        return cls.of(resource, group, name, why)


class Gone(StatusError):
    """410: it was here and will not come back."""

    code, reason = 410, "Gone"


class Expired(StatusError):
    """410: the asked version is older than the kept history (reference READ-9)."""

    code, reason = 410, "Expired"

    @classmethod
    def watch(cls, asked: int, oldest: int) -> Expired:
        """Return a watch from before the kept history."""
        return cls(f"too old resource version: {asked} ({oldest})")

    @classmethod
    def list(cls) -> Expired:
        """Return a list at a version that has been compacted."""
        return cls("The resourceVersion for the provided list is too old.")

    @classmethod
    def token(cls, fresh: str) -> Expired:
        """Return an expired continue token; `fresh` resumes at the latest version (reference ERR-23)."""
        text = (
            "The provided continue parameter is too old to display a consistent list result. You can start a new "
            "list without the continue parameter, or use the continue token in this response to retrieve the "
            "remainder of the results. Continuing with the provided token results in an inconsistent list - objects "
            "that were created, modified, or deleted between the time the first chunk was returned and now may show "
            "up in the list."
        )
        return cls(text, None, {"continue": fresh})


class RequestEntityTooLarge(StatusError):
    """413: the body is over the limit."""

    code, reason = 413, "RequestEntityTooLarge"

    @classmethod
    def limit(cls, limit_bytes: int) -> Self:
        """Return the error that names the limit."""
        return cls(f"Request entity too large: limit is {limit_bytes}")


class TooLargeToStore(Exception):
    """Mark of a refusal because of the size of one object in the store: without field owners it may be smaller."""


class ObjectTooLarge(RequestEntityTooLarge, TooLargeToStore):
    """413: the object would be larger than any may be in the store (reference LIMIT-1)."""


class UnsupportedMediaType(StatusError):
    """415: the body's media type is not one that this endpoint reads."""

    code, reason = 415, "UnsupportedMediaType"

    @classmethod
    def of(cls, accepted: Sequence[str]) -> UnsupportedMediaType:
        """Names the media types that are read."""
        text = "the body of the request was in an unknown format - accepted media types include: "
        return cls(text + ", ".join(accepted), {})


class Invalid(StatusError):
    """422: understood, but not a valid object."""

    code, reason = 422, "Invalid"

    @classmethod
    def of(cls, kind: str, group: str, name: str, causes: Sequence[Cause]) -> Invalid:
        """`ConfigMap "x" is invalid: <causes>`; equal texts are shown once and kept in the causes.

        At most MAX_CAUSES and MAX_CAUSES_CHARACTERS of them; a last one says if there are more.
        """
        causes, name = shown_causes(causes), name[:MAX_NAME_CHARACTERS]
        texts = list(dict.fromkeys(map(str, causes)))
        tail = texts[0] if len(texts) == 1 else "[" + ", ".join(texts) + "]"
        return cls(
            f'{qualified(kind, group)} "{name}" is invalid: {tail}',
            _details(name, group, kind, causes=[cause.to_json() for cause in causes]),
        )


class TooManyRequests(StatusError):
    """429: come back later."""

    code, reason = 429, "TooManyRequests"

    @classmethod
    def no_room(cls) -> TooManyRequests:
        """Return the budget of bytes is spent (reference LIMIT-9)."""
        text = "the server holds too many bytes of unfinished requests and responses, please try again later"
        return cls(text, {"retryAfterSeconds": 1})


class InternalError(StatusError):
    """500: the server's own fault."""

    code, reason = 500, "InternalError"

    @classmethod
    def of(cls, why: str) -> InternalError:
        """Return an internal error with its text as the one cause (reference ERR-38)."""
        return cls(f"Internal error occurred: {why}", {"causes": [{"message": why}]})

    @classmethod
    def no_memory(cls) -> InternalError:
        """Return the process gets no memory for a request, which may be repeated soon (reference ERR-41)."""
        text = "the server is out of memory, please try again later"
        return cls(f"Internal error occurred: {text}", {"causes": [{"message": text}], "retryAfterSeconds": 1})

    @classmethod
    def damaged(cls, key: str) -> InternalError:
        """Return the stored bytes of a key are not what was written, or nobody can read them."""
        return cls.of(f"the stored object {key} is damaged; delete it, or restore a backup")

    @classmethod
    def unreadable(cls, key: str, why: str) -> InternalError:
        """Return the value of a key cannot be sealed or opened with the keys that this server has."""
        return cls.of(f'unable to transform key "{key}": {why}')


class ServiceUnavailable(StatusError):
    """503: the server cannot handle the request now."""

    code, reason = 503, "ServiceUnavailable"


class Fenced(ServiceUnavailable):
    """503: a write by somebody who has lost the right to it (reference CTRL-51)."""

    def __init__(self) -> None:
        super().__init__("the Lease that this writer works under is not its own any more")


class Timeout(StatusError):
    """504: it did not happen in time."""

    code, reason = 504, "Timeout"

    @classmethod
    def request(cls) -> Timeout:
        """Return the request's own time limit passed."""
        return cls("Timeout: request did not complete within the allotted timeout")

    @classmethod
    def future_version(cls, asked: int, current: int) -> Timeout:
        """Return a resourceVersion that has not happened yet (reference ERR-24)."""
        cause = Cause("ResourceVersionTooLarge", "Too large resource version")
        return cls(
            f"Timeout: Too large resource version: {asked}, current: {current}",
            {"causes": [cause.to_json()], "retryAfterSeconds": 1},
        )


class ConfigError(Exception):
    """A flag or file that the operator must fix: one clear line each, and the start ends."""

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems
