"""SNI certificates: the values of `--tls-sni-cert-key` (reference REQ-26)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from orchtw.flags.flag import FlagKind


class NamedCertificate(msgspec.Struct, frozen=True):
    """Files of a certificate and its key; `names` are its host names, empty: those in the certificate."""

    certificate: Path
    key: Path
    names: tuple[str, ...] = ()

    def rooted(self, folder: Path) -> NamedCertificate:
        """Return the same with relative paths resolved against `folder`."""
        return msgspec.structs.replace(self, certificate=folder / self.certificate, key=folder / self.key)

    def __str__(self) -> str:
        pair = f"{self.certificate},{self.key}"
        return f"{pair}:{','.join(self.names)}" if self.names else pair


def _named(text: str) -> NamedCertificate:
    """Parse `file,file` or `file,file:name,name`. Raises ValueError."""
    pair, colon, names = text.partition(":")
    paths = [path.strip() for path in pair.split(",")]
    if len(paths) != 2 or not all(paths):
        raise ValueError("expected comma separated certificate and key file paths")
    given = tuple(name.strip().lower() for name in names.split(",")) if colon else ()
    if not all(given):
        raise ValueError("empty domain name")
    return NamedCertificate(Path(paths[0]), Path(paths[1]), given)


def _all(texts: Sequence[str]) -> tuple[NamedCertificate, ...]:
    return tuple(_named(text) for text in texts if text)


NAMED_CERTIFICATES = FlagKind("namedCertKey", _all, lambda pairs: ";".join(map(str, pairs)))
