"""Tests of `holdfast.inspect`; a folder of that name would hide the standard module."""
