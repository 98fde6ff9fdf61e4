#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors

"""Runs random sequences of operations against the library and against the model.

A difference is shrunk and printed as a program that shows it. See README.md.
"""

import argparse
import contextlib
import json
import mmap
import os
import pathlib
import select
import signal
import struct
import sys
import time
import traceback
import weakref
import zlib

sys.dont_write_bytecode = True  # the source tree stays as it is

import fake
import model
import sequence as sequences

CHUNK = 100
CANNOT_RUN = 42  # exit status of a child whose Python code failed outside of a replay
HERE = pathlib.Path(__file__).resolve().parent
CODE_NAMES = {
    0: "OK",
    1: "INVALID_ARGUMENT",
    3: "NOT_FOUND",
    4: "ALREADY_EXISTS",
    5: "WRITE_FLOOR_VIOLATION",
    6: "NOT_SUPPORTED",
    13: "OUT_OF_RANGE",
}


# The two sides. Each interprets a sequence step by step; step() gives what was seen as plain data.


class ModelSide:
    def __init__(self, sequence):
        self.sequence = sequence
        self.lists = [[sequence["paths"][i] for i in entries] for entries in sequence["lists"]]
        self.model = model.Model(sequence["depth"])
        self.pending = []
        self.late_reads = []

    def step(self, op):
        return getattr(self, op["op"])(op)

    def submitted(self, op, status):
        if op["wait"]:
            return {"status": status}
        self.pending.append(status)
        return {}

    def write(self, op):
        prims = self.lists[op["list"]]
        error = self.call_error(op, op)
        if error is not None:
            return self.submitted(op, error)
        attribute, tensors, *rest = self.given(op, op)
        more = dict(zip(model.Given._fields[2:], rest))
        return self.submitted(op, self.model.write(prims, attribute, op["ordinal"], tensors, mode=op["mode"], **more))

    def batch(self, op):
        prims = self.lists[op["list"]]
        errors = [self.call_error(op, entry) for entry in op["entries"]]
        if any(errors):
            return self.submitted(op, next(error for error in errors if error is not None))
        given = [self.given(op, entry) for entry in op["entries"]]
        return self.submitted(op, self.model.write_batch(prims, given, op["ordinal"], op["mode"]))

    def call_error(self, op, entry):
        n_prims = len(self.lists[op["list"]])
        return model.python_call_error(n_prims, entry["count"], entry["index_map"], entry["mask"], entry["mask_words"])

    def given(self, op, entry):
        code, bits = sequences.DTYPES[entry["dtype"]]
        data = sequences.pack(entry["dtype"], entry["values"])
        tensors = [model.Tensor(code, bits, tuple(entry["shape"]), data)] * entry["n_tensors"]
        mask = entry["mask"]
        if mask is not None and entry["mask_words"]:
            mask = mask + [0] * (-len(mask) % 64)
        count = model.logical_count(len(self.lists[op["list"]]), entry["count"], entry["index_map"])
        return model.Given(entry["attribute"], tensors, entry["semantic"], count, entry["index_map"], mask)

    def delete(self, op):
        return self.submitted(op, self.model.delete(self.lists[op["list"]], op["attributes"], op["ordinal"]))

    def seal(self, op):
        return self.submitted(op, self.model.advance(op["ordinal"], op["scope"], op["attributes"]))

    def read(self, op):
        result = self.model.read(self.lists[op["list"]], op["attributes"], op["ordinal"])
        if result.status != model.OK:
            seen = {"status": result.status}
        else:
            seen = {
                "status": 0,
                "as_of": result.as_of,
                "groups": [self.describe(group) for group in result.groups],
                "generations": [self.generation(group) for group in result.groups],
            }
        if op["late"]:
            self.late_reads.append(seen)
            return {}
        return seen

    def describe(self, group):
        return {
            "attribute": group.attribute,
            "dtype": tuple(group.schema[:3]),
            "semantic": group.schema.semantic,
            "ordinal": group.ordinal,
            "rows": [(prim, value.hex()) for prim, value in group.rows],
        }

    def generation(self, group):
        placement = zlib.crc32(repr(sorted(group.placement.items())).encode())
        return (group.attribute, group.generation, placement)

    def floors(self, op=None):
        names = [*self.sequence["attributes"], sequences.UNKNOWN]
        return {
            "global floor": self.model.global_floor(),
            "floors": {name: self.model.floor(name) for name in names},
            "value frontier": self.model.value_frontier(),
        }

    def held(self, op):
        return {}

    def late(self, op):
        return {"reads": self.take_late()}

    def take_late(self):
        late, self.late_reads = self.late_reads, []
        return late

    def release(self, op):
        return {}

    def end(self):
        return {"operations": self.pending, "reads": self.take_late(), **self.floors()}


