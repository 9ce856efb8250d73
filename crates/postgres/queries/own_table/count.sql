-- How far a relay on a team's own table is. Types are few, so they are matched after the rows are counted.
SELECT
    coalesce(sum(t.waiting), 0)::bigint AS waiting,
    (extract(epoch FROM min(t.oldest)) * 1000000)::bigint AS oldest,
    coalesce(sum(t.parked), 0)::bigint AS parked,
    coalesce(sum(t.refused), 0)::bigint AS refused
FROM (
    SELECT
        r.type,
        count(*) FILTER (WHERE NOT r.parked AND r.attempts = 0) AS waiting,
        min(r.created_at) FILTER (WHERE NOT r.parked AND r.attempts = 0 AND isfinite(r.created_at)) AS oldest,
        count(*) FILTER (WHERE r.parked) AS parked,
        count(*) FILTER (WHERE NOT r.parked AND r.attempts > 0) AS refused
    FROM (
        SELECT
            t.<type>::text AS type,
            t.<created_at> AS created_at,
            coalesce(t.<attempts>, 0) AS attempts,
            coalesce(t.<next_attempt_at> = timestamptz 'infinity', false) AS parked
        FROM <table> AS t
        WHERE t.<published_at> IS NULL
    ) AS r
    GROUP BY r.type
) AS t
WHERE onefold_wants($1, t.type)
