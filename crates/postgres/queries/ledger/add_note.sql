-- Things that were said of operations; each parameter is a column.
INSERT INTO onefold_notes (tenant, kind, operation_id, at, who, what, why, fence)
SELECT * FROM unnest(
    $1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::bigint[]
)
