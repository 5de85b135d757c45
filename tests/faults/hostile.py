"""Exceptions with classes, messages and attributes that raise: `KINDS`."""

import asyncio
from collections.abc import Callable
from typing import Any, NoReturn


def raising(error: type[BaseException]) -> Callable[..., Any]:
    def raises(*_: object) -> NoReturn:
        raise error("no text")

    return raises


class HostileName(type):
    """A metaclass of classes that have no usable name."""

    def __getattribute__(cls, name: str) -> Any:
        raise RuntimeError(name)

    def __repr__(cls) -> str:
        raise RuntimeError("no text")


class Liar(str):
    """Text that raises whenever it is used."""

    __slots__ = ()
    __format__ = __str__ = __getitem__ = __add__ = isprintable = encode = raising(RuntimeError)


def kind_of(base: type[BaseException] = Exception, **attributes: Any) -> type[BaseException]:
    return type("Hostile", (base,), attributes)


def _grouped() -> BaseException:
    return BaseExceptionGroup("several", [KINDS["text raises"](), KeyboardInterrupt()])


def _chained() -> BaseException:
    error = ValueError("outer")
    error.__cause__ = KINDS["name"]()
    return error


def _annotated() -> BaseException:
    error = ValueError("with notes")
    error.__notes__ = [KINDS["text raises"]()]  # type: ignore[list-item]
    return error


KINDS: dict[str, Callable[[], BaseException]] = {
    "text raises": kind_of(__str__=raising(ValueError), __repr__=raising(ValueError)),
    "text raises KeyboardInterrupt": kind_of(__str__=raising(KeyboardInterrupt)),
    "text raises SystemExit": kind_of(__str__=raising(SystemExit)),
    "text raises GeneratorExit": kind_of(__str__=raising(GeneratorExit)),
    "text raises CancelledError": kind_of(__str__=raising(asyncio.CancelledError)),
    "text is no text": kind_of(__str__=lambda _: 17),
    "text lies": kind_of(__str__=lambda _: Liar("text")),
    "text is giant": kind_of(__str__=lambda _: "x" * 1_000_000),
    "text has lone surrogates": kind_of(__str__=lambda _: "\ud800 \x00 \n"),
    "argument": lambda: KeyError(KINDS["text raises"]()),
    "name": HostileName("Hostile", (Exception,), {}),
    "name lies": HostileName(Liar("Hostile"), (Exception,), {}),
    "name is giant": type("x" * 100_000, (Exception,), {}),
    "name has line ends": type("a\nb", (Exception,), {}),
    "class": kind_of(__class__=property(raising(RuntimeError))),
    "cause": kind_of(__cause__=property(raising(RuntimeError))),
    "context": kind_of(__context__=property(raising(KeyboardInterrupt))),
    "traceback": kind_of(__traceback__=property(raising(RuntimeError)), with_traceback=None),
    "notes": _annotated,
    "chain": _chained,
    "group": _grouped,
    "truth": kind_of(__bool__=raising(RuntimeError), __len__=raising(RuntimeError)),
    "equality": kind_of(__eq__=raising(RuntimeError), __hash__=None),
    "GeneratorExit": GeneratorExit,
    "GeneratorExit of its own": kind_of(GeneratorExit),
    "KeyboardInterrupt": KeyboardInterrupt,
    "SystemExit": SystemExit,
    "CancelledError": asyncio.CancelledError,
    "BaseException": BaseException,
    "StopIteration": StopIteration,
    "StopAsyncIteration": StopAsyncIteration,
    "TimeoutError": TimeoutError,
    "RecursionError": RecursionError,
    "MemoryError": MemoryError,
}
