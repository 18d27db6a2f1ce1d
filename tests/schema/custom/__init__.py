"""Tests of package `orchtw.schema.custom`."""
