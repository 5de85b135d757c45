"""What a holder has: a place, for as long as its lease is renewed."""
