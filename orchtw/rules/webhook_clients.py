"""Validation of webhooks' client configuration: URL or service, and review versions (reference HOOK-4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.values.causes import invalid, required
from orchtw.values.names import dns_1035_label, dns_subdomain
from orchtw.values.ports import port_number

REVIEW_VERSIONS: Final = ("v1", "v1beta1")
"""Review versions that the server can send."""

_DESIRED: Final = "; desired format: https://host[/path]"


def client_causes(client: Mapping[str, Any]) -> list[Cause]:
    """Return the causes that reject a clientConfig, which must have either a URL or a service."""
    url, service = client.get("url"), client.get("service")
    if (url is None) is (service is None):
        return [required("", "exactly one of url or service is required")]
    return url_causes(url or "", "url") if service is None else service_causes(service, "service")


def url_causes(url: str, field: str) -> list[Cause]:
    """Return the causes that reject the webhook's URL at `field`."""
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
    """Return the causes that reject the webhook's service reference at `field`."""
    causes = []
    if not service.get("name"):
        causes.append(required(f"{field}.name", "service name is required"))
    if not service.get("namespace"):
        causes.append(required(f"{field}.namespace", "service namespace is required"))
    port = service.get("port", 443)
    causes += [invalid(f"{field}.port", port, f"port is not valid: {text}") for text in port_number(port)]
    path = service.get("path")
    return causes if path is None else causes + _path_causes(path, f"{field}.path")


def _path_causes(path: str, field: str) -> list[Cause]:
    """Return the causes that reject the path of a service reference; one final slash is ignored."""
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


def review_causes(versions: Sequence[str], must_know: bool, field: str) -> list[Cause]:
    """Return the causes that reject review versions: duplicate, malformed or, with `must_know`, none supported."""
    causes: list[Cause] = []
    seen: set[str] = set()
    for index, version in enumerate(versions):
        if len(causes) > MAX_CAUSES:
            break
        if version in seen:
            causes.append(invalid(f"{field}[{index}]", version, "duplicate version"))
            continue
        seen.add(version)
        causes += [invalid(f"{field}[{index}]", version, text) for text in dns_1035_label(version)]
    if must_know and not knows_review(versions):
        causes.append(invalid(field, versions, f"must include at least one of {', '.join(REVIEW_VERSIONS)}"))
    return causes


def knows_review(versions: Sequence[str]) -> bool:
    """Report whether the server supports one of the review versions."""
    return any(version in REVIEW_VERSIONS for version in versions)
