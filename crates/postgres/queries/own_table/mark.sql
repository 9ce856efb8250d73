-- Marks rows of a team's own table. What was published is marked even where another process holds the row by now; everything else only where
-- the row is still put off by this lease.
UPDATE <table> AS t
SET
    <published_at> = CASE WHEN m.mark = 'published' THEN timestamptz 'epoch' + $1 * interval '1 microsecond' END,
    <next_attempt_at> = CASE m.mark
        WHEN 'published' THEN t.<next_attempt_at>
        WHEN 'again' THEN timestamptz 'epoch' + m.at * interval '1 microsecond'
        WHEN 'parked' THEN timestamptz 'infinity'
        ELSE timestamptz 'epoch' + $1 * interval '1 microsecond'
    END,
    <attempts> = CASE WHEN m.mark IN ('again', 'parked') THEN coalesce(t.<attempts>, 0) + 1 ELSE t.<attempts> END<error>
FROM unnest($3::text[], $4::text[], $5::bigint[], $6::text[]) AS m (id, mark, at, error)
WHERE t.<id> = m.id::<id_type>
    AND t.<published_at> IS NULL
    AND (m.mark = 'published' OR t.<next_attempt_at> = timestamptz 'epoch' + $2 * interval '1 microsecond')
