"""Audit: the policy, events, and their backends.

`auditor` applies the policy and keeps the record of a request, for the filters in `orchtw.filters.audit`; `backends`
makes the backends that the flags configure. Nothing is audited without `--audit-policy-file` (reference AUDIT-8).
"""
