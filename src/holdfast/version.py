"""The version of the package, in the one place from which everything else takes it."""

__version__ = "0.1.0"
