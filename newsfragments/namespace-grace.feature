`--namespace-deletion-grace-period` delays the removal of a deleted namespace's contents.
