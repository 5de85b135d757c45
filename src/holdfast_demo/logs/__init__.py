"""The logs demos: consumers save the files of a feed, or count their lines."""
