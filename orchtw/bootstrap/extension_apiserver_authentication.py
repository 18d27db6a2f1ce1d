"""ConfigMap by which extension servers verify this server and its clients (reference AGG-7, AGG-12).

Servers on one store may have authorities of their own, so each adds its own to the present ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

import msgspec
import orjson
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from orchtw.bootstrap.ensurer import Ensurer
from orchtw.wire.json_values import loads

NAME = "extension-apiserver-authentication"
CLIENT_CA, PROXY_CA = "client-ca-file", "requestheader-client-ca-file"
UID_HEADERS = "requestheader-uid-headers"


class AuthenticationInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Authorities of client certificates and of front proxies, as PEM text, and the proxies' names and headers."""

    client_ca: str = ""
    proxy_ca: str = ""
    username_headers: tuple[str, ...] = ()
    uid_headers: tuple[str, ...] = ()
    group_headers: tuple[str, ...] = ()
    extra_prefixes: tuple[str, ...] = ()
    allowed_names: tuple[str, ...] = ()

    def merged(self, data: Mapping[str, str], now: datetime) -> dict[str, str]:
        """Return the ConfigMap's data with this added, and without certificates that have expired by `now`.

        Present entries stay in front: otherwise two servers would reorder them for ever.
        """
        client_ca = _bundle((data.get(CLIENT_CA, ""), self.client_ca), now)
        found = {**data, CLIENT_CA: client_ca}
        if not client_ca:
            del found[CLIENT_CA]
        proxy_ca = _bundle((data.get(PROXY_CA, ""), self.proxy_ca), now)
        if proxy_ca:
            found[PROXY_CA] = proxy_ca
            for key, ours in self._lists().items():
                if key == UID_HEADERS and not ours:  # one that releases before 1.32 do not have
                    continue
                found[key] = orjson.dumps(list(dict.fromkeys((*_list(data.get(key, "")), *ours)))).decode()
        return found

    def _lists(self) -> dict[str, tuple[str, ...]]:
        return {
            "requestheader-username-headers": self.username_headers,
            UID_HEADERS: self.uid_headers,
            "requestheader-group-headers": self.group_headers,
            "requestheader-extra-headers-prefix": self.extra_prefixes,
            "requestheader-allowed-names": self.allowed_names,
        }


async def publish_authentication_info(ensurer: Ensurer, info: AuthenticationInfo) -> None:
    """Update the ConfigMap with the present information."""
    namespace = ensurer.naming.system_namespace
    meta = {"name": NAME, "namespace": namespace}
    target = ensurer.targets.stored_target("", "v1", "configmaps")
    live = target.stored.get(namespace, NAME)
    data = {} if live is None else target.load(live).get("data") or {}
    now = datetime.fromtimestamp(ensurer.writes.now(), UTC)
    await ensurer.ensure_content("", "v1", "configmaps", {"metadata": meta, "data": info.merged(data, now)})


def _bundle(bundles: Iterable[str], now: datetime) -> str:
    """Return each unexpired certificate of these bundles once; unreadable ones are dropped."""
    found: dict[bytes, None] = {}
    for bundle in bundles:
        for certificate in _certificates(bundle):
            if certificate.not_valid_after_utc > now:
                found[certificate.public_bytes(Encoding.PEM)] = None
    return b"".join(found).decode()


def _certificates(bundle: str) -> list[x509.Certificate]:
    if not bundle.strip():
        return []
    try:
        return x509.load_pem_x509_certificates(bundle.encode())
    except (ValueError, x509.InvalidVersion):
        return []


def _list(text: str) -> list[str]:
    try:
        found = loads(text)
    except orjson.JSONDecodeError:
        return []
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []
