"""Names of request headers: common spellings and their lower-case forms."""

from __future__ import annotations

_USUAL = """
    accept accept-charset accept-encoding accept-language audit-id authorization cache-control connection
    content-encoding content-length content-type cookie date expect forwarded from host if-match if-modified-since
    if-none-match impersonate-group impersonate-uid impersonate-user keep-alive kubectl-command kubectl-session
    origin pragma range referer sec-fetch-dest sec-fetch-mode sec-fetch-site sec-websocket-key
    sec-websocket-protocol sec-websocket-version te traceparent tracestate trailer transfer-encoding upgrade
    upgrade-insecure-requests user-agent via warning x-forwarded-for x-forwarded-host x-forwarded-port
    x-forwarded-proto x-forwarded-uri x-real-ip x-remote-group x-remote-user x-request-id x-requested-with
    x-stream-protocol-version
"""

KNOWN_NAMES: dict[bytes, str] = {
    spelling: name for name in _USUAL.split() for spelling in (name.encode(), name.title().encode())
}
"""Usual names, in lower case and as most clients write them, to the one lower-case text.

Saves the conversion and, for what keeps a request, the memory. Nothing of a client's choosing is ever added.
"""
