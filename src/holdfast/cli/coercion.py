"""Words of the command line become values."""

from __future__ import annotations

from typing import Any


class Sparing:
    """Leaves alone what is a value already, and has Typer see to the rest.

    Typer asks pydantic, which takes longer to load than most commands take to run.
    """

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value of *param* that *value* stands for."""
        kind = param.type_descriptor.annotation
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        if type(value) is kind and (kind is str or value is param.default):
            return value
        return type(param).get_runtime_param(param).coerce(value, param=param, ctx=ctx)
