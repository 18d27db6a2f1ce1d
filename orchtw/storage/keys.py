"""Keys of stores as text: validity, and the bounds of prefixes."""

from __future__ import annotations


def is_text(key: str) -> bool:
    """Report whether `key` has a UTF-8 form at all."""
    if key.isascii():
        return True
    try:
        key.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_valid(key: str) -> bool:
    """Report whether a value may be written under `key`: text that is not empty and has no NUL."""
    return bool(key) and "\0" not in key and is_text(key)


def prefix_end(prefix: str) -> str:
    """Return the smallest text above every key that begins with `prefix`; empty: there is no such text."""
    while prefix:
        last = ord(prefix[-1]) + 1
        prefix = prefix[:-1]
        if last <= 0x10FFFF:
            return prefix + chr(0xE000 if last == 0xD800 else last)
    return ""
