"""`holdfast complete`: names by their beginning."""
