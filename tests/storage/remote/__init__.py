"""Tests of package `orchtw.storage.remote`."""
