-- Both in one commit: completes what its holders were granted, and grants operations that are absent. The parameters
-- are those of settle.sql, then those of insert_if_absent.sql; a completed one has no time.
SELECT tenant, kind, operation_id, NULL::bigint FROM onefold_settle(
    $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19
)
UNION ALL
SELECT tenant, kind, operation_id, granted_at FROM onefold_claim(
    $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35, $36, $37, $38, $39, $40,
    $41, $42, $43, $44, $45, $46, $47, $48, $49, $50, $51
)
