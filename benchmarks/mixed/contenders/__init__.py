"""The same service, written with each library as its documentation shows it."""
