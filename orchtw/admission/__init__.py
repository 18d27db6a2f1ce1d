"""Admission: plugins that may change or refuse a write between its decoding and the store (reference ADM-1).

`attributes` is a write as plugins see it, `chain` runs the plugins in order, `selection` chooses those that run;
`plugins` has the built-in ones. The write path calls them through `writes.admissions`.
"""
