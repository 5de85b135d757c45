"""Autocomplete: the names somebody used lately, and the names of a whole guild.

`recent` holds a short list, the latest first. `completions` finds names by their beginning among
thousands or millions, and reading them writes nothing.
"""
