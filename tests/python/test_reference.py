# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors
"""The page of doc/ about the package, its stub and its docstrings are what the package has."""

import importlib.util
import inspect
import os
import re
import unittest

import ovstage

SOURCE = os.environ.get("OVSTAGE_SRCDIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
spec = importlib.util.spec_from_file_location("make_python_page", os.path.join(SOURCE, "doc", "make-python-page.py"))
maker = importlib.util.module_from_spec(spec)
spec.loader.exec_module(maker)

CLASSES = [name for name in ovstage.__all__ if inspect.isclass(getattr(ovstage, name))]
FUNCTIONS = [name for name in ovstage.__all__ if inspect.isroutine(getattr(ovstage, name))]
ENUMS = {name: getattr(ovstage, name) for name in CLASSES if hasattr(getattr(ovstage, name), "__members__")}


def public(kind):
    return [name for name in vars(kind) if not name.startswith("_")]


def functions():
    """(name, what it is, what the stub or the source says) of all functions and methods."""
    for name in FUNCTIONS:
        yield name, getattr(ovstage, name), maker.NODES[name]
    for name in CLASSES:
        kind = getattr(ovstage, name)
        for member in [*public(kind), *(m for m in maker.SPECIAL if m in vars(kind))]:
            if callable(getattr(kind, member)) and name not in ENUMS:
                yield f"{name}.{member}", getattr(kind, member), maker.NODES[f"{name}.{member}"]


class Reference(unittest.TestCase):
    maxDiff = None

    def test_page(self):
        with open(maker.PAGE, encoding="utf-8") as file:
            self.assertEqual(file.read(), maker.page(), "run `make update-python-page'")

    def test_every_name_is_on_the_page(self):
        page = maker.make()
        for name in ovstage.__all__:
            self.assertRegex(page, rf"(?m)^### {name}$")
        for name, function, _ in functions():
            member = name.rpartition(".")[2]
            self.assertRegex(page, rf"(?m)^####? {name}$")
            for parameter in inspect.signature(function).parameters:
                if parameter != "self":
                    self.assertRegex(page, rf"`{parameter}`", f"{name}: {member}")

    def test_stub_has_the_same_members(self):
        for name in CLASSES:
            kind = getattr(ovstage, name)
            if name in ENUMS or kind.__module__ in ("ovstage._types", "ovstage._filters", "ovstage._errors"):
                continue
            stub = {n.partition(".")[2] for n in maker.NODES if n.startswith(f"{name}.")}
            self.assertEqual({n for n in stub if not n.startswith("_")}, set(public(kind)), name)

    def test_stub_has_the_same_signatures(self):
        for name, function, node in functions():
            with self.subTest(name):
                scope = {**ENUMS, "NONE": None}
                expected = []
                positional = [*node.args.posonlyargs, *node.args.args]
                defaults = [None] * (len(positional) - len(node.args.defaults)) + node.args.defaults
                for argument, default in [*zip(positional, defaults), *zip(node.args.kwonlyargs, node.args.kw_defaults)]:
                    kind = (
                        inspect.Parameter.KEYWORD_ONLY if argument in node.args.kwonlyargs
                        else inspect.Parameter.POSITIONAL_ONLY if argument in node.args.posonlyargs
                        else inspect.Parameter.POSITIONAL_OR_KEYWORD
                    )
                    value = inspect.Parameter.empty if default is None else eval(maker.ast.unparse(default), scope)
                    expected.append((argument.arg, kind, value))
                found = [(p.name, p.kind, p.default) for p in inspect.signature(function).parameters.values()]
                # The receiver is positional only in C.
                self.assertEqual([p for p in found if p[0] != "self"], [p for p in expected if p[0] not in ("self", "cls")])

    def test_docstrings_tell_every_parameter(self):
        for name, function, node in functions():
            told = {word for line in re.findall(r"(?m)^\s*(\w+(?:, \w+)*): ", function.__doc__) for word in line.split(", ")}
            self.assertLessEqual(set(maker.argument_names(node)), told, name)
        for name in CLASSES:
            self.assertTrue(getattr(ovstage, name).__doc__, name)
            made = maker.NODES.get(f"{name}.__new__") or maker.NODES.get(f"{name}.__init__")
            if made is not None:
                self.assertLessEqual(
                    set(maker.argument_names(made)), set(re.findall(r"\w+", getattr(ovstage, name).__doc__)), name
                )
        for name, kind in ENUMS.items():
            if not name.startswith("DL"):
                self.assertLessEqual(set(kind.__members__), set(re.findall(r"(?m)^\s*(\w+): ", kind.__doc__)), name)


if __name__ == "__main__":
    unittest.main()
