"""Tests of package `orchtw.admission.plugins`."""
