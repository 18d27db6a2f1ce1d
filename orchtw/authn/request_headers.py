"""Users whom a proxy names in headers: it knows who they are, and shows a certificate (reference AUTHN-38)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import attrs
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from orchtw.authn.method import AuthnHost, authenticated
from orchtw.config import Config
from orchtw.errors import ConfigError
from orchtw.request import Request, UnreadableCertificate, UserInfo, utf8_text
from orchtw.rules.front_proxy import unescaped_key

FLAG: Final = "--requestheader-client-ca-file"

_KEPT = 256  # certificates that have been looked at are remembered; those of proxies are few
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
        return cls(
            user=_lower(config.requestheader_username_headers),
            group=_lower(config.requestheader_group_headers),
            extra=_lower(config.requestheader_extra_headers_prefix),
        )

    def holds(self, name: str) -> bool:
        """Report whether a header, named in lower case, is one of these."""
        return name in self.user or name in self.group or name.startswith(self.extra)


class _Known(NamedTuple):
    certificate: x509.Certificate
    trusted: bool
    begins: float
    ends: float


class RequestHeaders:
    """Authenticates by headers, if the connection's certificate is of a proxy that may say who asks.

    `allowed` are the common names that such a certificate may have, any if there are none. `seconds` is the time
    since the epoch. An authority between the certificate and those of the file must be in the file.
    """

    def __init__(self, path: Path, names: HeaderNames, allowed: Sequence[str], seconds: Callable[[], float]) -> None:
        self._path = path
        self._names = names
        self._allowed = frozenset(allowed)
        self._seconds = seconds
        self.read()

    def read(self) -> None:
        """Take over what the file holds now; one that cannot be used (ConfigError) changes nothing."""
        self._authorities = load(self._path)
        # By identity, as the edge shows one object for one certificate; the entry keeps it alive.
        self._known: dict[int, _Known] = {}

    def authenticate(self, request: Request) -> UserInfo | None:
        """The user of the headers, which are then gone from every request; None without a name or such a proxy."""
        user = self._user(request)
        holds = self._names.holds
        if any(map(holds, request.headers)):
            request.headers = {key: text for key, text in request.headers.items() if not holds(key)}
        return user

    def _user(self, request: Request) -> UserInfo | None:
        certificate = request.peer.certificate
        if certificate is None or isinstance(certificate, UnreadableCertificate):
            return None
        name = next((text for header in self._names.user if (text := _text(request.headers.get(header, "")))), "")
        if not name or not self._trusts(certificate):
            return None
        user = UserInfo(name=name, groups=tuple(self._groups(request)), extra=self._extra(request))
        return authenticated(user)

    def _groups(self, request: Request) -> Iterator[str]:
        """A group for each line: what stands between commas is one group."""
        return (text for header in self._names.group for line in request.lines(header) if (text := _text(line)))

    def _extra(self, request: Request) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for name in request.headers:
            prefix = next((each for each in self._names.extra if name.startswith(each)), None)
            if prefix is not None:
                key = unescaped_key(name.removeprefix(prefix))
                found[key] = (*found.get(key, ()), *map(_text, request.lines(name)))
        return found

    def _trusts(self, certificate: x509.Certificate) -> bool:
        known = self._known.get(id(certificate))
        if known is None:
            if len(self._known) >= _KEPT:
                self._known.clear()
            known = self._known[id(certificate)] = _Known(
                certificate,
                self._is_proxy(certificate),
                certificate.not_valid_before_utc.timestamp(),
                certificate.not_valid_after_utc.timestamp(),
            )
        return known.trusted and known.begins <= self._seconds() <= known.ends

    def _is_proxy(self, certificate: x509.Certificate) -> bool:
        try:
            return (
                any(_issued(certificate, each, self._seconds()) for each in self._authorities)
                and _is_for_clients(certificate)
                and (not self._allowed or _common_name(certificate) in self._allowed)
            )
        except Exception:  # noqa: BLE001 - a certificate that cannot be read authenticates no one
            return False


def from_flags(host: AuthnHost, config: Config) -> RequestHeaders | None:
    """The method of `--requestheader-client-ca-file`, which can be read again. Raises ConfigError as `load` does."""
    path = config.requestheader_client_ca_file
    if path is None:
        return None
    method = RequestHeaders(path, HeaderNames.of(config), config.requestheader_allowed_names, host.seconds)
    host.reloads.add(FLAG, method.read)
    return method


def load(path: Path) -> tuple[x509.Certificate, ...]:
    """The authorities of a PEM file. Raises ConfigError."""
    try:
        return tuple(x509.load_pem_x509_certificates(path.read_bytes()))
    except OSError as error:
        raise ConfigError(f"{FLAG}: {path}: {error.strerror}") from error
    except (ValueError, x509.InvalidVersion) as error:
        raise ConfigError(f"{FLAG}: {path}: holds no readable PEM certificate") from error


def _issued(certificate: x509.Certificate, authority: x509.Certificate, now: float) -> bool:
    if not authority.not_valid_before_utc.timestamp() <= now <= authority.not_valid_after_utc.timestamp():
        return False
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _is_for_clients(certificate: x509.Certificate) -> bool:
    try:
        usages = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except x509.ExtensionNotFound:
        return True
    return not _USAGES.isdisjoint(usages)


def _common_name(certificate: x509.Certificate) -> str:
    names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(names[-1].value) if names else ""


def _lower(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(name.strip().lower() for name in names if name.strip())


def _text(value: str) -> str:
    return utf8_text(value.strip())
