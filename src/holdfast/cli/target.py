"""MODULE:NAME, and what to say when it leads nowhere."""

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

from .codes import WRONG_USAGE
from .connection import fail


@dataclass(frozen=True, slots=True)
class Sought:
    """What a command wants of a module of the user's.

    Attributes:
        kinds: what it may be.
        noun: what that is called.
        word: what it is called where it has to be given.
        default: its name when none is given.
        example: of a target.
    """

    kinds: tuple[type[Any], ...]
    noun: str
    word: str
    default: str
    example: str

    def found_in(self, module: ModuleType) -> list[str]:
        """Names of all that it may be."""
        return [name for name, value in vars(module).items() if isinstance(value, self.kinds)]


FRAMES: Final = 3
"""Lines of the user's code that tell where an import failed."""

LINES: Final = 5
"""Of an error's own message; some print a page."""

OURS: Final = Path(__file__).resolve().parents[1]


def loaded(target: str, sought: Sought) -> Any:
    """What MODULE:NAME stands for, the current folder included; ends the command if nothing."""
    name, _, path = target.partition(":")
    if not all(part.isidentifier() for part in name.split(".")) or name.endswith(".py"):
        fail(f"{name!r} is no name of a module{_hint(name, sought)}", code=WRONG_USAGE)
    sys.path.insert(0, str(Path.cwd()))
    try:
        module = importlib.import_module(name)
    except (Exception, SystemExit) as error:  # noqa: BLE001 (the user's module may raise anything)
        _missing_or_broken(name, error, sought)
    found: Any = module
    for part in (path or sought.default).split("."):
        found = getattr(found, part, None)
    if not isinstance(found, sought.kinds):
        fail(_not_there(module, path, found, sought), code=WRONG_USAGE)
    return found


def _missing_or_broken(name: str, error: BaseException, sought: Sought) -> NoReturn:
    """End the command: module *name* is not there, or raised *error* itself."""
    absent = error.name if isinstance(error, ModuleNotFoundError) else None
    if absent is None or not f"{name}.".startswith(f"{absent}."):
        _broken(name, error)
    package = absent.rpartition(".")[0]
    where = f"in {package!r}" if package else f"in {str(Path.cwd())!r} or on Python's path"
    what = "" if absent == name else f"module {name!r} cannot be imported: "
    fail(f"{what}there is no module {absent!r} {where}{_hint(name, sought)}", code=WRONG_USAGE)


def _hint(name: str, sought: Sought) -> str:
    """What may have been meant by a name that is none of a module."""
    if name.endswith(".py") or "/" in name:
        meant = name.removesuffix(".py").strip("./").replace("/", ".")
        return f"; did you mean {f'{meant}:{sought.default}'!r}?"
    return f"; expected MODULE:{sought.word}, as in {sought.example}"


def _not_there(module: ModuleType, path: str, found: Any, sought: Sought) -> str:
    """Why *path* does not lead to what is sought, and what would."""
    names = sought.found_in(module)
    file = getattr(module, "__file__", None)  # another one of that name may stand before it
    where = f"module {module.__name__!r}{f' ({_near(file)})' if file else ''}"
    tried = repr(path) if path else f"{sought.default!r} (the default)"
    problem = f"{where} has no {tried}"
    if found is not None:
        problem = f"{tried} of {where} is not a {sought.noun} but {type(found).__name__!r}"
    if not names:
        return f"{problem}, and no {sought.noun} at all; expected as in {sought.example}"
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
