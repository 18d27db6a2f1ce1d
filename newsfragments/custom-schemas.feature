Custom objects are pruned, given defaults and validated by the structural schema of their definition: every keyword,
extension and format of the release with its texts, field validation included. This needs `google-re2`, which matches
patterns in linear time.
