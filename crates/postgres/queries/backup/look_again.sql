-- Lets the next look at connections see those that are gone.
SELECT pg_stat_clear_snapshot()
