"""What the release checks, completes and keeps of each kind, entry by entry of `tests/fixtures/validation`."""
