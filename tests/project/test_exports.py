"""The public names: complete, described, and the same in both halves."""

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import holdfast
import holdfast.testing
from holdfast import errors
from holdfast.exports import EXPORTS, MODULES
from project.sources import PACKAGE, tree

PUBLIC = [name for name in holdfast.__all__ if not name.startswith("_")]
PAIRS = [(name, name.removeprefix("Async")) for name in PUBLIC if name.startswith("Async")]
RENAMED = {"__aenter__": "__enter__", "__aexit__": "__exit__"}

ERRORS = {
    name: value
    for name, value in vars(errors).items()
    if isinstance(value, type) and issubclass(value, BaseException)
}


def test_all_is_sorted_and_without_doubles() -> None:
    assert holdfast.__all__ == sorted(set(holdfast.__all__))


def test_every_public_name_can_be_imported() -> None:
    assert [name for name in holdfast.__all__ if not hasattr(holdfast, name)] == []


def test_star_import_gives_every_public_name() -> None:
    names: dict[str, Any] = {}
    exec("from holdfast import *", names)  # the only place for such an import
    assert {*names} >= {*holdfast.__all__}


def in_stub(package: Path) -> dict[str, str]:
    """Return the module of each name that the stub of *package* gives to type checkers."""
    return {
        alias.asname or "": node.module or ""
        for node in tree(package / "__init__.pyi").body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def test_type_checkers_see_the_same_names() -> None:
    assert in_stub(PACKAGE) == EXPORTS | {"__version__": "version"}
    assert sorted(in_stub(PACKAGE / "testing")) == holdfast.testing.__all__


def test_a_public_name_is_listed_once() -> None:
    """In one module: a second one would replace the first."""
    listed = [name for names in MODULES.values() for name in names]
    assert len(listed) == len(set(listed))


def test_what_is_not_public_is_not_there() -> None:
    with pytest.raises(AttributeError, match="module 'holdfast' has no attribute 'Lokc'"):
        _ = holdfast.Lokc  # type: ignore[attr-defined]
    assert set(holdfast.__all__) <= set(dir(holdfast))


def members(cls: type) -> Iterator[tuple[str, Any]]:
    """Yield the public methods and properties that a class or its bases in Holdfast define."""
    for base in cls.__mro__:
        if base.__module__.startswith("holdfast."):
            for name, value in vars(base).items():
                if not name.startswith("_") and isinstance(
                    value, property | classmethod | staticmethod | type(members)
                ):
                    yield name, value


def test_everything_public_is_described() -> None:
    """Classes, functions, methods and properties, each by a sentence that ends."""
    described = [(name, getattr(holdfast, name)) for name in PUBLIC]
    for name, value in described[:]:
        if isinstance(value, type):
            described += [(f"{name}.{member}", each) for member, each in members(value)]
    docstrings = {what: (inspect.getdoc(each) or "").strip() for what, each in described}
    sentence = re.compile(r"[^\n]+(\n[^\n]+)?[.:](\s|$)")
    assert {what: doc for what, doc in docstrings.items() if not sentence.match(doc)} == {}


def fields_of(cls: type) -> tuple[str, ...]:
    """Return the fields of a dataclass or a Struct; none of another class."""
    return tuple(getattr(cls, "__dataclass_fields__", getattr(cls, "__struct_fields__", ())))


FIELDS = [
    name
    for name in PUBLIC
    if isinstance(getattr(holdfast, name), type) and fields_of(getattr(holdfast, name))
]


def test_every_field_of_a_value_is_described() -> None:
    def is_described(cls: type, field: str) -> bool:
        return bool(re.search(rf"^    {field}: ", inspect.getdoc(cls) or "", re.MULTILINE))

    values = [getattr(holdfast, name) for name in FIELDS]
    fields = [(cls, field) for cls in values for field in fields_of(cls)]
    public = [(cls, field) for cls, field in fields if not field.startswith("_")]
    assert public
    assert [each for each in public if not is_described(*each)] == []


def test_values_are_frozen() -> None:
    values = [getattr(holdfast, name) for name in FIELDS]
    configs = [
        cls.__struct_config__ if issubclass(cls, msgspec.Struct) else cls.__dataclass_params__
        for cls in values
    ]
    assert [cls for cls, config in zip(values, configs, strict=True) if not config.frozen] == []


def test_everything_has_two_halves() -> None:
    assert PAIRS
    assert [half for _, half in PAIRS if half not in PUBLIC] == []


def surface(cls: type) -> dict[str, Any]:
    """Public names of a class, attributes that its constructor sets included."""
    found = {RENAMED.get(name, name): value for name, value in vars(cls).items()}
    found = {name: value for name, value in found.items() if not name.startswith("_")} | {
        name: found[name] for name in ("__init__", "__enter__", "__exit__") if name in found
    }
    for name in re.findall(r"self\.([a-z]\w*)(?::.*?)? = ", inspect.getsource(cls)):
        found.setdefault(name, None)
    return found


def signature(value: Callable[..., Any]) -> str:
    """Return a signature without the differences of the halves."""
    return re.sub(r"\b(Abstract)?Async(?=[A-Z])", r"\1", str(inspect.signature(value)))


@pytest.mark.parametrize(("twin", "half"), PAIRS)
def test_both_halves_have_the_same_names_and_signatures(twin: str, half: str) -> None:
    asynchronous = surface(getattr(holdfast, twin))
    blocking = surface(getattr(holdfast, half))
    assert asynchronous.keys() == blocking.keys()
    for name, value in asynchronous.items():
        other = blocking[name]
        function, twin_function = inspect.unwrap(other or len), inspect.unwrap(value or len)
        if isinstance(value, classmethod):
            function, twin_function = other.__func__, value.__func__
        if inspect.isfunction(twin_function):
            assert signature(twin_function) == signature(function), name
            assert not inspect.iscoroutinefunction(function), name


@pytest.mark.parametrize(("twin", "half"), PAIRS)
def test_both_halves_keep_parameters_in_one_order(twin: str, half: str) -> None:
    """Options of the constructor are keyword-only in both."""
    parameters = inspect.signature(getattr(holdfast, twin)).parameters
    others = inspect.signature(getattr(holdfast, half)).parameters
    assert [(p.name, p.kind, p.default) for p in parameters.values()] == [
        (p.name, p.kind, p.default) for p in others.values()
    ]


def test_each_error_is_one_of_ours_and_public() -> None:
    """`except HoldfastError` catches it, and a user can import it."""
    assert ERRORS
    for name, error in ERRORS.items():
        assert issubclass(error, holdfast.HoldfastError), name
        assert vars(error).get("__doc__"), name
        assert getattr(holdfast, name) is error, name


def drawn() -> dict[str, tuple[str, str | None]]:
    """Name → parent and second base, as the tree in the docstring of `errors.py` shows them."""
    found: dict[str, tuple[str, str | None]] = {}
    path: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        if match := re.match(r"    ([│├└─ ]*)([A-Z]\w+)(?: \((\w+)\))?", line):
            depth = len(match[1]) // 4
            path = [*path[:depth], match[2]]
            if depth:
                found[match[2]] = (path[depth - 1], match[3])
    return found


def test_the_tree_in_the_docstring_is_the_tree() -> None:
    """Every error, its parent, and the exception of Python that it also is."""
    actual = {
        name: (error.__bases__[0].__name__, *[base.__name__ for base in error.__bases__[1:]])
        for name, error in ERRORS.items()
        if error is not holdfast.HoldfastError
    }
    assert {name: tuple(filter(None, each)) for name, each in drawn().items()} == actual
