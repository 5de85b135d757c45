"""One call: an atomic step on the unit's server, with exactly three ways to end."""
