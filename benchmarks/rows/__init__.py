"""Row caches beside the textbook's loop, dogpile.cache and cashews."""
