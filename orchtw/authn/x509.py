"""Client certificates: the subject's common name is the user, each organization a group (reference AUTHN-13)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from cryptography.x509 import Certificate
from cryptography.x509.oid import NameOID

from orchtw.authn.method import authenticated
from orchtw.authn.metrics import AuthenticationMetrics
from orchtw.authn.validity import FOREIGN, Validity
from orchtw.errors import Unauthorized
from orchtw.request import Request, UnreadableCertificate, UserInfo

# Cached certificates and their users; the edge keeps as many parsed certificates.
_KEPT = 1024


class _Known(NamedTuple):
    certificate: Certificate
    user: UserInfo | None
    begins: float
    ends: float


class ClientCertificates:
    """Authenticator for the connection's certificate, which the handshake must have verified against the client CAs.

    `seconds` returns the time since the epoch: a certificate that expires while its connection is open is rejected
    from then on.
    """

    def __init__(self, seconds: Callable[[], float], metrics: AuthenticationMetrics) -> None:
        self._seconds = seconds
        self._metrics = metrics
        # Keyed by identity: the edge passes one object for one certificate, and hashing one hashes all its bytes.
        self._known: dict[int, _Known] = {}

    def authenticate(self, request: Request) -> UserInfo | None:
        """Return the subject as a user; None without a certificate or common name.

        Raises Unauthorized (401) for a certificate that was not verified, is expired or not yet valid, or cannot be
        parsed.
        """
        certificate = request.peer.certificate
        if certificate is None:
            return None
        if isinstance(certificate, UnreadableCertificate):
            raise Unauthorized("the client certificate cannot be read")
        if not request.peer.verified:
            raise Unauthorized("the client certificate is not from an authority that is trusted for clients")
        known = self._known.get(id(certificate))
        if known is None:
            known = self._learn(certificate)
        now = self._seconds()
        if not known.begins <= now <= known.ends:
            raise Unauthorized("the client certificate has expired, or is not valid yet")
        self._metrics.certificate(known.ends - now)
        return known.user

    def lasts(self, request: Request) -> Validity | None:
        """Hold from the certificate's first to its last moment, see `validity.Lasting`."""
        certificate, seconds = request.peer.certificate, self._seconds
        if certificate is None:
            return FOREIGN
        known = self._known.get(id(certificate))
        if known is None or known.user is None or not request.peer.verified:
            return None
        begins, ends, count = known.begins, known.ends, self._metrics.certificate
        return Validity(
            known=True, stands=(lambda: begins <= seconds() <= ends,), used=(lambda: count(ends - seconds()),)
        )

    def _learn(self, certificate: Certificate) -> _Known:
        try:
            known = _Known(
                certificate,
                user_of(certificate),
                certificate.not_valid_before_utc.timestamp(),
                certificate.not_valid_after_utc.timestamp(),
            )
        except ValueError:
            # Fields are decoded lazily, so a subject with undecodable text fails only here.
            raise Unauthorized("the client certificate's subject cannot be read") from None
        if len(self._known) >= _KEPT:
            self._known.clear()
        self._known[id(certificate)] = known
        return known


def user_of(certificate: Certificate) -> UserInfo | None:
    """Return the user that the subject names, or None without a common name (of several, the last counts).

    Raises ValueError for a subject that cannot be decoded.
    """
    names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    if not names or not names[-1].value:
        return None
    organizations = certificate.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    groups = tuple(str(organization.value) for organization in organizations)
    return authenticated(UserInfo(name=str(names[-1].value), groups=groups))
