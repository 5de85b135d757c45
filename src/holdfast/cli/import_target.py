"""Import MODULE:NAME, and explain why it cannot be imported."""

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
    """What a command imports from a module of the user.

    Attributes:
        types: of the object.
        noun: the name of the type.
        metavar: of the object in help texts.
        default: the name of the object if none is given.
        example: a target.
    """

    types: tuple[type[Any], ...]
    noun: str
    metavar: str
    default: str
    example: str

    def names_in(self, module: ModuleType) -> list[str]:
        """Return the names of all such objects in *module*."""
        return [name for name, value in vars(module).items() if isinstance(value, self.types)]


FRAMES: Final = 3
"""Lines of the user's code that are shown for a failed import."""

LINES: Final = 5
"""Lines of an error message that are shown; some have a page."""

OURS: Final = Path(__file__).resolve().parents[1]


def import_target(target: str, wanted: TargetKind) -> Any:
    """Return the object at MODULE:NAME, also from the current folder; or end the command."""
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
    """End the command: module *name* does not exist, or raised *error* itself."""
    absent = error.name if isinstance(error, ModuleNotFoundError) else None
    if absent is None or not f"{name}.".startswith(f"{absent}."):
        _module_raised(name, error)
    package = absent.rpartition(".")[0]
    where = f"in {package!r}" if package else f"in {str(Path.cwd())!r} or on Python's path"
    what = "" if absent == name else f"module {name!r} cannot be imported: "
    fail(f"{what}there is no module {absent!r} {where}{_hint(name, wanted)}", code=WRONG_USAGE)


def _hint(name: str, wanted: TargetKind) -> str:
    """Return what may have been meant by a name that is no module."""
    if name.endswith(".py") or "/" in name:
        meant = name.removesuffix(".py").strip("./").replace("/", ".")
        return f"; did you mean {f'{meant}:{wanted.default}'!r}?"
    return f"; expected MODULE:{wanted.metavar}, as in {wanted.example}"


def _not_there(module: ModuleType, path: str, found: Any, wanted: TargetKind) -> str:
    """Return why *path* is not the wanted object, and which names are."""
    names = wanted.names_in(module)
    file = getattr(module, "__file__", None)  # another module of that name may shadow it
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
    """End the command: the user's module raised *error*; show it with the lines that did."""
    text = "\n".join(str(error).splitlines()[:LINES])
    if isinstance(error, SyntaxError):
        text = error.msg
    what = f"module {name!r} cannot be imported: {type(error).__name__}: {text}"
    fail("\n  ".join([what, *list(_user_lines(error))[-FRAMES:]]))


def _user_lines(error: BaseException) -> Iterator[str]:
    """Return the lines of the user's code, the innermost last, as in `app/mail.py:3: foo()`."""
    frames = list(traceback.extract_tb(error.__traceback__))
    users = [frame for frame in frames if _is_user_file(frame.filename)]
    if isinstance(error, SyntaxError) and error.filename:  # the line that was never run
        name, code = error.filename, error.text or ""
        users.append(traceback.FrameSummary(name, error.lineno, "<module>", line=code))
    for frame in users or frames[-1:]:
        yield f"{_short_path(frame.filename)}:{frame.lineno or '?'}: {(frame.line or '').strip()}"


def _is_user_file(filename: str) -> bool:
    """Return whether a file belongs neither to Python, nor to an installed package, nor to us."""
    path = Path(filename)
    paths = sysconfig.get_paths()
    foreign = [
        OURS,
        *(Path(paths[name]) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
    ]
    return not filename.startswith("<") and not any(path.is_relative_to(each) for each in foreign)


def _short_path(filename: str) -> Path:
    """Return the path of a file, relative to the current folder if it is in it."""
    path, here = Path(filename), Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
