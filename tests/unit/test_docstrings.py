"""Docstrings of all public names, checked against the signatures."""

import dataclasses
import importlib
import inspect
import pkgutil

import pytest
from numpydoc.validate import validate

import cptw_indexer
import cptw_queries
import cptw_search

# Parameters that are missing, unknown, out of order, or without type or description; return values without one.
CHECKED = {"GL08", "PR01", "PR02", "PR03", "PR04", "PR07", "RT01", "RT03", "YD01"}
COMMANDS = "cptw_search.cli"  # their help is their documentation, and the options hold it
# The private halves of load_vectors and read_documents: one-line docstrings are enough there.
PRIVATE_HALVES = {"cptw_search.vector_files", "cptw_search.document_lines", "cptw_search.document_formats"}


def modules() -> list[str]:
    found = []
    for package in (cptw_search, cptw_indexer, cptw_queries):
        found.append(package.__name__)
        found += [m.name for m in pkgutil.walk_packages(package.__path__, package.__name__ + ".")]
    return [name for name in found if not name.startswith(COMMANDS) and not name.endswith("__main__")]


def public_objects() -> list[str]:
    names = []
    for module_name in sorted(set(modules()) - PRIVATE_HALVES):
        module = importlib.import_module(module_name)
        for name in getattr(module, "__all__", []):
            value = getattr(module, name)
            if getattr(value, "__module__", None) != module_name or not (inspect.isclass(value) or callable(value)):
                continue
            if getattr(value, "_is_protocol", False):
                continue  # its methods are documented where they are done
            names.append(f"{module_name}.{name}")
            if inspect.isclass(value) and not issubclass(value, Exception):
                names += [
                    f"{module_name}.{name}.{member}"
                    for member, content in vars(value).items()
                    if not member.startswith("_") and (callable(content) or isinstance(content, classmethod))
                ]
    return names


@pytest.mark.parametrize("name", modules())
def test_every_module_says_what_it_exports(name: str) -> None:
    module = importlib.import_module(name)
    assert module.__doc__
    assert sorted(module.__all__) == sorted(set(module.__all__))
    for exported in module.__all__:
        assert hasattr(module, exported), f"{name} exports {exported}, which it does not have"


@pytest.mark.parametrize("name", public_objects())
def test_docstrings_agree_with_signatures(name: str) -> None:
    problems = [(code, text) for code, text in validate(name)["errors"] if code in CHECKED]
    value = inspect.unwrap(_resolve(name))
    if inspect.isclass(value):
        own = {"PR01", "PR02"} if _documents_attributes(value) else set()
        problems = [(code, text) for code, text in problems if code not in own]
    assert not problems, f"{name}: {problems}"


def _resolve(name: str) -> object:
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            value: object = importlib.import_module(".".join(parts[:cut]))
        except ImportError:
            continue
        for part in parts[cut:]:
            value = getattr(value, part)
        return value
    raise AssertionError(name)


def _documents_attributes(value: type) -> bool:
    """Named tuples document attributes; data classes keep some fields for themselves."""
    is_named_tuple = issubclass(value, tuple) and hasattr(value, "_fields")
    return is_named_tuple or (
        dataclasses.is_dataclass(value) and any(f.name.startswith("_") for f in dataclasses.fields(value))
    )