class LibrarySide:
    """The Python package, or a fake of it."""

    def __init__(self, sequence):
        import observe

        self.see = observe
        self.sequence = sequence
        self.stack = contextlib.ExitStack()
        enter = self.stack.enter_context
        self.stage = enter(observe.ovstage.Stage(history_depth=sequence["depth"]))
        self.paths = enter(observe.ovstage.PathDictionary(self.stage))
        self.queries = []
        for entries in sequence["lists"]:
            path_list = self.paths.create_path_list_from_strings([sequence["paths"][i] for i in entries])
            self.queries.append(enter(self.stage.query_from_path_list(path_list)))
            self.paths.destroy_path_list(path_list)
        self.names = [*sequence["attributes"], sequences.UNKNOWN]
        self.tokens = {self.paths.intern_token(name): name for name in (*self.names, "usd-prim-type")}
        self.pending = []
        self.late_reads = []
        self.held_groups = []  # (group, its rows when it was fetched)
        self.held_arrays = []  # (array, its bytes when it was fetched)
        self.taken = []  # (weak reference to an array that was handed over, its bytes then)

    def step(self, op):
        return getattr(self, op["op"])(op)

    def attribute(self, name, op):
        return self.paths.intern_token(name) if op["by_token"] else name

    def sources(self, entry):
        """The arrays of a write; those that stay the caller's are given apart, too."""
        see = self.see
        sources = [see.array(entry["dtype"], entry["shape"], entry["values"], entry["layout"]) for _ in range(entry["n_tensors"])]
        if entry["take"]:
            self.taken += [(weakref.ref(source), source.tobytes()) for source in sources]
        return sources, [] if entry["take"] else sources

    def options(self, entry):
        see = self.see
        more = {}
        if entry["semantic"] != 0:
            more["semantic"] = see.ovstage.AttributeSemantic(entry["semantic"])
        for name in ("count", "index_map"):
            if entry[name] is not None:
                more[name] = entry[name]
        if entry["mask"] is not None:
            more["mask"] = see.mask_words(entry["mask"]) if entry["mask_words"] else see.np.array(entry["mask"], bool)
        if entry["take"]:
            more["transfer"] = True
        return more

    def write(self, op):
        see = self.see
        sources, own = self.sources(op)
        more = self.options(op)
        if op["mode"] != 0:
            more["prim_mode"] = see.ovstage.PrimMode(op["mode"])
        attribute = self.attribute(op["attribute"], op)

        def call():
            tensors = sources[0] if len(sources) == 1 else sources
            return self.stage.write_attribute(
                self.queries[op["list"]], attribute, op["ordinal"], tensors, is_array=False, **more
            )

        if op["wait"]:
            return {"status": see.write(call, own)}
        self.pending.append(see.submit(call))
        return {}

    def batch(self, op):
        see = self.see
        writes, spoiled = [], []
        for entry in op["entries"]:
            sources, own = self.sources(entry)
            spoiled += own
            tensors = sources[0] if len(sources) == 1 else sources
            attribute = self.attribute(entry["attribute"], entry)
            more = self.options(entry)
            writes.append(see.ovstage.WriteDesc(attribute=attribute, tensors=tensors, is_array=False, **more))
        mode = {"prim_mode": see.ovstage.PrimMode(op["mode"])} if op["mode"] != 0 else {}

        def call():
            return self.stage.write_attributes(self.queries[op["list"]], writes, op["ordinal"], **mode)

        if op["wait"]:
            return {"status": see.write(call, spoiled)}
        self.pending.append(see.submit(call))
        return {}

    def delete(self, op):
        names = [self.attribute(name, op) for name in op["attributes"]]

        def call():
            return self.stage.delete_attributes(self.queries[op["list"]], names, op["ordinal"])

        if op["wait"]:
            return {"status": self.see.outcome(self.see.submit(call))}
        self.pending.append(self.see.submit(call))
        return {}

    def seal(self, op):
        see = self.see

        def call():
            return self.stage.advance_write_floor(
                op["ordinal"], scope=see.ovstage.Scope(op["scope"]), attributes=op["attributes"]
            )

        if op["wait"]:
            return {"status": see.outcome(see.submit(call))}
        self.pending.append(see.submit(call))
        return {}

    def read(self, op):
        kind = self.see.ovstage.OrdinalRange
        span = kind.newest() if op["ordinal"] == model.NEWEST else kind.latest(op["ordinal"])
        names = [self.attribute(name, op) for name in op["attributes"]]
        read = self.stage.read_attributes(self.queries[op["list"]], names, span)
        if op["late"]:
            self.late_reads.append((read, op["hold"]))
            return {}
        return self.fetch(read, op["hold"])

    def fetch(self, read, hold):
        see = self.see
        status, as_of, groups = see.fetch(read)
        read.release()
        if status != 0:
            return {"status": status}
        seen = {
            "status": 0,
            "as_of": as_of,
            "groups": [see.describe(self.paths, group, self.tokens) for group in groups],
            "generations": [see.generation(group) for group in groups],
        }
        for group in groups:
            if hold == "groups":
                self.held_groups.append((group, see.rows(group)))
                continue
            if hold == "arrays":
                values = group.array(0)
                self.held_arrays.append((values, values.tobytes()))
            group.release()
        return seen

    def floors(self, op=None):
        for operation in self.pending:  # floors tell what is sealed
            self.see.outcome(operation)
        return {
            "global floor": self.stage.get_attribute_write_floor(),
            "floors": {name: self.stage.get_attribute_write_floor(name) for name in self.names},
            "value frontier": self.stage.gobject.get_value_frontier(),
        }

    def held(self, op):
        for group, rows in self.held_groups:
            now = self.see.rows(group)
            assert now == rows, f"a held group had {rows}, has {now}"
        for values, held in self.held_arrays:
            assert values.tobytes() == held, f"a held array had {held.hex()}, has {values.tobytes().hex()}"
        self.taken = [(source, before) for source, before in self.taken if source() is not None]
        for source, before in self.taken:
            now = source().tobytes()
            assert now == before, f"an array that was handed over had {before.hex()}, has {now.hex()}"
        return {}

    def late(self, op):
        return {"reads": self.take_late()}

    def take_late(self):
        late, self.late_reads = self.late_reads, []
        return [self.fetch(read, hold) for read, hold in late]

    def release(self, op):
        if self.held_groups:
            self.held_groups.pop(0)[0].release()
        if self.held_arrays:
            self.held_arrays.pop(0)
        return {}

    def end(self):
        seen = {
            "operations": [self.see.outcome(operation) for operation in self.pending],
            "reads": self.take_late(),
            **self.floors(),
        }
        self.held(None)
        if self.sequence["destroy"]:
            self.stack.close()
            self.held(None)
        while self.held_groups or self.held_arrays:
            self.release(None)
        self.stack.close()
        self.pending.clear()
        # What was handed over is let go of with the stage.
        left = [before.hex() for source, before in self.taken if source() is not None]
        assert not left, f"{len(left)} arrays that were handed over are left: {left}"
        return seen


