"""What happens to an object between a verb and the store: WritePath, strategies and deletion rules.

`Targets` is the registry of the resources that requests can name.

Nothing here speaks HTTP or knows of media types beyond the codecs of `orchtw.schema`; verbs and controllers call in.
"""
