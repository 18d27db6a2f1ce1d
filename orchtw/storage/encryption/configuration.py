"""File of `--encryption-provider-config`: the providers that seal and open the values of resources (STORE-14)."""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import msgspec

from orchtw.errors import ConfigError
from orchtw.flags.flag import parse_duration_s
from orchtw.naming.naming import Naming
from orchtw.outbound.configuration_file import document
from orchtw.outbound.fields import Fields
from orchtw.plugins import EncryptionPlugin
from orchtw.storage.encryption import aes
from orchtw.storage.encryption.aes import AesCbc, AesGcm
from orchtw.storage.encryption.identity import Identity
from orchtw.storage.encryption.provider import Provider

FLAG: Final = "--encryption-provider-config"
KIND: Final = "EncryptionConfiguration"
GROUP_VERSION: Final = "apiserver.config.orch.io/v1"

KMS_TIMEOUT_S: Final = 3.0
KMS_CACHE: Final = 1000
"""Number of data keys kept open, unless the file sets another."""


class KmsPlugin(msgspec.Struct, frozen=True, kw_only=True):
    """Key management service: `endpoint` is its socket; a negative `cache_size` turns the cache off."""

    name: str
    endpoint: str
    timeout_s: float
    cache_size: int


class Section(msgspec.Struct, frozen=True):
    """Resources as `plural.group`, and their providers in order."""

    resources: tuple[str, ...]
    providers: tuple[Provider | KmsPlugin, ...]


MakeProvider = Callable[[str, bytes], Provider]


def _secretbox(name: str, key: bytes) -> Provider:
    try:
        from orchtw.storage.encryption.secretbox import SecretBoxProvider  # its library is an extra
    except ImportError:
        raise ConfigError(f"{FLAG}: provider secretbox needs PyNaCl: pip install 'orchtw[secretbox]'") from None
    return SecretBoxProvider(name, key)


_KEYED: Final[dict[str, tuple[MakeProvider, Sequence[int]]]] = {
    "aesgcm": (AesGcm, aes.KEY_SIZES),
    "aescbc": (AesCbc, aes.KEY_SIZES),
    "secretbox": (_secretbox, (32,)),
}
"""Factory and allowed key sizes, in bytes, of each provider with keys."""

BUILT_IN: Final = ("identity", "kms", *_KEYED)
"""Names that a provider may have in the file, beside those of plugins."""


def read(path: Path, plugins: Mapping[str, EncryptionPlugin]) -> Sequence[Section]:
    """Return the sections of a file, in order; `plugins` are the installed providers.

    Raises ConfigError with one line for the first fault.
    """
    file = Fields(path, "", document(FLAG, path))
    file.only("apiVersion", "kind", "resources")
    group, slash, version = file.text("apiVersion").rpartition("/")
    if file.text("kind") != KIND or f"{Naming.kubernetes().neutral(group)}{slash}{version}" != GROUP_VERSION:
        raise file.wrong("", f"is not {KIND} of {GROUP_VERSION}")
    sections = [_section(each, plugins) for each in file.sections("resources")]
    if not sections:
        raise file.wrong("resources", "at least one resources is required")
    return sections


def _section(fields: Fields, plugins: Mapping[str, EncryptionPlugin]) -> Section:
    fields.only("resources", "providers")
    resources = fields.texts("resources")
    if not resources:
        raise fields.wrong("resources", "at least one resources is required")
    providers = tuple(found for each in fields.sections("providers") for found in _providers(each, plugins))
    if not providers:
        raise fields.wrong("providers", "at least one providers is required")
    return Section(resources, providers)


def _providers(fields: Fields, plugins: Mapping[str, EncryptionPlugin]) -> Iterator[Provider | KmsPlugin]:
    """Yield the providers of one list element, which sets one kind: one for each key."""
    fields.only(*BUILT_IN, *plugins)
    given = [name for name, value in fields.value.items() if value is not None]
    if len(given) != 1:
        raise fields.wrong("", _NOT_ONE if given else "provider does not contain any of the expected providers")
    kind = given[0]
    inner = fields.section(kind)
    if kind == "identity":
        inner.only()
        yield Identity()
    elif kind == "kms":
        yield _kms(inner)
    elif kind in _KEYED:
        yield from _keyed(inner, *_KEYED[kind])
    else:
        yield plugins[kind].make(inner)


_NOT_ONE: Final = "more than one provider specified in a single element, should split into different list elements"


def _keyed(fields: Fields, make: MakeProvider, sizes: Sequence[int]) -> Iterator[Provider]:
    fields.only("keys")
    keys = list(fields.sections("keys"))
    if not keys:
        raise fields.wrong("keys", "at least one keys is required")
    for key in keys:
        key.only("name", "secret")
        name, secret = key.text("name"), key.text("secret")
        if not name:
            raise key.wrong("name", "name is a mandatory field for a key")
        if ":" in name:
            raise key.wrong("name", "must not contain a colon")
        if not secret:
            raise key.wrong("secret", "secret is a mandatory field for a key")
        try:
            found = b64decode(secret, validate=True)
        except (binascii.Error, ValueError):
            raise key.wrong("secret", "secrets must be base64 encoded") from None
        if len(found) not in sizes:
            expected = " ".join(map(str, sizes))
            why = f"secret is not of the expected length, got {len(found)}, expected one of [{expected}]"
            raise key.wrong("secret", why)
        yield make(name, found)


def _kms(fields: Fields) -> KmsPlugin:
    fields.only("name", "cachesize", "endpoint", "timeout")
    name, endpoint = fields.text("name"), fields.text("endpoint")
    if not name:
        raise fields.wrong("name", "name is a mandatory field for a provider")
    if ":" in name:
        raise fields.wrong("name", "must not contain a colon")
    if not endpoint:
        raise fields.wrong("endpoint", "endpoint is a mandatory field for a provider")
    url = urlsplit(endpoint)
    if url.scheme != "unix":
        raise fields.wrong("endpoint", f'unsupported scheme "{url.scheme}" for KMS provider, only unix is supported')
    size = fields.integer("cachesize")
    if fields.value.get("cachesize") is None:
        size = KMS_CACHE
    if size == 0:
        raise fields.wrong("cachesize", "cachesize should be a positive value, or negative to disable")
    return KmsPlugin(name=name, endpoint=endpoint, timeout_s=_timeout_s(fields), cache_size=size)


def _timeout_s(fields: Fields) -> float:
    text = fields.text("timeout")
    if not text:
        return KMS_TIMEOUT_S
    try:
        found = parse_duration_s(text)
    except ValueError:
        raise fields.wrong("timeout", f'"{text}" is not a duration such as 3s') from None
    if found <= 0:
        raise fields.wrong("timeout", "timeout should be a positive value")
    return found
