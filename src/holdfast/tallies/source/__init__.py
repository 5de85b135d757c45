"""What a tally reads: feeds and local files alike, as far as it needs to know them."""
