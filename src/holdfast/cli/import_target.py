"""Import the object that MODULE:NAME names on a command line, or explain why that fails."""

from __future__ import annotations

import importlib
import sys
import sysconfig
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NoReturn

from .connection import fail
from .exit_codes import WRONG_USAGE


@dataclass(frozen=True, slots=True)
class TargetKind:
    """Describes the kind of object that a command imports from a module of the user.

    Attributes:
        types: the types that the object may have.
        noun: the word for such an object in messages.
        metavar: the placeholder for the name of the object in help texts.
        default: the name of the object if the user gives only a module.
        example: an example of MODULE:NAME.
    """

    types: tuple[type[Any], ...]
    noun: str
    metavar: str
    default: str
    example: str

    def names_in(self, module: ModuleType) -> list[str]:
        """Return the names of all objects of this kind in *module*."""
        return [name for name, value in vars(module).items() if isinstance(value, self.types)]


FRAMES: Final = 3
"""Lines of the user's code that the message about a failed import shows."""

LINES: Final = 5
"""Lines of an exception's text that the message about a failed import shows."""

OURS: Final = Path(__file__).resolve().parents[1]


def import_target(target: str, wanted: TargetKind) -> Any:
    """Import and return the object that *target* (MODULE:NAME) names. End the command if it fails.

    Python also searches the current folder for the module.
    """
    name, _, path = target.partition(":")
    if not all(part.isidentifier() for part in name.split(".")) or name.endswith(".py"):
        fail(f"{name!r} is no name of a module{_hint(name, wanted)}", code=WRONG_USAGE)
    sys.path.insert(0, str(Path.cwd()))
    try:
        module = importlib.import_module(name)
    except (Exception, SystemExit) as error:  # noqa: BLE001 (the user's module may raise anything)
        _explain_import_error(name, error, wanted)
    found: Any = module
    for part in (path or wanted.default).split("."):
        found = getattr(found, part, None)
    if not isinstance(found, wanted.types):
        fail(_not_there(module, path, found, wanted), code=WRONG_USAGE)
    return found


def _explain_import_error(name: str, error: BaseException, wanted: TargetKind) -> NoReturn:
    """End the command, and say whether module *name* does not exist or failed with *error*."""
    absent = error.name if isinstance(error, ModuleNotFoundError) else None
    if absent is None or not f"{name}.".startswith(f"{absent}."):
        _module_raised(name, error)
    package = absent.rpartition(".")[0]
    where = f"in {package!r}" if package else f"in {str(Path.cwd())!r} or on Python's path"
    what = "" if absent == name else f"module {name!r} cannot be imported: "
    fail(f"{what}there is no module {absent!r} {where}{_hint(name, wanted)}", code=WRONG_USAGE)


def _hint(name: str, wanted: TargetKind) -> str:
    """Return a hint with the module that the user may have meant by *name*."""
    if name.endswith(".py") or "/" in name:
        meant = name.removesuffix(".py").strip("./").replace("/", ".")
        return f"; did you mean {f'{meant}:{wanted.default}'!r}?"
    return f"; expected MODULE:{wanted.metavar}, as in {wanted.example}"


def _not_there(module: ModuleType, path: str, found: Any, wanted: TargetKind) -> str:
    """Return a message that *path* is not a wanted object, with the names of objects that are."""
    names = wanted.names_in(module)
    file = getattr(module, "__file__", None)  # shown, because it may not be the expected file
    where = f"module {module.__name__!r}{f' ({_short_path(file)})' if file else ''}"
    tried = repr(path) if path else f"{wanted.default!r} (the default)"
    problem = f"{where} has no {tried}"
    if found is not None:
        problem = f"{tried} of {where} is not a {wanted.noun} but {type(found).__name__!r}"
    if not names:
        return f"{problem}, and no {wanted.noun} at all; expected as in {wanted.example}"
    targets = ", ".join(f"{module.__name__}:{name}" for name in names)
    return f"{problem}; what it has: {targets}"


def _module_raised(name: str, error: BaseException) -> NoReturn:
    """End the command, because importing the module raised *error*.

    The message has the last lines of the user's code in the traceback.
    """
    text = "\n".join(str(error).splitlines()[:LINES])
    if isinstance(error, SyntaxError):
        text = error.msg
    what = f"module {name!r} cannot be imported: {type(error).__name__}: {text}"
    fail("\n  ".join([what, *list(_user_lines(error))[-FRAMES:]]))


def _user_lines(error: BaseException) -> Iterator[str]:
    """Yield the lines of the user's code in the traceback, such as `app/mail.py:3: foo()`."""
    frames = list(traceback.extract_tb(error.__traceback__))
    users = [frame for frame in frames if _is_user_file(frame.filename)]
    if isinstance(error, SyntaxError) and error.filename:  # the traceback lacks this line
        name, code = error.filename, error.text or ""
        users.append(traceback.FrameSummary(name, error.lineno, "<module>", line=code))
    for frame in users or frames[-1:]:
        yield f"{_short_path(frame.filename)}:{frame.lineno or '?'}: {(frame.line or '').strip()}"


def _is_user_file(filename: str) -> bool:
    """Return whether a file is the user's: not of Python, an installed package or Holdfast."""
    path = Path(filename)
    paths = sysconfig.get_paths()
    foreign = [
        OURS,
        *(Path(paths[name]) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
    ]
    return not filename.startswith("<") and not any(path.is_relative_to(each) for each in foreign)


def _short_path(filename: str) -> Path:
    """Return the path of a file, relative to the current folder if the folder contains it."""
    path, here = Path(filename), Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
