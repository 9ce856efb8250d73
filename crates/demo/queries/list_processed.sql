SELECT operation_id, outcome FROM processed
