"""Status codes of gRPC, and the error of a call."""

from __future__ import annotations

from typing import Final

CANCELLED, DEADLINE_EXCEEDED, NOT_FOUND, RESOURCE_EXHAUSTED = 1, 4, 5, 8
OUT_OF_RANGE, INTERNAL, UNAVAILABLE = 11, 13, 14

LATE: Final = "context deadline exceeded"

_NAMES: Final = (
    "OK", "Canceled", "Unknown", "InvalidArgument", "DeadlineExceeded", "NotFound", "AlreadyExists",
    "PermissionDenied", "ResourceExhausted", "FailedPrecondition", "Aborted", "OutOfRange", "Unimplemented",
    "Internal", "Unavailable", "DataLoss", "Unauthenticated",
)  # fmt: skip


class RpcError(Exception):
    """Failure of a call with `code`; `sent`: the server may nevertheless have executed it."""

    def __init__(self, code: int, text: str, *, sent: bool = True) -> None:
        super().__init__(text)
        self.code = code
        self.text = text
        self.sent = sent

    @property
    def shown(self) -> str:
        """The error in the reference server's words."""
        name = _NAMES[self.code] if self.code < len(_NAMES) else f"Code({self.code})"
        return f"rpc error: code = {name} desc = {self.text}"
