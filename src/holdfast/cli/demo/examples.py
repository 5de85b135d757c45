"""The examples that the demos run.

They are what a user reads and copies, so they are no part of the package, but lie beside it: at the
root of a checkout, or inside an installed wheel.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from ..connection import fail

HERE = Path(__file__).resolve()
PLACES = (HERE.parents[1] / "examples", HERE.parents[4] / "examples")


def example_file(name: str) -> Path:
    """Where the file *name* of the examples lies.

    Raises:
        FileNotFoundError: the examples were not installed; the message says where they should be.
    """
    for folder in PLACES:
        if (folder / name).is_file():
            return folder / name
    raise FileNotFoundError(f"cannot find the example {name} in {PLACES[0]} or {PLACES[1]}")


def needed_example(name: str) -> Path:
    """The same for a command, which it ends if the examples were not installed."""
    try:
        return example_file(name)
    except FileNotFoundError as error:
        fail(str(error))


def load_example(path: Path) -> ModuleType:
    """Import a file as the module that its name says, once, without touching `sys.path`.

    An `__init__.py` is the package of its folder: its modules can be imported then.
    """
    name = path.parent.name if path.stem == "__init__" else path.stem
    loaded = sys.modules.get(name)
    if loaded is not None and loaded.__file__ == str(path):
        return loaded
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
