"""The write path: drafts, admission, storage and deletion of objects.

`WritePath` is the one way in for verbs, controllers and the bootstrap; `registry` below knows what each kind's
strategy demands, and nothing about admission.
"""
