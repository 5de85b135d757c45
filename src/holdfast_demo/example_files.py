"""Find and load the example files that the demos run.

Users read and copy these files, so they are in the folder `examples`: at the root of a checkout, or
beside this module in an installed wheel.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Final

HERE: Final = Path(__file__).resolve().parent
FOLDERS: Final = (HERE / "examples", HERE.parents[1] / "examples")


def example_file(name: str) -> Path:
    """Return the path of an example.

    Raises:
        FileNotFoundError: the examples were not installed.
    """
    for folder in FOLDERS:
        if (folder / name).is_file():
            return folder / name
    raise FileNotFoundError(f"cannot find the example {name} in {FOLDERS[0]} or {FOLDERS[1]}")


def load_example(path: Path) -> ModuleType:
    """Import a file as a module of its name, without changing `sys.path`. Import it only once.

    An `__init__.py` becomes the package of its folder, so that the modules in it can be imported.
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


def example(name: str) -> ModuleType:
    """Return the module of an example file; see `example_file`."""
    return load_example(example_file(name))
