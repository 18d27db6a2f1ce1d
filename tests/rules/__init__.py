"""Tests of the rules (`orchtw.rules`)."""
