Custom resource definitions are checked by all rules of the release, and so is what all kinds have in common: metadata, owners, selectors and conditions.
