Custom resources may have several versions: they are converted by name or by a webhook (ConversionReview v1 and v1beta1)
in lists, watches, writes and applies, and the storage version can be changed while objects are stored in others.