# Comparing


def difference(want, got, where=""):
    """Where two pieces of plain data differ, as text; None if they do not."""
    if isinstance(want, dict) and isinstance(got, dict):
        for key in want:
            if key == "generations":
                continue
            if key not in got:
                return f"{where}{key}: missing, want {want[key]!r}"
            found = difference(want[key], got[key], f"{where}{key}: ")
            if found is not None:
                return found
        extra = [key for key in got if key not in want]
        return f"{where}{extra[0]}: {got[extra[0]]!r} is too much" if extra else None
    if isinstance(want, list) and isinstance(got, list):
        for i, (one, other) in enumerate(zip(want, got)):
            found = difference(one, other, f"{where}[{i}] ")
            if found is not None:
                return found
        if len(want) != len(got):
            return f"{where}{len(got)} entries, want {len(want)}: got {got!r}, want {want!r}"
        return None
    if want == got:
        return None
    if "status" in where or "operations" in where:
        want, got = told(want), told(got)
    return f"{where}got {got}, want {want}"


def told(value):
    return f"{value} ({CODE_NAMES[value]})" if type(value) is int and value in CODE_NAMES else repr(value)


def generation_fault(generations, want, got):
    for one, other in [(want, got), *zip(want.get("reads", []), got.get("reads", []))]:
        for (attribute, changes, placement), number in zip(one.get("generations", []), other.get("generations", [])):
            fault = generations.fault(attribute, number, changes, placement)
            if fault is not None:
                return fault
    return None


