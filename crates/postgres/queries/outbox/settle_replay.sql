-- What a page of a replay came to, under its fence; the lease is renewed. What a person ended stays as it is.
UPDATE onefold_replays
SET
    state = $3,
    pos = $4,
    published = $5,
    refused = $6,
    refusals = $7,
    ended_at = $8,
    lease_until = $9
WHERE id = $1 AND fence = $2 AND state = 'RUNNING'
