Lists by `!=`, `notin` and `!` of labels that few objects match cost what they give, as those by fields do: there is an index for them too.
