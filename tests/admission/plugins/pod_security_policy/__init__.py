"""Tests of `orchtw.admission.plugins.pod_security_policy`."""
