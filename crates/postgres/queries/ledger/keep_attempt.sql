-- Attempts that are over; what is known of one later replaces what was known before. Each parameter is a column.
INSERT INTO onefold_attempts ({attempt})
SELECT * FROM unnest({attempt: $#::&[]})
ON CONFLICT (operation_id, kind, tenant, fence) DO UPDATE SET {attempt.changing: @ = excluded.@}
