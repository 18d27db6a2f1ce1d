"""Tests of `orchtw.workers`."""
