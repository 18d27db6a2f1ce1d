"""Tests of `orchtw.renaming`."""
