"""More processes that serve (`--workers`): how the owner of the store starts and replaces them, and what they are.

What they say to each other about the store is in `orchtw.storage.remote`. Only the composition root knows of this.
"""
