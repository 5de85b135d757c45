"""Finds the global variable from which a child process can import the registry of its worker."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Final

import msgspec

from ..registry import TaskRegistry

_MAIN: Final = "__main__"

_IMPORTED_MAIN: Final = "__holdfast_main__"
"""The name of the program's file in a child, so that `if __name__ == "__main__"` is false there."""


class RegistryAddress(msgspec.Struct, frozen=True):
    """A global variable of a module, which a child process imports.

    Attributes:
        module: name of the module; empty: use `path`.
        attribute: name of the variable.
        path: file of the program, if it was started as a file; otherwise empty.
    """

    module: str
    attribute: str
    path: str = ""

    @classmethod
    def of(cls, registry: TaskRegistry) -> RegistryAddress:
        """Return the address of *registry*.

        Raises:
            ValueError: a child process could not import it.
        """
        for module, attribute in _variables(registry):
            if module.__name__ != _MAIN:
                return cls(module.__name__, attribute)
            spec, file = getattr(module, "__spec__", None), getattr(module, "__file__", None)
            if spec is not None:  # python -m
                return cls(spec.name, attribute)
            if file is not None:
                return cls("", attribute, str(file))
        raise ValueError(
            "the registry has tasks with cpu=True, which run in child processes, so these must be "
            "able to import it: make it a global variable of a module, as in `tasks = "
            "TaskRegistry()`, not a local variable of a function"
        )

    def imported(self) -> TaskRegistry:
        """Return the registry, imported in this process.

        Raises:
            Exception: whatever the module raises.
            TypeError: there is no registry of that name now.
        """
        module = importlib.import_module(self.module) if self.module else _loaded(self.path)
        found = getattr(module, self.attribute, None)
        if not isinstance(found, TaskRegistry):
            where = self.module or self.path
            raise TypeError(f"{where} has no TaskRegistry {self.attribute!r} when it is imported")
        return found


def _variables(registry: TaskRegistry) -> Iterator[tuple[ModuleType, str]]:
    """Yield each global variable that holds *registry*; those of the main module come last."""
    modules = list(sys.modules.items())
    modules.sort(key=lambda item: item[0] == _MAIN)
    for name, module in modules:
        if isinstance(module, ModuleType) and module.__name__ == name:
            for attribute, value in list(vars(module).items()):
                if value is registry:
                    yield module, attribute


def _loaded(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(_IMPORTED_MAIN, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[_IMPORTED_MAIN] = module
    spec.loader.exec_module(module)
    return module
