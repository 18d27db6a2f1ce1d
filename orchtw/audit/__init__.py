"""Audit: the policy, events, and their backends.

`auditor` decides and keeps the record of a request, for the stages of `orchtw.filters.audit`; `sinks` makes the
backends that the flags ask for. Nothing here is made without `--audit-policy-file` (reference AUDIT-8).
"""
