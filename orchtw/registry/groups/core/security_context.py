"""Security of single containers: privileges, profiles and windows users (reference KIND-44)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from orchtw.errors import Cause
from orchtw.values import utf8
from orchtw.values.causes import invalid, required
from orchtw.values.file_paths import descending_path
from orchtw.values.go_literals import as_text, pointer, shown, struct
from orchtw.wire.objects import Object

_SHOWN_PROFILE = struct(
    "core.SeccompProfile", Type=("type", as_text), LocalhostProfile=("localhostProfile", pointer("string", as_text))
)

_MAX_CREDENTIAL_BYTES: Final = 64 << 10
_MAX_DOMAIN_BYTES: Final = 255
_MAX_USER_BYTES: Final = 104
_LABEL: Final = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_is_net_bios = re.compile(r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}').fullmatch
_is_dns = re.compile(rf"{_LABEL}(?:\.{_LABEL})*").fullmatch
_FORBIDDEN: Final = '"/\\:;|=,+*?<>@[]'
_MAX_MATCHED: Final = 4096  # characters: that longer ones are too long says enough


def check_security_context(new: Object, old: Object | None) -> list[Cause]:
    """Validate that a container that may not gain privileges does not start with them."""
    if new.get("allowPrivilegeEscalation") is not False:
        return []
    text = "cannot set `allowPrivilegeEscalation` to false and "
    causes = []
    if new.get("privileged"):
        causes.append(invalid("", new, text + "`privileged` to true"))
    if (capabilities := new.get("capabilities")) and "CAP_SYS_ADMIN" in (capabilities.get("add") or ()):
        causes.append(invalid("", new, text + "`capabilities.Add` CAP_SYS_ADMIN"))
    return causes


def check_seccomp_profile(new: Object, old: Object | None) -> list[Cause]:
    """Validate that a profile's file is given for type Localhost only, below the node's folder of profiles."""
    profile = new.get("localhostProfile")
    if new.get("type") != "Localhost":
        text = "can only be set when seccomp type is Localhost"
        return [] if profile is None else [invalid("localhostProfile", shown(_SHOWN_PROFILE, new), text)]
    if profile is None:
        return [required("localhostProfile", "must be set when seccomp type is Localhost")]
    return [invalid("localhostProfile", profile, text) for text in descending_path(profile)]


def check_windows_options(new: Object, old: Object | None) -> list[Cause]:
    """Validate that credentials are neither empty nor too long, and that the user name has the form of windows."""
    causes = []
    if (credentials := new.get("gmsaCredentialSpec")) is not None:
        if not credentials:
            causes.append(invalid("gmsaCredentialSpec", credentials, "gmsaCredentialSpec cannot be an empty string"))
        elif utf8.size(credentials) > _MAX_CREDENTIAL_BYTES:
            causes.append(invalid("gmsaCredentialSpec", credentials, "gmsaCredentialSpec size must be under 64 KiB"))
    if (user := new.get("runAsUserName")) is not None:
        causes += [invalid("runAsUserName", user, f"runAsUserName{text}") for text in _user_texts(user)]
    return causes


def _user_texts(name: str) -> Iterator[str]:
    """Yield the texts that reject the name of a windows user, USER or DOMAIN\\USER."""
    domain, backslash, user = name.rpartition("\\")
    if not name:
        yield " cannot be an empty string"
    elif _CONTROL.search(name):
        yield " cannot contain control characters"
    elif "\\" in domain:
        yield " cannot contain more than one backslash"
    else:
        if backslash:
            yield from _domain_texts(domain)
        yield from _bare_user_texts(user)


def _domain_texts(domain: str) -> Iterator[str]:
    if utf8.size(domain) > _MAX_DOMAIN_BYTES:
        yield "'s Domain length must be under 256 characters"
    if len(domain) > _MAX_MATCHED or not (_is_net_bios(domain) or _is_dns(domain)):
        yield "'s Domain doesn't match the NetBios nor the DNS format"


def _bare_user_texts(user: str) -> Iterator[str]:
    if not user:
        yield "'s User cannot be empty"
        return
    if utf8.size(user) > _MAX_USER_BYTES:
        yield f"'s User length must not be longer than {_MAX_USER_BYTES} characters"
    if not user.strip(". "):
        yield "'s User cannot contain only periods or spaces"
    if not set(_FORBIDDEN).isdisjoint(user):
        yield f"'s User cannot contain the following characters: {_FORBIDDEN}"
