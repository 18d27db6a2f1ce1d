Quotas bind: plugin `ResourceQuota` refuses what exceeds them, whatever races, and controller `resourcequota` says what
is used; plugin `LimitRanger` gives containers their defaults and refuses what is too small or too large.
