"""Tests of `orchtw.apply`."""
