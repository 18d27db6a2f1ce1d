"""Tests of package `orchtw.schema`."""
