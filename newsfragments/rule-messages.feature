Rules of custom resources take `messageExpression`, `reason`, `fieldPath` and `optionalOldSelf`.
