-- Incidents as they stand now; each parameter is a column.
INSERT INTO onefold_incidents ({incident})
SELECT * FROM unnest({incident: $#::&[]})
ON CONFLICT (id) DO UPDATE SET {incident.changing: @ = excluded.@}
