"""How a webhook is reached: the address or the service that its configuration names (reference HOOK-4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.rules.causes import invalid, required
from orchtw.rules.names import dns_subdomain

_DESIRED: Final = "; desired format: https://host[/path]"


def url_causes(url: str, field: str) -> list[Cause]:
    """Every reason why the webhook's address at `field` is invalid."""
    if any(char <= " " or char == "\x7f" for char in url):
        return [required(field, f"url must be a valid URL: it contains blanks or control characters{_DESIRED}")]
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        return [required(field, f"url must be a valid URL: {error}{_DESIRED}")]
    causes = []
    if parts.scheme != "https":
        causes.append(invalid(field, parts.scheme, f"'https' is the only allowed URL scheme{_DESIRED}"))
    if not host:
        causes.append(invalid(field, parts.netloc, f"host must be provided{_DESIRED}"))
    if "@" in parts.netloc:
        causes.append(invalid(field, parts.netloc.partition("@")[0], "user information is not permitted in the URL"))
    if parts.fragment:
        causes.append(invalid(field, parts.fragment, "fragments are not permitted in the URL"))
    if parts.query:
        causes.append(invalid(field, parts.query, "query parameters are not permitted in the URL"))
    return causes


def service_causes(service: Mapping[str, Any], field: str) -> list[Cause]:
    """Every reason why the webhook's service at `field` is invalid."""
    causes = []
    if not service.get("name"):
        causes.append(required(f"{field}.name", "service name is required"))
    if not service.get("namespace"):
        causes.append(required(f"{field}.namespace", "service namespace is required"))
    port = service.get("port", 443)
    if not 1 <= port <= 65535:
        causes.append(invalid(f"{field}.port", port, "port is not valid: must be between 1 and 65535, inclusive"))
    path = service.get("path")
    return causes if path is None else causes + _path_causes(path, f"{field}.path")


def _path_causes(path: str, field: str) -> list[Cause]:
    """What is wrong with the path of the request; one final slash counts for nothing."""
    if path in ("", "/"):
        return []
    if path == "//":
        return [invalid(field, path, "segment[0] may not be empty")]
    if not path.startswith("/"):
        return [invalid(field, path, "must start with a '/'")]
    causes: list[Cause] = []
    for index, segment in enumerate(path.removesuffix("/")[1:].split("/")):
        if len(causes) > MAX_CAUSES:
            break
        if not segment:
            causes.append(invalid(field, path, f"segment[{index}] may not be empty"))
        else:
            causes += [invalid(field, path, f"segment[{index}]: {text}") for text in dns_subdomain(segment)]
    return causes
