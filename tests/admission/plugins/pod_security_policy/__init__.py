"""Tests of package `orchtw.admission.plugins.pod_security_policy`."""
