"""The demos of Holdfast: a user of the library like any other, with public names only."""
