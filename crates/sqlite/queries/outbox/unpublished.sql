-- A relay that wants an event and has not passed it; what a person skipped counts as passed.
SELECT relay
FROM onefold_outbox
WHERE id = ?1 AND (?2 IS NULL OR relay = ?2) AND status <> 'PUBLISHED'
LIMIT 1
