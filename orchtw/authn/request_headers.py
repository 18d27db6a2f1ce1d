"""Request-header authentication: a front proxy with a trusted certificate names the user (reference AUTHN-38)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from orchtw.authn.method import AuthnHost, authenticated
from orchtw.authn.validity import FOREIGN, Validity
from orchtw.config.authentication import AuthenticationOptions, RequestHeaderOptions
from orchtw.errors import ConfigError
from orchtw.request import Request, UnreadableCertificate, UserInfo, utf8_text
from orchtw.rules.front_proxy import unescaped_key

FLAG: Final = "--requestheader-client-ca-file"

_KEPT = 256  # cached certificates; there are few front proxies
_USAGES = frozenset({ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE})


class HeaderNames(msgspec.Struct, frozen=True, kw_only=True):
    """The headers of the `--requestheader-*` flags, in lower case; `extra` are prefixes."""

    user: tuple[str, ...]
    uid: tuple[str, ...] = ()
    group: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()

    @classmethod
    def of(cls, options: RequestHeaderOptions) -> HeaderNames:
        """Return the headers that the flags name."""
        return cls(
            user=_lower(options.username_headers),
            uid=_lower(options.uid_headers),
            group=_lower(options.group_headers),
            extra=_lower(options.extra_headers_prefix),
        )

    def holds(self, name: str) -> bool:
        """Report whether `name`, in lower case, is one of these headers."""
        return name in self.user or name in self.uid or name in self.group or name.startswith(self.extra)


class _Known(NamedTuple):
    """A certificate, and when it is trusted: spans of seconds since the epoch, one per issuer."""

    certificate: x509.Certificate
    spans: tuple[tuple[float, float], ...]


class RequestHeaders:
    """Authenticator for identity headers, if the connection's certificate is that of a trusted front proxy.

    `allowed` are the common names that such a certificate may have (empty: any). `seconds` returns the time since the
    epoch. The certificate must be issued directly by an authority of the file: intermediates must be in the file.
    """

    def __init__(self, path: Path, names: HeaderNames, allowed: Sequence[str], seconds: Callable[[], float]) -> None:
        self._path = path
        self._names = names
        self._allowed = frozenset(allowed)
        self._seconds = seconds
        self.read()

    def read(self) -> None:
        """Reload the file; one that cannot be used (ConfigError) changes nothing."""
        self._authorities = load(self._path)
        # Keyed by identity, as the edge passes one object for one certificate; the entry keeps it alive.
        self._known: dict[int, _Known] = {}

    def authenticate(self, request: Request) -> UserInfo | None:
        """Return the user that the headers name; None without a name or a trusted proxy.

        The headers are removed from the request in any case.
        """
        user = self._user(request)
        holds = self._names.holds
        if any(map(holds, request.headers)):
            request.headers = {key: text for key, text in request.headers.items() if not holds(key)}
        return user

    def lasts(self, request: Request) -> Validity | None:
        """Have requests that name a user asked about each time, see `validity.Lasting`."""
        return None if any(map(self._names.holds, request.headers)) else FOREIGN

    def _user(self, request: Request) -> UserInfo | None:
        certificate = request.peer.certificate
        if certificate is None or isinstance(certificate, UnreadableCertificate):
            return None
        name = _first(request, self._names.user)
        if not name or not self._trusts(certificate):
            return None
        uid = _first(request, self._names.uid)
        user = UserInfo(name=name, uid=uid, groups=tuple(self._groups(request)), extra=self._extra(request))
        return authenticated(user)

    def _groups(self, request: Request) -> Iterator[str]:
        """Return a group for each header line; commas do not separate groups."""
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
            known = self._known[id(certificate)] = _Known(certificate, self._spans(certificate))
        now = self._seconds()
        return any(begin <= now <= end for begin, end in known.spans)

    def _spans(self, certificate: x509.Certificate) -> tuple[tuple[float, float], ...]:
        """Return when a certificate is that of a proxy: an issuer may expire while it is in use."""
        try:
            if not _is_for_clients(certificate):
                return ()
            if self._allowed and _common_name(certificate) not in self._allowed:
                return ()
            issuers = [each for each in self._authorities if _issued(certificate, each)]
            return tuple(_common_span(certificate, issuer) for issuer in issuers)
        except Exception:  # noqa: BLE001 - a certificate that cannot be read authenticates no one
            return ()


def from_flags(host: AuthnHost, options: AuthenticationOptions) -> RequestHeaders | None:
    """Return the method of `--requestheader-client-ca-file`, or None, and register the file for reloads.

    Raises ConfigError as `load` does.
    """
    path = options.request_header.client_ca_file
    if path is None:
        return None
    header = options.request_header
    method = RequestHeaders(path, HeaderNames.of(header), header.allowed_names, host.seconds)
    host.reloads.add(FLAG, method.read)
    return method


def load(path: Path) -> tuple[x509.Certificate, ...]:
    """Return the authorities of a PEM file. Raises ConfigError."""
    try:
        return tuple(x509.load_pem_x509_certificates(path.read_bytes()))
    except OSError as error:
        raise ConfigError(f"{FLAG}: {path}: {error.strerror}") from error
    except (ValueError, x509.InvalidVersion) as error:
        raise ConfigError(f"{FLAG}: {path}: holds no readable PEM certificate") from error


def _common_span(*certificates: x509.Certificate) -> tuple[float, float]:
    """Return when all of the certificates are valid."""
    begin = max(each.not_valid_before_utc.timestamp() for each in certificates)
    return begin, min(each.not_valid_after_utc.timestamp() for each in certificates)


def _issued(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
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


def _first(request: Request, names: Sequence[str]) -> str:
    """Return the first of these headers that is not empty, else ""."""
    return next((text for name in names if (text := _text(request.headers.get(name, "")))), "")


def _lower(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(name.strip().lower() for name in names if name.strip())


def _text(value: str) -> str:
    return utf8_text(value.strip())
