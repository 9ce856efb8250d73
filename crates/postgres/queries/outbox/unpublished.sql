-- A relay that wants an event and has not passed it; what a person skipped counts as passed.
SELECT relay
FROM onefold_outbox
WHERE id = $1::text::uuid AND ($2::text IS NULL OR relay = $2) AND status <> 'PUBLISHED'
LIMIT 1
