"""Configuration of ImagePolicyWebhook (reference PLUG-52)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import msgspec

from orchtw.admission.configuration import UNVERSIONED, Given
from orchtw.errors import ConfigError
from orchtw.naming.naming import Naming
from orchtw.outbound.fields import Fields
from orchtw.outbound.kubeconfig import load
from orchtw.outbound.remote import Remote
from orchtw.values.times import duration_text

FIELD: Final = UNVERSIONED["ImagePolicyWebhook"]
_FILE: Final = "kubeConfigFile"
_OFF: Final = -1
_SECOND_MS: Final = 1000
_TTL_MS: Final = (_SECOND_MS, 30 * 60 * _SECOND_MS)
_BACKOFF_MS: Final = (1, 5 * 60 * _SECOND_MS)
_NS_PER_MS: Final = 10**6


class ImagePolicySettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings: cache TTLs (0: no cache), delay before the first retry, and the verdict without a response."""

    allow_ttl_s: float = 300.0
    deny_ttl_s: float = 30.0
    backoff_s: float = 0.5
    default_allow: bool = False


def read(given: Given | None, naming: Naming, reactor: Any) -> tuple[Remote, ImagePolicySettings]:
    """Read the backend and its settings. Raises ConfigError for missing or invalid fields."""
    if given is None:
        raise ConfigError("ImagePolicyWebhook: no config specified")
    file = given.fields()
    file.only(*UNVERSIONED.values())
    section = file.section(FIELD)
    section.only(_FILE, "allowTTL", "denyTTL", "retryBackoff", "defaultAllow")
    usual = ImagePolicySettings()
    settings = ImagePolicySettings(
        allow_ttl_s=_time_s(section, "allowTTL", _SECOND_MS, _TTL_MS, usual.allow_ttl_s),
        deny_ttl_s=_time_s(section, "denyTTL", _SECOND_MS, _TTL_MS, usual.deny_ttl_s),
        backoff_s=_time_s(section, "retryBackoff", 1, _BACKOFF_MS, usual.backoff_s),
        default_allow=section.flag("defaultAllow"),
    )
    return _remote(section, given.directory, naming, reactor), settings


def _remote(section: Fields, directory: str, naming: Naming, reactor: Any) -> Remote:
    text = section.text(_FILE)
    if not text:
        raise section.wrong(_FILE, "is missing")
    try:
        remote = load(Path(directory) / text, naming, reactor)
    except ConfigError as error:
        raise section.wrong(_FILE, str(error)) from None
    if not remote.url.startswith("https://"):
        raise section.wrong(_FILE, f"the server {remote.url} must be an https URL")
    return remote


def _time_s(section: Fields, name: str, unit_ms: int, limits_ms: tuple[int, int], usual_s: float) -> float:
    """Return a field in seconds, which is given in units of `unit_ms`: 0 means `usual_s`, and -1 means 0.

    Raises ConfigError outside `limits_ms`.
    """
    given = section.integer(name)
    if given == _OFF:
        return 0.0
    if given == 0:
        return usual_s
    least, most = limits_ms
    if not least <= given * unit_ms <= most:
        between = f"{_shown(least)} and {_shown(most)}"
        raise section.wrong(name, f"valid value is between {between}, got {_shown(given * unit_ms)}")
    return given * unit_ms / 1000


def _shown(time_ms: int) -> str:
    return duration_text(time_ms * _NS_PER_MS) if abs(time_ms) < 2**40 else f"{time_ms} ms"
