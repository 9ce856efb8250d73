SELECT standing FROM case_actors WHERE id = ?1
