"""Choice of a certificate for the server name that a client asks for (reference REQ-26)."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.x509.oid import NameOID

_MOST_LABELS = 127


class NamedPair(msgspec.Struct, frozen=True, kw_only=True):
    """A chain, the server's own certificate first, and its key; without `names` those of the certificate count."""

    certificates: tuple[x509.Certificate, ...]
    key: PrivateKeyTypes
    names: tuple[str, ...] = ()


class ServerNames:
    """Contexts by name, such as `a.example`, `*.example` or an address.

    Exact names take precedence over patterns, given names over those of certificates, and earlier pairs over later
    ones.
    """

    def __init__(self, pairs: Iterable[tuple[NamedPair, Any]]) -> None:
        backwards = list(pairs)[::-1]
        self._contexts: Mapping[str, Any] = {
            **{name: context for pair, context in backwards if not pair.names for name in own_names(pair)},
            **{name: context for pair, context in backwards for name in pair.names},
        }

    def __bool__(self) -> bool:
        return bool(self._contexts)

    def find(self, asked: str) -> Any:
        """Return the context for a name; None: the default one."""
        contexts, asked = self._contexts, asked.lower().rstrip(".")
        if asked in contexts:
            return contexts[asked]
        labels = asked.split(".")
        if len(labels) > _MOST_LABELS:
            return None
        return next((contexts[each] for each in _patterns(labels) if each in contexts), None)

    def choose(self, connection: Any) -> None:
        """Set the context in a handshake, by the requested name or else by the local address."""
        asked: bytes | None = connection.get_servername()
        name = _local_address(connection) if asked is None else asked.decode("latin-1")
        context = self.find(name)
        if context is not None:
            connection.set_context(context)


def own_names(pair: NamedPair) -> tuple[str, ...]:
    """Return the names of a certificate: its common name if that can be a host, DNS names and addresses."""
    certificate = pair.certificates[0]
    common = [str(each.value) for each in certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
    names = [name for name in common if name and " " not in name and ":" not in name]
    try:
        alternatives = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return tuple(name.lower() for name in names)
    names += alternatives.get_values_for_type(x509.DNSName)
    names += map(str, alternatives.get_values_for_type(x509.IPAddress))
    return tuple(name.lower() for name in names)


def _patterns(labels: list[str]) -> Iterator[str]:
    for count in range(1, len(labels) + 1):
        yield ".".join(("*",) * count + tuple(labels[count:]))


def _local_address(connection: Any) -> str:
    """Return the address that the client connected to, empty if there is no socket."""
    try:
        return str(ipaddress.ip_address(connection.getsockname()[0]))
    except (AttributeError, OSError, ValueError, TypeError):
        return ""
