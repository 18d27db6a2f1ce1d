"""Worker processes (`--workers`): their start and replacement by the owner of the store, and their own side.

Their messages about the store are in `orchtw.storage.remote`. Only the composition root knows of this.
"""
