"""The write path: create, update and delete of objects, each in its module; drafts, admission, the write gate.

`WritePath` is the one way in for verbs, controllers and the bootstrap, and `Deletion` adds the rules of DELETE;
`registry` below knows what each kind's strategy demands, and nothing about admission.
"""
