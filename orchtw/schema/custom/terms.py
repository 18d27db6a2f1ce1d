"""Terms of validation that differ between releases (reference CRD-72)."""

from __future__ import annotations

from typing import Final

import msgspec

Release = tuple[int, int]

_FIRST: Final[Release] = (1, 24)
_PLAIN_NULL: Final[Release] = (1, 34)
_COUNTS_BYTES: Final[Release] = (1, 32)
_AS_JSON: Final[Release] = (1, 34)
_SHOWS_VALUES: Final[Release] = (1, 35)


class Forms(msgspec.Struct, frozen=True):
    """Forms of causes in the values of custom resources; the defaults are those of release 1.24 (reference CRD-72).

    `counts_bytes`: the limit of a text that is too long is given in bytes. `as_json`: lists and objects are shown as
    JSON. `shows_values`: the cause of a rule shows a scalar, and nothing of other values, instead of the type.
    """

    counts_bytes: bool = False
    as_json: bool = False
    shows_values: bool = False


OLDEST_FORMS: Final = Forms()


def forms_of(release: Release) -> Forms:
    """Return the forms of a release."""
    return Forms(
        counts_bytes=release >= _COUNTS_BYTES, as_json=release >= _AS_JSON, shows_values=release >= _SHOWS_VALUES
    )


class ValidationTerms(msgspec.Struct, frozen=True):
    """Differences of newer releases in the validation of custom resources.

    `tells_unchecked`: rules are looked at beside errors of the schema, unless those are of kinds that make it
    pointless; then a cause says that they were not, whose value `null` is quoted if it `quotes_null`. `ratchets`:
    errors of values that have not changed are dropped. `forms`: of the causes.
    """

    tells_unchecked: bool = True
    quotes_null: bool = False
    ratchets: bool = False
    forms: Forms = OLDEST_FORMS


DEFAULT: Final = ValidationTerms()


def terms_of(emulated: Release, reported: Release, *, ratchets: bool) -> ValidationTerms:
    """Return the terms of a server that emulates one release and reports another."""
    return ValidationTerms(
        tells_unchecked=emulated > _FIRST,
        quotes_null=emulated < _PLAIN_NULL,
        ratchets=ratchets,
        forms=forms_of(min(emulated, reported)),
    )
