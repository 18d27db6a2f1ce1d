"""Tests of `orchtw.storage.remote`."""
