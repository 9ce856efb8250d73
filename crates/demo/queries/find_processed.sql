SELECT outcome FROM processed WHERE operation_id = ?1
