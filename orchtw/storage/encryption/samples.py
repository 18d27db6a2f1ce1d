"""Samples by which servers check that they can read each other's values, without showing a key (reference CTRL-52).

Each server publishes a sample under each of its keys: a known text, sealed as values are.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from typing import Any, Final

from orchtw.storage.encryption.configuration import KmsPlugin
from orchtw.storage.encryption.identity import Identity
from orchtw.storage.encryption.provider import KeyMissing, Provider, Unreadable

TEXT: Final = b"Servers that can read this can read each other's values."
PLACE: Final = b"/registry/servers/"

Key = Provider | KmsPlugin
_PLAIN: Final[Sequence[Key]] = (Identity(),)
_KMS: Final = "kms:"


class Samples:
    """Samples as a `Fact`. `keys` are the providers of each resource in order, by the prefix of its store keys."""

    name: Final = "encryption keys"
    fatal: Final = True

    def __init__(self, keys: Mapping[str, Sequence[Key]]) -> None:
        self._keys = keys
        self._samples = {id(key): _sample(key) for each in keys.values() for key in each}

    def published(self) -> Mapping[str, Sequence[Mapping[str, str]]]:
        """Return the samples of each resource, as `Fact.published`; `differs` compares them."""
        return {resource: [self._samples[id(key)] for key in keys] for resource, keys in self._keys.items()}

    def differs(self, other: Any) -> bool:
        plain = [_sample(key) for key in _PLAIN]
        return any(
            _strange(self._keys.get(resource, _PLAIN), other.get(resource) or plain)
            for resource in {*self._keys, *other}
        )


def _strange(mine: Sequence[Key], theirs: Sequence[Mapping[str, str]]) -> bool:
    """Report whether either side writes values that the other cannot read."""
    read = any(_opens(key, theirs[0]) for key in mine)
    return not read or not any(_opens(mine[0], sample) for sample in theirs)


def _sample(key: Key) -> Mapping[str, str]:
    if isinstance(key, KmsPlugin):
        return {"key": _KMS + key.name}  # the service keeps the key, and is known by its name alone
    name = key.prefix.decode(errors="replace")
    try:
        return {"key": name, "sample": b64encode(key.seal(TEXT, PLACE)).decode()}
    except KeyMissing:
        return {"key": name}


def _opens(key: Key, sample: Mapping[str, str]) -> bool:
    if isinstance(key, KmsPlugin):
        return sample["key"] == _KMS + key.name
    if sample["key"] != key.prefix.decode(errors="replace"):
        return False
    try:
        return "sample" not in sample or key.open(b64decode(sample["sample"]), PLACE) == TEXT
    except (Unreadable, KeyMissing):
        return False
