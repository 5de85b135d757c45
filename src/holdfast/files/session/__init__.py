"""A run of a consumer through the files of a feed."""
