-- An attempt that is over; what is known of it later replaces what was known before.
INSERT INTO onefold_attempts ({attempt}) VALUES ({attempt: ?#})
ON CONFLICT (tenant, kind, operation_id, fence) DO UPDATE SET {attempt.changing: @ = excluded.@}
