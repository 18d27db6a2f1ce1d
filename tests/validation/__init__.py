"""Rules of the release for each kind, entry by entry of `tests/fixtures/validation`."""
