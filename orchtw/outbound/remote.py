"""Another HTTP server as configuration names it: a URL or a Service, and how it is verified."""

from __future__ import annotations

from base64 import b64decode
from urllib.parse import urlsplit

import msgspec

from orchtw.config import host_and_port
from orchtw.outbound.credentials import Credentials
from orchtw.outbound.policy import TLSPolicy
from orchtw.outbound.services import ServiceReference
from orchtw.wire.objects import Object


class Remote(msgspec.Struct, frozen=True, kw_only=True):
    """Target of requests. `url` has scheme, host, perhaps a port and a path, and no query."""

    url: str
    tls: TLSPolicy = msgspec.field(default_factory=TLSPolicy)
    service: ServiceReference | None = None
    endpoints_only: bool = False
    credentials: Credentials | None = None

    @classmethod
    def of_service(
        cls, service: ServiceReference, path: str = "", tls: TLSPolicy | None = None, *, endpoints_only: bool = False
    ) -> Remote:
        """Return the remote of a Service; its certificate must be for `<name>.<namespace>.svc`."""
        url = f"https://{host_and_port(service.host, service.port)}{_rooted(path)}"
        return cls(url=url, tls=tls or TLSPolicy(), service=service, endpoints_only=endpoints_only)

    @classmethod
    def of_client_config(cls, config: Object) -> Remote:
        """Return the remote of a valid `clientConfig`: `url` or `service`, and `caBundle` in base64."""
        tls = TLSPolicy(authorities=b64decode(config.get("caBundle") or ""))
        if (spec := config.get("service")) is None:
            return cls(url=rooted_url(config["url"]), tls=tls)
        service = ServiceReference(namespace=spec["namespace"], name=spec["name"], port=spec.get("port", 443))
        return cls.of_service(service, spec.get("path", ""), tls)

    @property
    def host(self) -> str:
        """Host of the URL, without brackets."""
        return urlsplit(self.url).hostname or ""


def server_url(text: str) -> str:
    """Return the URL of a server, rooted. Raises ValueError for what is not one, or has a user, query or fragment."""
    parts = urlsplit(text)
    good = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    if not good or parts.query or parts.fragment or parts.username is not None:
        raise ValueError(f"{text!r} is not the URL of a server")
    return rooted_url(text)


def rooted_url(url: str) -> str:
    """Return a URL with its path in the form of requests."""
    parts = urlsplit(url)
    return parts._replace(path=_rooted(parts.path)).geturl()


def _rooted(path: str) -> str:
    """Return a path in the form of requests: with a slash before, and none behind."""
    return "/" + path.strip("/")
