"""`holdfast demo sale`: a flash sale, at the database and with the row cache."""
