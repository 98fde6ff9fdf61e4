#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors
"""Prints doc/python.md: what is said by hand at its top, then every public name of the package ovstage.

Signatures come from the stub and the sources, the rest from the docstrings. `make update-python-page'
writes the page anew; tests/python/test_reference.py tells when that was forgotten.
"""

import ast
import inspect
import os
import re
import sys
import textwrap

import ovstage

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = os.path.join(HERE, "python.md")
SOURCES = os.path.join(HERE, "..", "gir", "python", "ovstage")
MARK = "<!-- From here on by make update-python-page. -->\n"

SECTIONS = (
    ("The store", "Stage WriteDesc OrdinalRange"),
    ("Requests", "Operation Query Read Map Watch"),
    ("What reads and maps give", "ReadGroup ReadGroupMeta MapGroup"),
    ("Tensors", "DLTensor ManagedDLTensor make_dltensor dltensor_to_numpy DLDataType DLDevice Placement"),
    ("Names and paths", "PathDictionary PathList"),
    ("Filters", "Filter Predicate"),
    ("Enums", "PrimMode Scope AttributeSemantic FilterOp DLDataTypeCode DLDeviceType"),
    ("Errors", "OvstageError OvxError ErrorCode"),
    ("The rest", "library_version ORDINAL_NEWEST TIMEOUT_INFINITE glib"),
)
CONSTANTS = {
    "ORDINAL_NEWEST": "``2**64 - 1``: as the end of an OrdinalRange all that is sealed. It is not an ordinal to write at.",
    "TIMEOUT_INFINITE": "-1: as a timeout, wait for ever.",
}
SPECIAL = ("__dlpack__", "__dlpack_device__", "__array_interface__", "__dlpack_c_exchange_api__")
EXCHANGE = "The C exchange table of DLPack, in a capsule; as long as the process lives."


class Types(ast.NodeTransformer):
    """Annotations as people write them today."""

    names = {"_Attribute": "int | str", "List": "list", "Tuple": "tuple", "Type": "type"}

    def visit_Name(self, node):
        return ast.parse(self.names.get(node.id, node.id), mode="eval").body

    def visit_Subscript(self, node):
        name = node.value.id if isinstance(node.value, ast.Name) else ""
        if name in ("Optional", "Union"):
            parts = node.slice.elts if name == "Union" else [node.slice, ast.Constant(None)]
            return ast.parse(" | ".join(ast.unparse(self.visit(part)) for part in parts), mode="eval").body
        return self.generic_visit(node)


def parse_sources():
    """The functions, properties and classes by their dotted names."""
    found = {}

    def walk(body, prefix):
        for node in body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                found.setdefault(prefix + node.name, node)
            if isinstance(node, ast.ClassDef):
                walk(node.body, f"{prefix}{node.name}.")

    for name in ("_native.pyi", "_types.py", "_filters.py", "_errors.py", "_enums.py", "glib.py"):
        with open(os.path.join(SOURCES, name), encoding="utf-8") as file:
            walk(ast.parse(file.read()).body, "glib." if name == "glib.py" else "")
    return found


NODES = parse_sources()


def text_of(annotation):
    text = ast.unparse(Types().visit(ast.parse(ast.unparse(annotation), mode="eval").body)) if annotation is not None else ""
    return text.strip("'")


def shown(argument, default):
    """As it is written in a def, Any left out."""
    annotation = text_of(argument.annotation)
    if annotation in ("", "Any"):
        return argument.arg + (f"={ast.unparse(default)}" if default is not None else "")
    return f"{argument.arg}: {annotation}" + (f" = {ast.unparse(default)}" if default is not None else "")


def parameters(node, method):
    positional = [*node.args.posonlyargs, *node.args.args]
    defaults = [None] * (len(positional) - len(node.args.defaults)) + node.args.defaults
    out = [shown(*pair) for pair in zip(positional, defaults)]
    if node.args.posonlyargs:
        out.insert(len(node.args.posonlyargs), "/")
    if node.args.kwonlyargs:
        out += ["*", *map(shown, node.args.kwonlyargs, node.args.kw_defaults)]
    return out[1:] if method else out


def signature(name, node, method, result=True):
    returns = text_of(node.returns) if result else ""
    end = f") -> {returns}" if returns not in ("", "None", "Any") else ")"
    lines = [f"{name}("]
    every = [word + ", " for word in parameters(node, method)]
    if every:
        every[-1] = every[-1][:-2]
    for word in every:
        if len(lines[-1] + word) > 96:
            lines.append("    ")
        lines[-1] += word
    return "```python\n" + "\n".join(line.rstrip() for line in lines) + end + "\n```\n"


ENUM_NAMES = {member for name in ovstage.__all__ for member in getattr(getattr(ovstage, name), "__members__", ())}
CODE = re.compile(
    r"``(.+?)``|(?<![\w`.])((?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*\(\)|__\w+__|[A-Za-z]+(?:_\w+)+|np\.\w+|[A-Z]\w+(?:\.\w+)*)(?![\w`])"
)


