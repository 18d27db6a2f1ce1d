"""Tests of `orchtw.metrics`."""
