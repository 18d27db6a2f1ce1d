`--enable-admission-plugins` and `--disable-admission-plugins` choose the admission plugins; names that are unknown, or known and not available yet, are refused at the start.
