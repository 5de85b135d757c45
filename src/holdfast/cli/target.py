"""MODULE:REGISTRY, and what to say when it leads nowhere."""

from __future__ import annotations

import sysconfig
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NoReturn

from .. import TaskRegistry
from .connection import WRONG_USAGE, fail

FRAMES: Final = 3
"""Lines of the user's code that tell where an import failed."""

LINES: Final = 5
"""Of an error's own message; some print a page."""

OURS: Final = Path(__file__).resolve().parents[1]


def checked_module(name: str) -> str:
    """*name*; ends the command if it is a path, or nothing that a module could be called."""
    if not all(part.isidentifier() for part in name.split(".")) or name.endswith(".py"):
        fail(f"{name!r} is no name of a module{_hint(name)}", code=WRONG_USAGE)
    return name


def missing_or_broken(name: str, error: BaseException) -> NoReturn:
    """End the command: module *name* is not there, or raised *error* itself."""
    absent = error.name if isinstance(error, ModuleNotFoundError) else None
    if absent is not None and f"{name}.".startswith(f"{absent}."):
        fail(f"there is no module {name!r} here or on the path{_hint(name)}", code=WRONG_USAGE)
    _broken(name, error)


def registry_in(module: ModuleType, path: str) -> TaskRegistry:
    """The registry that *path* leads to; ends the command if there is none."""
    found: Any = module
    for name in path.split("."):
        found = getattr(found, name, None)
    if not isinstance(found, TaskRegistry):
        fail(_no_registry(module, path, found), code=WRONG_USAGE)
    return found


def _hint(name: str) -> str:
    """What may have been meant by a name that is none of a module."""
    if name.endswith(".py") or "/" in name:
        meant = name.removesuffix(".py").strip("./").replace("/", ".")
        return f"; did you mean {f'{meant}:tasks'!r}?"
    return "; expected MODULE:REGISTRY, as in app.mail:tasks"


def _no_registry(module: ModuleType, path: str, found: Any) -> str:
    """Why *path* does not lead to a registry, and which ones there are."""
    names = [name for name, value in vars(module).items() if isinstance(value, TaskRegistry)]
    where = f"module {module.__name__!r}"
    problem = f"{where} has no {path!r}"
    if found is not None:
        problem = f"{path!r} of {where} is not a TaskRegistry but {type(found).__name__!r}"
    if not names:
        return f"{problem}, and no TaskRegistry at all; expected as in app.mail:tasks"
    targets = ", ".join(f"{module.__name__}:{name}" for name in names)
    return f"{problem}; what it has: {targets}"


def _broken(name: str, error: BaseException) -> NoReturn:
    """End the command: the user's module raised *error*; say what, and on which lines."""
    said = "\n".join(str(error).splitlines()[:LINES])
    if isinstance(error, SyntaxError):
        said = error.msg
    what = f"module {name!r} cannot be imported: {type(error).__name__}: {said}"
    fail("\n  ".join([what, *list(_lines(error))[-FRAMES:]]))


def _lines(error: BaseException) -> Iterator[str]:
    """Where in the user's code it happened, the innermost last, as in `app/mail.py:3: foo()`."""
    frames = list(traceback.extract_tb(error.__traceback__))
    users = [frame for frame in frames if _is_users(frame.filename)]
    if isinstance(error, SyntaxError) and error.filename:  # the line that was never run
        name, code = error.filename, error.text or ""
        users.append(traceback.FrameSummary(name, error.lineno, "<module>", line=code))
    for frame in users or frames[-1:]:
        yield f"{_near(frame.filename)}:{frame.lineno or '?'}: {(frame.line or '').strip()}"


def _is_users(filename: str) -> bool:
    """Whether a file is neither Python's, nor an installed package's, nor ours."""
    path = Path(filename)
    paths = sysconfig.get_paths()
    foreign = [
        OURS,
        *(Path(paths[name]) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
    ]
    return not filename.startswith("<") and not any(path.is_relative_to(each) for each in foreign)


def _near(filename: str) -> Path:
    """The path of a file, as short as it can be from here."""
    path, here = Path(filename), Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
