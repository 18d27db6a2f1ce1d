"""Custom resources: from a definition to what requests can name, and what writes make of the objects."""
