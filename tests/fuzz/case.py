"""One request of the fuzzer, and how it is written down to be sent again."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Case:
    """A request: `target` is path and query as they are sent.

    `raw`: instead of a request, these bytes go over a connection of their own. `streams`: the answer is a watch, and
    is left after `patience_s`.
    """

    method: str = "GET"
    target: str = "/"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    raw: bytes = b""
    streams: bool = False
    patience_s: float = 0.0
    chunked: bool = False

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]

    @property
    def writes(self) -> bool:
        """Report whether a success leaves something behind."""
        return self.method in ("POST", "PUT", "PATCH") and "dryRun" not in self.target and not self.raw

    def message(self, host: str, audit_id: str, token: str) -> bytes:
        """The bytes on the wire."""
        if self.raw:
            return self.raw
        lines = [
            f"{self.method} {self.target} HTTP/1.1", f"Host: {host}", f"Audit-Id: {audit_id}",
            *(f"{name}: {value}" for name, value in self.headers.items()),
        ]  # fmt: skip
        if "Authorization" not in self.headers:
            lines.append(f"Authorization: Bearer {token}")
        body = self.body
        if self.chunked:
            lines.append("Transfer-Encoding: chunked")
            middle = len(body) // 2
            parts = [part for part in (body[:middle], body[middle:]) if part]
            body = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"
        elif body or self.method in ("POST", "PUT", "PATCH"):
            lines.append(f"Content-Length: {len(body)}")
        return "\r\n".join(lines).encode("utf-8", "surrogatepass") + b"\r\n\r\n" + body

    def to_json(self) -> dict[str, Any]:
        """As a kept file holds it; what is at its default is left out."""
        out: dict[str, Any] = {"method": self.method, "target": self.target, "headers": dict(self.headers)}
        for name in ("body", "raw"):
            if data := getattr(self, name):
                out[name] = base64.b64encode(data).decode()
        for name in ("streams", "patience_s", "chunked"):
            if value := getattr(self, name):
                out[name] = value
        return out

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Case:
        """The case that `to_json` wrote."""
        found = {**value}
        for name in ("body", "raw"):
            if name in found:
                found[name] = base64.b64decode(found[name])
        return cls(**found)
