"""Tests of `orchtw.admission.plugins`."""
