"""Admission: plugins that may change or refuse a write between its decoding and the store (reference ADM-1).

What plugins see of a write is in `attributes`, the order in which they are asked in `chain`, which of them run in
`selection`; the plugins are one a file under `plugins`. The write path asks them through `writes.admissions`.
"""
