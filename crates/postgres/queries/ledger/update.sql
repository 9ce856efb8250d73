-- Operations after their transitions; each parameter is a column: the key, then what a transition may change.
UPDATE onefold_operations AS o SET {operation.changing: @ = r.@}
FROM unnest({operation.updating: $#::&[]}) AS r ({operation.updating})
WHERE o.operation_id = r.operation_id AND o.kind = r.kind AND o.tenant = r.tenant
