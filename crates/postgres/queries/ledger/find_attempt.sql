-- Past attempts, by key and fence.
SELECT {attempt: o.@}
FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) AS k (tenant, kind, operation_id, fence)
JOIN onefold_attempts AS o ON o.operation_id = k.operation_id AND o.kind = k.kind AND o.tenant = k.tenant AND o.fence = k.fence
