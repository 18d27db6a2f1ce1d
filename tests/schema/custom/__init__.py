"""Tests of `orchtw.schema.custom`."""
