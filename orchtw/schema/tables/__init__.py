"""Tables and partial metadata, for which clients ask in place of objects."""