def replay(sequence):
    """The first difference as (step, text), or None. A step past the operations is the end of the stage."""
    import observe

    generations = observe.Generations()
    oracle = ModelSide(sequence)
    library = None
    for i, op in enumerate([*sequence["ops"], None]):
        want = oracle.end() if op is None else oracle.step(op)
        try:
            if library is None:
                library = LibrarySide(sequence)
            got = library.end() if op is None else library.step(op)
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
            if not isinstance(error, AssertionError):
                text += "\n" + traceback.format_exc()
            return (i, text)
        fault = difference(want, got) or generation_fault(generations, want, got)
        if fault is not None:
            return (i, fault)
    return None


# Shrinking


def shrink(sequence, fails, seconds=20):
    """Drops and simplifies operations while @fails (sequence) keeps giving a difference."""
    deadline = time.monotonic() + seconds
    found = fails(sequence)
    if found is None:
        return sequence, None
    sequence = {**sequence, "ops": sequence["ops"][: found[0] + 1]}

    def attempt(changed):
        nonlocal sequence, found
        if time.monotonic() > deadline:
            return False
        now = fails(changed)
        if now is None:
            return False
        sequence, found = {**changed, "ops": changed["ops"][: now[0] + 1]}, now
        return True

    smaller = True
    while smaller and time.monotonic() < deadline:
        smaller = False
        size = max(1, len(sequence["ops"]) // 2)
        while size >= 1:
            at = 0
            while at < len(sequence["ops"]):
                ops = sequence["ops"]
                if attempt({**sequence, "ops": ops[:at] + ops[at + size :]}):
                    smaller = True
                else:
                    at += size
            size //= 2
    for at in range(len(sequence["ops"])):
        for change in ({"wait": True}, {"layout": "c"}, {"hold": None}, {"by_token": False}, {"late": False}):
            if at < len(sequence["ops"]) and sequence["ops"][at].get(*change) != next(iter(change.values())):
                if next(iter(change)) in sequence["ops"][at]:
                    ops = list(sequence["ops"])
                    ops[at] = {**ops[at], **change}
                    attempt({**sequence, "ops": ops})
    return sequence, found


# A program that shows a difference


def program(sequence, found):
    """A stand-alone Python program of the exact calls, which ends with status 1 where the library differs."""
    step, text = found
    what = "the end" if step >= len(sequence["ops"]) else f"step {step}"
    out = ["#!/usr/bin/python3"]
    out.append(f"# seed {sequence['seed']}, history depth {sequence['depth']}: {what} differs from the model.")
    out += [f"#   {line}" for line in text.splitlines()]
    helpers = (HERE / "observe.py").read_text()
    out += ["", "import sys", "import weakref", helpers[helpers.index("\nimport numpy") :].strip(), "", ""]
    out += [
        "def expect(what, got, want):",
        "    if got != want:",
        '        print(f"{what}: got {got!r}, want {want!r}")',
        "        sys.exit(1)",
        "",
        "",
        "def expect_generation(group, changes, placement):",
        "    fault = generations.fault(group.attribute, generation(group), changes, placement)",
        '    expect("layout_generation", fault, None)',
        "",
        "",
        "def check_held():",
        "    for group, before in held_groups:",
        '        expect("a held group", rows(group), before)',
        "    for values, before in held_arrays:",
        '        expect("a held array", values.tobytes(), before)',
        "    for source, before in taken:",
        "        if source() is not None:",
        '            expect("an array that was handed over", source().tobytes(), before)',
        "",
        "",
        "generations, pending, late, held_groups, held_arrays, taken = Generations(), [], [], [], [], []",
        f"stage = ovstage.Stage(history_depth={sequence['depth']})",
        "paths = ovstage.PathDictionary(stage)",
    ]
    used = {op["list"] for op in sequence["ops"] if "list" in op}
    for i, entries in enumerate(sequence["lists"]):
        if i in used:
            strings = [sequence["paths"][entry] for entry in entries]
            out.append(f"query{i} = stage.query_from_path_list(paths.create_path_list_from_strings({strings!r}))")
    names = [*sequence["attributes"], sequences.UNKNOWN]
    out.append(f"tokens = {{paths.intern_token(name): name for name in {[*names, 'usd-prim-type']!r}}}")
    oracle = ModelSide(sequence)
    for i, op in enumerate(sequence["ops"]):
        out += ["", f"# Step {i}"]
        out += PROGRAM_STEPS[op["op"]](sequence, op, oracle, f"step {i}")
    if step >= len(sequence["ops"]):
        out += ["", "# The end"] + program_end(sequence, oracle)
    out += ["", 'print("as the model says")']
    return "\n".join(out) + "\n"


def program_sources(entry, first=0):
    """Lines that make the arrays of a write; their names."""
    names = [f"source{first + i}" for i in range(entry["n_tensors"])]
    made = f"{entry['dtype']!r}, {entry['shape']!r}, {entry['values']!r}, {entry['layout']!r}"
    out = [f"{name} = array({made})" for name in names]
    if entry["take"]:
        out += [f"taken.append((weakref.ref({name}), {name}.tobytes()))" for name in names]
    return out, names


def program_options(entry):
    more = ""
    if entry["semantic"] != 0:
        more += f", semantic=ovstage.AttributeSemantic({entry['semantic']})"
    for name in ("count", "index_map"):
        if entry[name] is not None:
            more += f", {name}={entry[name]!r}"
    if entry["mask"] is not None:
        more += f", mask={'mask_words' if entry['mask_words'] else 'np.array'}({entry['mask']!r}"
        more += ")" if entry["mask_words"] else ", bool)"
    return more + (", transfer=True" if entry["take"] else "")


def tensors_text(names):
    return names[0] if len(names) == 1 else f"[{', '.join(names)}]"


def program_call(op, call, names, own, oracle, want, where):
    """Lines that submit a write of the arrays @names, of which @own stay the caller's."""
    out = ["call = lambda: " + call]
    if op["wait"]:
        out.append(f"expect({where!r}, write(call, [{', '.join(own)}]), {want!r})  # {told(want)}")
    else:
        oracle.pending.append(want)
        out.append(f"pending.append(submit(call))  # {told(want)}")
    return [*out, f"del {', '.join(['call', *names])}"]


def program_write(sequence, op, oracle, where):
    want = oracle.write({**op, "wait": True})["status"]
    out, names = program_sources(op)
    more = program_options(op)
    if op["mode"] != 0:
        more += f", prim_mode=ovstage.PrimMode({op['mode']})"
    attribute = attribute_text(op["attribute"], op)
    call = f"stage.write_attribute(query{op['list']}, {attribute}, {op['ordinal']}, {tensors_text(names)}, is_array=False{more})"
    return out + program_call(op, call, names, [] if op["take"] else names, oracle, want, where)


def program_batch(sequence, op, oracle, where):
    want = oracle.batch({**op, "wait": True})["status"]
    out, names, own, writes = [], [], [], []
    for entry in op["entries"]:
        lines, sources = program_sources(entry, len(names))
        out += lines
        names += sources
        own += [] if entry["take"] else sources
        attribute = attribute_text(entry["attribute"], entry)
        more = program_options(entry)
        writes.append(f"ovstage.WriteDesc(attribute={attribute}, tensors={tensors_text(sources)}, is_array=False{more})")
    mode = f", prim_mode=ovstage.PrimMode({op['mode']})" if op["mode"] != 0 else ""
    call = f"stage.write_attributes(query{op['list']}, [{', '.join(writes)}], {op['ordinal']}{mode})"
    return out + program_call(op, call, names, own, oracle, want, where)


def program_delete(sequence, op, oracle, where):
    want = oracle.delete({**op, "wait": True})["status"]
    names = ", ".join(attribute_text(name, op) for name in op["attributes"])
    call = f"stage.delete_attributes(query{op['list']}, [{names}], {op['ordinal']})"
    if op["wait"]:
        return [f"expect({where!r}, outcome({call}), {want!r})  # {told(want)}"]
    oracle.pending.append(want)
    return [f"pending.append(submit(lambda: {call}))  # {told(want)}"]


def program_seal(sequence, op, oracle, where):
    want = oracle.seal({**op, "wait": True})["status"]
    call = f"stage.advance_write_floor({op['ordinal']}, scope=ovstage.Scope({op['scope']}), "
    call += f"attributes={op['attributes']!r})"
    if op["wait"]:
        return [f"expect({where!r}, outcome({call}), {want!r})  # {told(want)}"]
    oracle.pending.append(want)
    return [f"pending.append(submit(lambda: {call}))  # {told(want)}"]


def attribute_text(name, op):
    return f"paths.intern_token({name!r})" if op["by_token"] else repr(name)


def program_read(sequence, op, oracle, where):
    want = oracle.read({**op, "late": False})
    span = "newest()" if op["ordinal"] == model.NEWEST else f"latest({op['ordinal']})"
    names = ", ".join(attribute_text(name, op) for name in op["attributes"])
    call = f"stage.read_attributes(query{op['list']}, [{names}], ovstage.OrdinalRange.{span})"
    if op["late"]:
        oracle.late_reads.append((want, op["hold"], where))
        return [f"late.append({call})"]
    return [f"read = {call}", *program_fetch(want, op["hold"], where)]


def program_fetch(want, hold, where):
    out = [
        "status, as_of, groups = fetch(read)",
        "read.release()",
        f"expect({where + ' status'!r}, status, {want['status']})  # {told(want['status'])}",
    ]
    if want["status"] != 0:
        return out
    out.append(f"expect({where + ' as_of'!r}, as_of, {want['as_of']})")
    out.append(f"expect({where + ' groups'!r}, [describe(paths, group, tokens) for group in groups], [")
    out += [f"    {group!r}," for group in want["groups"]]
    out.append("])")
    for i, (_, changes, placement) in enumerate(want["generations"]):
        out.append(f"expect_generation(groups[{i}], {changes}, {placement})")
    if hold == "groups":
        out.append("held_groups += [(group, rows(group)) for group in groups]")
    else:
        if hold == "arrays":
            out.append("held_arrays += [(group.array(0), group.array(0).tobytes()) for group in groups]")
        out += ["for group in groups:", "    group.release()"]
    return out


def program_floors(sequence, op, oracle, where):
    want = oracle.floors()
    out = ["for operation in pending:", "    outcome(operation)"]
    out += [f"expect('global floor', stage.get_attribute_write_floor(), {want['global floor']})"]
    for name, floor in want["floors"].items():
        out.append(f"expect('floor of {name}', stage.get_attribute_write_floor({name!r}), {floor})")
    out.append(f"expect('value frontier', stage.gobject.get_value_frontier(), {want['value frontier']})")
    return out


def program_late(sequence, op, oracle, where):
    out = []
    for want, hold, submitted in oracle.take_late():
        out += ["read = late.pop(0)", *program_fetch(want, hold, submitted + " late")]
    return out


def program_held(sequence, op, oracle, where):
    return ["check_held()"]


def program_release(sequence, op, oracle, where):
    return [
        "if held_groups:",
        "    held_groups.pop(0)[0].release()",
        "if held_arrays:",
        "    held_arrays.pop(0)",
    ]


def program_end(sequence, oracle):
    out = [f"expect('operations', [outcome(operation) for operation in pending], {oracle.pending!r})"]
    out += program_late(sequence, None, oracle, "")
    out += program_floors(sequence, None, oracle, "")
    out.append("check_held()")
    if sequence["destroy"]:
        out += ["stage.destroy()", "check_held()"]
    out += [
        "while held_groups:",
        "    held_groups.pop()[0].release()",
        "held_arrays.clear()",
        "pending.clear()",
        "group = groups = read = values = None",
        "stage.destroy()",
        'expect("arrays that were handed over and are left", [b.hex() for source, b in taken if source() is not None], [])',
    ]
    return out


PROGRAM_STEPS = {
    "write": program_write,
    "batch": program_batch,
    "delete": program_delete,
    "seal": program_seal,
    "read": program_read,
    "floors": program_floors,
    "held": program_held,
    "late": program_late,
    "release": program_release,
}


# Running in child processes, so that a crash or a hang of the library is a result like others


def in_child(work, package=None, seconds=300):
    """What work () gives in a child, as ("value", ...).

    Else how the child died: ("signal", number), ("status", number) or ("timeout", None).
    """
    sys.stdout.flush()
    sys.stderr.flush()
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        status = CANNOT_RUN
        try:
            os.close(receive)
            if package is not None:
                sys.modules["ovstage"] = package
            text = json.dumps(work()).encode()
            with os.fdopen(send, "wb") as pipe:
                pipe.write(text)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    os.close(send)
    deadline = time.monotonic() + seconds
    text = b""
    with os.fdopen(receive, "rb", buffering=0) as pipe:
        while True:
            ready, _, _ = select.select([pipe], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                return ("timeout", None)
            part = pipe.read(1 << 16)
            if not part:
                break
            text += part
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return ("signal", os.WTERMSIG(status))
    if os.WEXITSTATUS(status) == CANNOT_RUN:
        print("Bail out! a child could not run, see its message", flush=True)
        raise SystemExit(1)
    if os.WEXITSTATUS(status) != 0:
        return ("status", os.WEXITSTATUS(status))
    return ("value", json.loads(text))


def died(result):
    kind, value = result
    if kind == "signal":
        return f"died of {signal.Signals(value).name}"
    return "did not end" if kind == "timeout" else f"ended with status {value}"


def run_chunk(seeds, depths, skip, package=None):
    """(sequence, difference) of the first seed that differs, or None."""
    progress = mmap.mmap(-1, 8)

    def work():
        for seed in seeds:
            progress[:] = struct.pack("=Q", seed)
            found = replay(sequences.generate(seed, depths, skip))
            if found is not None:
                return [seed, found]
        return None

    result = in_child(work, package)
    if result == ("value", None):
        return None
    seed = result[1][0] if result[0] == "value" else struct.unpack("=Q", progress[:])[0]
    sequence = sequences.generate(seed, depths, skip)

    def fails_in_child(candidate):
        """The step is the last one that was begun."""
        reached = mmap.mmap(-1, 8)

        def work_one():
            return watched_replay(candidate, reached)

        one = in_child(work_one, package, 20)
        if one[0] == "value":
            return one[1]
        return (struct.unpack("=Q", reached[:])[0], "the process " + died(one))

    if result[0] == "value":
        shrunk = in_child(lambda: shrink(sequence, replay), package)
        if shrunk[0] == "value" and shrunk[1][1] is not None:
            return tuples(shrunk[1])
    smaller, found = shrink(sequence, fails_in_child, 60)
    if found is None:
        text = result[1][1][1] if result[0] == "value" else "the process " + died(result)
        found = (len(sequence["ops"]), text + " (not again when run alone: run the seeds before it too)")
    return smaller, found


def tuples(shrunk):
    return shrunk[0], tuple(shrunk[1])


def watched_replay(sequence, reached):
    ops = Watched(sequence["ops"], reached)
    return replay({**sequence, "ops": ops})


class Watched(list):
    """A list that notes, in shared memory, how far it was walked."""

    def __init__(self, items, reached):
        super().__init__(items)
        self.reached = reached

    def __iter__(self):
        for i in range(len(self)):
            self.reached[:] = struct.pack("=Q", i)
            yield self[i]
        self.reached[:] = struct.pack("=Q", len(self))


# Reports


class Report:
    def __init__(self, tap):
        self.tap = tap
        self.n = 0
        self.failed = 0

    def plan(self, n):
        if self.tap:
            print(f"1..{n}")

    def result(self, ok, name, lines=()):
        self.n += 1
        self.failed += not ok
        if self.tap:
            print(f"{'ok' if ok else 'not ok'} {self.n} - {name}")
            for line in lines:
                print(f"# {line}".rstrip())
        else:
            print(f"{'passed' if ok else 'FAILED'}: {name}")
            for line in lines:
                print(line)
        sys.stdout.flush()

    def note(self, text):
        print(f"# {text}" if self.tap else text)


def report_difference(report, name, sequence, found, again):
    lines = [*f"seed {sequence['seed']}: {found[1]}".splitlines(), f"again: {again}", "-" * 30]
    report.result(False, name, [*lines, *program(sequence, found).splitlines(), "-" * 30])


def run(args, package):
    report = Report(args.tap)
    first, last = args.seed, args.seed + args.sequences
    chunks = [range(at, min(at + CHUNK, last)) for at in range(first, last, CHUNK)]
    report.plan(len(chunks))
    start = time.monotonic()
    for chunk in chunks:
        name = f"{args.face} face, sequences {chunk[0]} to {chunk[-1]}"
        failed = run_chunk(chunk, args.depths, args.skip, package)
        if failed is None:
            report.result(True, name)
            continue
        sequence, found = failed
        depths = ",".join(str(depth) for depth in args.depths)
        again = f"driver.py --face {args.face} --depths {depths} --sequences 1 --seed {sequence['seed']}"
        if args.skip:
            again += f" --skip {','.join(args.skip)}"
        report_difference(report, name, sequence, found, again)
        if report.failed == 3:
            report.note("three chunks failed: giving up")
            break
    seconds = time.monotonic() - start
    report.note(
        f"{args.sequences} sequences, {seconds:.1f} s, {60 * args.sequences / max(seconds, 0.001):.0f} a minute, "
        f"{report.failed} of {report.n} chunks failed"
    )
    return report.failed != 0


# The driver's own test


def run_program(text, package):
    """The exit status of a reproducing program."""

    def work():
        try:
            with contextlib.redirect_stdout(None):
                exec(compile(text, "program", "exec"), {"__name__": "program"})
        except SystemExit as end:
            return end.code
        return 0

    return in_child(work, package)


def dies_at_third_write():
    """A package that kills the process."""

    class Killer(model.Model):
        def write(self, *args, **more):
            if len([e for entries in self.entries.values() for e in entries]) == 2:
                os.kill(os.getpid(), signal.SIGSEGV)
            return super().write(*args, **more)

    return fake.package(Killer)


def self_test(args):
    report = Report(args.tap)
    report.plan(len(fake.BROKEN) + 2)
    right = fake.package()
    failed = run_chunk(range(args.seed, args.seed + 300), args.depths, args.skip, right)
    report.result(failed is None, "the model agrees with itself", [failed[1][1]] if failed is not None else [])
    for name, package in fake.BROKEN.items():
        failed = run_chunk(range(args.seed, args.seed + 1000), args.depths, args.skip, package)
        if failed is None:
            report.result(False, f"{name} is caught", ["1000 sequences did not show it"])
            continue
        sequence, found = failed
        text = program(sequence, found)
        shown = (run_program(text, package), run_program(text, right))
        good = shown == (("value", 1), ("value", 0))
        lines = [f"seed {sequence['seed']}, {len(sequence['ops'])} operations: {found[1].splitlines()[0]}"]
        if not good:
            lines += [f"its program ends with {shown[0]} on the broken copy, {shown[1]} on the right one", text]
        report.result(good, f"{name} is caught", lines)
    sequence, found = run_chunk(range(args.seed, args.seed + 50), args.depths, args.skip, dies_at_third_write())
    good = "SIGSEGV" in found[1] and run_program(program(sequence, found), dies_at_third_write())[0] == "signal"
    report.result(good, "a crash is caught", [f"{len(sequence['ops'])} operations: {found[1]}"])
    return report.failed != 0


def numbers(text):
    return [int(part) for part in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description="Random sequences against the library and against its model.")
    parser.add_argument("--sequences", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1, help="seed of the first sequence")
    parser.add_argument("--depths", type=numbers, default=[1, 4], help="history depths to draw from")
    parser.add_argument("--face", choices=("python", "model"), default="python", help="model: the model itself")
    parser.add_argument("--skip", type=lambda text: text.split(","), default=[], help="kinds to leave out: reserved")
    parser.add_argument("--tap", action="store_true")
    parser.add_argument("-k", action="store_true", help="accepted for test wrappers")
    parser.add_argument("--self-test", action="store_true", help="broken copies of the model must be caught")
    parser.add_argument("--dump", action="store_true", help="print the sequences as JSON, one a line, and run nothing")
    args = parser.parse_args()
    if args.dump:
        for seed in range(args.seed, args.seed + args.sequences):
            print(json.dumps(sequences.generate(seed, args.depths, args.skip)))
        return 0
    if args.self_test:
        return int(self_test(args))
    return int(run(args, fake.package() if args.face == "model" else None))


if __name__ == "__main__":
    sys.exit(main())
