"""A whole namespace, looked at key by key: nothing is written."""
