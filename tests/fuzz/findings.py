"""Findings of a run by failure, and the files that keep them for later runs."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from tests.fuzz.case import Case

KEPT = Path(__file__).parent / "kept"
_PARTICULAR = re.compile(r"[0-9a-f-]{8,}|\d+|'[^']*'|\"[^\"]*\"")
_NEXT_ENTRY = re.compile(r"^\d{4}-\d\d-\d\dT", re.MULTILINE)
_LAST_CALL = re.compile(r'File "[^"]*?(orchtw/[^"]+)", line \d+, in (\S+)')


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong: `what` in words, `signature` equal for what is probably the same fault.

    `before` are the writes without which the case may not fail.
    """

    what: str
    signature: str
    audit_id: str
    case: Case
    before: Sequence[Case] = ()

    def text(self) -> str:
        """A reproducer for people."""
        return f"FOUND {self.signature}\n  {self.what[:2000]}\n  request {self.audit_id}: {self.case.to_json()}"


def signature_of(what: str, case: Case) -> str:
    """Return the failure without numbers and names."""
    return f"{_plain(what)} ({case.method})"


def signature_of_failure(log: str, audit_id: str) -> str:
    """The exception that the server logged for a request, and where it came from; "" if it logged none."""
    start = log.find(f"request {audit_id} failed")
    return "" if start < 0 else signature_of_exception(_NEXT_ENTRY.split(log[start:], 1)[0])


def signature_of_exception(entry: str) -> str:
    """The exception in an entry of the log, and where it came from."""
    calls = _LAST_CALL.findall(entry)
    error = next((line.strip() for line in reversed(entry.splitlines()) if line.strip()), "")
    return f"{_plain(error)} in {':'.join(calls[-1]) if calls else '?'}"


def _plain(text: str) -> str:
    """The beginning of a text, without what may differ from one time to the next."""
    return _PARTICULAR.sub("#", text)[:100]


def keep(finding: Finding, vocabulary: str) -> Path:
    """Write the finding's requests to their file, unless it is there; returns its path."""
    name = hashlib.blake2b(finding.signature.encode(), digest_size=6).hexdigest()
    path = KEPT / f"{name}.json"
    cases = [case.to_json() for case in (*finding.before, finding.case)]
    content = {"found": finding.signature, "vocabulary": vocabulary, "requests": cases}
    if not path.exists():
        path.write_bytes(orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    return path


def kept(vocabulary: str) -> Iterator[Case]:
    """The requests of all kept files that were found with this vocabulary."""
    for path in sorted(KEPT.glob("*.json")):
        content = orjson.loads(path.read_bytes())
        if content["vocabulary"] == vocabulary:
            yield from map(Case.from_json, content["requests"])