def inline(text):
    """Code words in backticks."""

    def quote(match):
        word = match[1] or match[2]
        plain = match[2] and not re.search(r"[_().]", word) and word not in ovstage.__all__ and word not in ENUM_NAMES
        return word if plain or word in ("None", "OK") else f"`{word}`"

    return CODE.sub(quote, " ".join(text.split()))


def render(doc, wanted=()):
    """A docstring as Markdown: `name: text' lines as a list, `::' as a block of code."""
    out, lines = [], inspect.cleandoc(doc).split("\n")
    while lines:
        line = lines.pop(0)
        if not line.strip():
            continue
        item = re.match(r"(\w+(?:, \w+)*): (.*)", line)
        if item and all(name in wanted for name in item[1].split(", ")):
            text = item[2]
            while lines and lines[0].startswith("  "):
                text += " " + lines.pop(0)
            names = ", ".join(f"`{name}`" for name in item[1].split(", "))
            out.append(f"- {names}: {inline(text)}")
            continue
        text = line
        while lines and lines[0].strip() and not line.startswith("  "):
            text += "\n" + lines.pop(0)
        if line.startswith("  "):
            code = [line] + [lines.pop(0) for _ in range(next((i for i, l in enumerate(lines) if l and l[0] != " "), len(lines)))]
            out.append("\n```python\n" + textwrap.dedent("\n".join(code)).strip() + "\n```\n")
        else:
            out.append("\n" + textwrap.fill(inline(re.sub(r"::$", ":", text)), 100, break_on_hyphens=False) + "\n")
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out)).strip() + "\n"


def argument_names(node):
    every = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
    return [argument.arg for argument in every if argument.arg not in ("self", "cls")]


def is_property(name):
    return any(isinstance(d, ast.Name) and d.id == "property" for d in NODES[name].decorator_list)


def print_function(name, function, out):
    node = NODES[name]
    out += [f"### {name}\n", signature(name, node, False), render(function.__doc__, argument_names(node))]


def print_enum(name, kind, out):
    first, _, rest = inspect.cleandoc(kind.__doc__).partition("\n")
    told = dict(re.findall(r"(?m)^(\w+): (.*)$", rest))
    out += [f"### {name}\n", render(first)]
    for member, value in kind.__members__.items():
        out.append(f"- `{member}` = {int(value)}" + (f": {inline(told[member])}" if member in told else ""))
    out.append("")
    rest = re.sub(r"(?m)^\w+: .*\n?", "", rest).strip()
    if rest:
        out.append(render(rest))


def print_class(name, kind, out):
    made = NODES.get(f"{name}.__new__") or NODES.get(f"{name}.__init__")
    out.append(f"### {name}\n")
    if made is not None:
        out.append(signature(name, made, True, False))
    out.append(render(kind.__doc__, [*(argument_names(made) if made is not None else ()), *getattr(kind, "_fields", ())]))
    base = kind.__base__.__name__
    if base in ("Operation", "DLTensor"):
        out.append(f"It is a kind of `{base}` and has what that has, too.\n")

    own = [m for m in vars(kind) if m == SPECIAL[3] or (not m.startswith("_") or m in SPECIAL) and f"{name}.{m}" in NODES]
    attributes = [m for m in own if m == SPECIAL[3] or is_property(f"{name}.{m}")]
    if attributes:
        lines = []
        for m in attributes:
            annotation = text_of(NODES[f"{name}.{m}"].returns) if f"{name}.{m}" in NODES else ""
            doc = vars(kind)[m].__doc__ if f"{name}.{m}" in NODES else EXCHANGE
            lines.append(f"- `{m}{': ' + annotation if annotation not in ('', 'Any') else ''}`: {inline(doc)}")
        out.append("\n".join(lines) + "\n")
    for m in own:
        if m not in attributes:
            node = NODES[f"{name}.{m}"]
            out.append(f"#### {name}.{m}\n")
            out.append(signature(m, node, True))
            out.append(render(getattr(kind, m).__doc__, argument_names(node)))


def make():
    """What stands below the mark."""
    listed = " ".join(names for _, names in SECTIONS).split()
    if sorted(listed) != sorted(ovstage.__all__):
        raise SystemExit(f"not in SECTIONS, or not public: {sorted(set(listed) ^ set(ovstage.__all__))}")
    out = []
    for title, names in SECTIONS:
        out.append(f"## {title}\n")
        for name in names.split():
            value = getattr(ovstage, name)
            if name in CONSTANTS:
                out += [f"### {name}\n", inline(CONSTANTS[name]) + "\n"]
            elif hasattr(value, "__members__"):
                print_enum(name, value, out)
            elif isinstance(value, type):
                print_class(name, value, out)
            elif name == "glib":
                out += ["### glib\n", render(value.__doc__)]
                print_function("glib.spawn", value.spawn, out)
                print_function("glib.run", value.run, out)
                print_class("glib.Task", value.Task, out)
                out += ["### glib.CancelledError\n", render(value.CancelledError.__doc__)]
            else:
                print_function(name, value, out)
    return "\n".join(out)


def page():
    with open(PAGE, encoding="utf-8") as file:
        head = file.read().partition(MARK)[0]
    return head + MARK + "\n" + make()


if __name__ == "__main__":
    sys.stdout.write(page())
