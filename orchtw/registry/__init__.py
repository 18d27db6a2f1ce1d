"""Rules of each kind of object: strategies, stored and served targets, and what is read to check them.

`Targets` is the registry of the resources that requests can name.

Nothing here speaks HTTP or knows of media types beyond the codecs of `orchtw.schema`; the write path
in `writes` calls in.
"""
