"""Product names in both vocabularies: `names.Naming`, and the table of pairs that it is made from."""
