"""Users whom a proxy names in headers: it has asked who they are, and shows a certificate (reference AUTHN-50)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import attrs
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from orchtw.authn.method import Host, authenticated
from orchtw.config import Config
from orchtw.errors import ConfigError
from orchtw.pem import read_certificates
from orchtw.request import Request, UserInfo, utf8_text
from orchtw.rules.front_proxy import unescaped_key

_KEPT = 256  # certificates whose verification is remembered; proxies are few
_USAGES = frozenset({ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE})


@attrs.frozen(slots=True, kw_only=True)
class HeaderNames:
    """The headers of `--requestheader-*`, in lower case; `extra` are beginnings of names."""

    user: tuple[str, ...]
    group: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()

    @classmethod
    def of(cls, config: Config) -> HeaderNames:
        """Those of the flags."""
        lower = {
            "user": config.requestheader_username_headers,
            "group": config.requestheader_group_headers,
            "extra": config.requestheader_extra_headers_prefix,
        }
        return cls(**{key: tuple(name.strip().lower() for name in names) for key, names in lower.items()})

    def holds(self, name: str) -> bool:
        """Whether a header, named in lower case, is one of these."""
        return name in self.user or name in self.group or name.startswith(self.extra)
