-- Takes a turn that is free or over, or renews one's own; by the server's time.
INSERT INTO onefold_turns AS t (sink, holder, until)
VALUES ($1, $2, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + $3)
ON CONFLICT (sink) DO UPDATE SET holder = excluded.holder, until = excluded.until
WHERE t.holder = excluded.holder OR t.until <= (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
RETURNING sink
