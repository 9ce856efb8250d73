-- An incident as it stands now.
INSERT INTO onefold_incidents ({incident}) VALUES ({incident: ?#})
ON CONFLICT (id) DO UPDATE SET {incident.changing: @ = excluded.@}
