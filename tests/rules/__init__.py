"""Tests of `orchtw.rules`."""
