"""Checks that a built site has every public name: Python's, with inherited methods, and C++'s classes."""

import importlib
import inspect
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from sphinx.util.inventory import InventoryFile


def python_names(package: str, modules: tuple[str, ...]) -> set[str]:
    """`package.Class.method` for all that `__all__` of the package and of its modules names."""
    found = set()
    for module in (package, *(f"{package}.{name}" for name in modules)):
        for name in importlib.import_module(module).__all__:
            member = getattr(importlib.import_module(module), name)
            if name.startswith("_") or inspect.ismodule(member):
                continue
            found.add(f"{module}.{name}")
            if inspect.isclass(member):
                every = set(dir(BaseException)) if issubclass(member, BaseException) else set()
                public = [
                    method for method in dir(member) if not method.startswith("_") and method not in every
                ]
                found |= {
                    f"{module}.{name}.{method}" for method in public if callable(getattr(member, method))
                }
    return found


def cpp_names(doxygen: Path) -> set[str]:
    """Classes and structs that Doxygen saw defined, but for specialisations."""

    def defined(item: ElementTree.Element) -> bool:
        text = (doxygen / "xml" / f"{item.get('refid')}.xml").read_text()
        return (
            item.get("kind") in ("class", "struct") and 'bodyend="-1"' not in text.rpartition("<location")[2]
        )

    index = ElementTree.parse(doxygen / "xml" / "index.xml").getroot()
    names = {item.findtext("name") or "" for item in index.iter("compound") if defined(item)}
    return {name for name in names if "<" not in name}


def missing_names(site: Path, package: str, modules: tuple[str, ...], doxygen: Path) -> list[str]:
    """One line for each public name that has no place in the site."""
    inventory = InventoryFile.loads((site / "objects.inv").read_bytes(), uri="").data
    places = {
        language: {name for role, names in inventory.items() if role.startswith(language) for name in names}
        for language in ("py:", "cpp:")
    }
    wanted = {"py:": python_names(package, modules), "cpp:": cpp_names(doxygen)}
    return [
        f"the reference lacks {name}"
        for language, names in wanted.items()
        for name in sorted(names - places[language])
    ]
