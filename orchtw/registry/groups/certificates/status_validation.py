"""Validation of the status of requests: conditions and certificates (reference CSR-7, CSR-9, CSR-10)."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Sequence
from typing import Final

from cryptography import x509

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.rules.pem import blocks
from orchtw.values.causes import duplicate, forbidden, go_quote, invalid, not_supported, required
from orchtw.wire.objects import Object

DECISIONS: Final = ("Approved", "Denied")
_FINAL: Final = (*DECISIONS, "Failed")
_STATUSES: Final = ("False", "True", "Unknown")
_CONDITIONS, _CERTIFICATE = "status.conditions", "status.certificate"


def status_causes(status: Object, before: Object, *, approval: bool) -> list[Cause]:
    """Return the causes against a change of status `before` by /approval, or else by /status.

    A stored flaw that older releases accepted may stay.
    """
    new, old = status.get("conditions") or (), before.get("conditions") or ()
    causes = _condition_causes(new, old) + _transition_causes(new, old, approval)
    certificate, issued = status.get("certificate") or "", before.get("certificate") or ""
    if certificate == issued:
        return causes
    if approval:
        causes.append(forbidden(_CERTIFICATE, "updates may not set certificate content"))
    elif issued:
        causes.append(forbidden(_CERTIFICATE, "updates may not modify existing certificate content"))
    why = _why_no_certificates(b64decode(certificate))
    if why and not _why_no_certificates(b64decode(issued)):
        causes.append(invalid(_CERTIFICATE, "<certificate data>", why))
    return causes


def _condition_causes(new: Sequence[Object], old: Sequence[Object]) -> list[Cause]:
    known = [each.get("type", "") for each in old]
    may_repeat, may_lack_types = len(set(known)) < len(known), "" in known
    may_contradict = set(DECISIONS) <= set(known)
    causes: list[Cause] = []
    seen: set[str] = set()
    for index, condition in enumerate(new):
        if len(causes) > MAX_CAUSES:
            break
        path, kind = f"{_CONDITIONS}[{index}]", condition.get("type", "")
        if not kind and not may_lack_types:
            causes.append(required(f"{path}.type"))
        causes += _value_causes(condition.get("status", ""), kind, f"{path}.status")
        if kind in DECISIONS and not may_contradict and seen.intersection(DECISIONS) - {kind}:
            text = "Approved and Denied conditions are mutually exclusive"
            causes.append(invalid(f"{path}.type", kind, text))
        if kind in seen and not may_repeat:
            causes.append(duplicate(f"{path}.type", kind))
        seen.add(kind)
    return causes


def _value_causes(value: str, kind: str, path: str) -> list[Cause]:
    allowed = ("True",) if kind in _FINAL else _STATUSES
    if not value:
        return [required(path)]
    return [] if value in allowed else [not_supported(path, value, allowed)]


def _transition_causes(new: Sequence[Object], old: Sequence[Object], approval: bool) -> list[Cause]:
    """Return the causes for withdrawn final conditions, and for decisions made outside of /approval."""
    causes = []
    for kind in _FINAL:
        now, then = ([each for each in conditions if each.get("type") == kind] for conditions in (new, old))
        if len(now) < len(then):
            verb = "remove"
        elif approval or kind not in DECISIONS or now == then:
            continue
        else:
            verb = "modify" if len(now) == len(then) else "add"
        causes.append(forbidden(_CONDITIONS, f"updates may not {verb} a condition of type {go_quote(kind)}"))
    return causes


def _why_no_certificates(pem: bytes) -> str:
    """Return why text is neither empty nor certificates; empty: it is one of them."""
    count = 0
    for block in blocks(pem):
        if block.type != "CERTIFICATE":
            return f"only CERTIFICATE PEM blocks are allowed, found {go_quote(block.type)}"
        if block.has_headers:
            return "no PEM block headers are permitted"
        if not block.content:
            return "found CERTIFICATE PEM block containing 0 certificates"
        try:
            x509.load_der_x509_certificate(block.content)
        except (ValueError, TypeError, x509.InvalidVersion) as error:
            return f"a certificate cannot be read: {error}"
        count += 1
    return "must contain at least one CERTIFICATE PEM block" if pem and not count else ""
