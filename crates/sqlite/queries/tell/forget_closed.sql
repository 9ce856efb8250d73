-- Nothing more is announced of an incident whose closing was.
DELETE FROM onefold_told WHERE sink = ?1 AND incident_id IN (
    SELECT incident_id FROM onefold_told WHERE sink = ?1 AND announcement = ?2 AND event = 'closed'
)
