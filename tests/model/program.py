# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors

"""A stand-alone Python program that makes the calls of a sequence and tells where the library differs from the model."""

import pathlib

from sequence import DTYPES
from sides import ModelSide, id_kind, known_names

HERE = pathlib.Path(__file__).resolve().parent
CODE_NAMES = {
    0: "OK",
    1: "INVALID_ARGUMENT",
    2: "INVALID_HANDLE",
    3: "NOT_FOUND",
    4: "ALREADY_EXISTS",
    5: "WRITE_FLOOR_VIOLATION",
    6: "NOT_SUPPORTED",
    13: "OUT_OF_RANGE",
}


def told(value):
    return f"{value} ({CODE_NAMES[value]})" if type(value) is int and value in CODE_NAMES else repr(value)


def program(sequence, found):
    """A stand-alone Python program of the exact calls, which ends with status 1 where the library differs."""
    return Program(sequence).text(*found)


PREAMBLE = """
def fits(got, want):
    if isinstance(want, set):
        return got in want
    if isinstance(want, list) and isinstance(got, list):
        return len(got) == len(want) and all(map(fits, got, want))
    return got == want


def expect(what, got, want):
    if not fits(got, want):
        print(f"{what}: got {got!r}, want {want!r}")
        sys.exit(1)


def seen(group):
    attribute = tokens.get(group.attribute, group.attribute)
    return describe(paths, group, attribute, ids[kinds.get(attribute, "token")])


def expect_generation(group, changes, placement):
    fault = generations.fault(group.attribute, generation(group), changes, placement)
    expect("layout_generation", fault, None)


def check_held():
    for group, before in held_groups:
        expect("a held group", rows(group), before)
    for values, before in held_arrays:
        expect("a held array", values.tobytes(), before)
    for source, before in taken:
        if source() is not None:
            expect("an array that was handed over", source().tobytes(), before)


generations, pending, late, held_groups, held_arrays, taken = Generations(), [], [], [], [], []
"""

END = """
while held_groups:
    held_groups.pop()[0].release()
held_arrays.clear()
pending.clear()
group = groups = calls = read = values = operation = None
stage.destroy()
expect("arrays that were handed over and are left", [b.hex() for source, b in taken if source() is not None], [])
"""


class Program:
    """Writes a program step by step, with a model beside it that tells what must come."""

    def __init__(self, sequence):
        self.sequence = sequence
        self.oracle = ModelSide(sequence)
        self.where = ""
        self.filtered = []  # slots of queries
        self.made = []  # names of queries, maps and watches, which keep what the stage has
        self.mapped = {}  # slot -> what ids in its map stand for, and how many are known
        self.unfetched = []  # (hold, where) of reads that are fetched later
        self.late_queries = []  # (name, where) of queries that are looked at in the end

    def text(self, step, fault):
        sequence = self.sequence
        what = "the end" if step >= len(sequence["ops"]) else f"step {step}"
        out = ["#!/usr/bin/python3"]
        out.append(f"# seed {sequence['seed']}, history depth {sequence['depth']}: {what} differs from the model.")
        out += [f"#   {line}" for line in fault.splitlines()]
        helpers = (HERE / "observe.py").read_text()
        out += ["", "import sys", "import time", "import weakref", helpers[helpers.index("\nimport numpy") :].strip(), "", ""]
        out += [PREAMBLE.strip(), *self.setup()]
        for i, op in enumerate(sequence["ops"]):
            self.where = f"step {i}"
            self.oracle.note(op)
            out += ["", f"# Step {i}", *getattr(self, op["op"])(op)]
        if step >= len(sequence["ops"]):
            out += ["", "# The end", *self.end()]
        out += ["", 'print("as the model says")']
        return "\n".join(out) + "\n"

    def setup(self):
        sequence = self.sequence
        out = [f"stage = ovstage.Stage(history_depth={sequence['depth']})", "paths = ovstage.PathDictionary(stage)"]
        used = {op["list"] for op in sequence["ops"] if "list" in op}
        out.append(f"ids = {{'path': Ids(paths.intern_path, {sequence['universe']!r}),")
        out.append(f"       'token': Ids(paths.intern_token, {sequence['tokens']!r}), 'number': Numbers()}}")
        for i, entries in enumerate(sequence["lists"]):
            if i in used:
                strings = [sequence["paths"][entry] for entry in entries]
                out.append(f"query{i} = stage.query_from_path_list(paths.create_path_list_from_strings({strings!r}))")
                self.made.append(f"query{i}")
        names = known_names(sequence)
        out.append(f"tokens = {{paths.intern_token(name): name for name in {names!r}}}")
        out.append(f"kinds = {dict((name, id_kind(sequence, name)) for name in names)!r}")
        return out

    def query_name(self, op):
        return f"query{op['list']}" if op["list"] >= 0 else f"filtered{-1 - op['list']}"

    def submitted(self, op, call, seen):
        """Lines that submit a call and expect what the model says of it; none if it makes no sense."""
        if seen is None:
            return []
        if op["wait"]:
            return [f"expect({self.where!r}, outcome({call}), {seen['status']!r})  # {told(seen['status'])}"]
        return [f"pending.append(submit(lambda: {call}))  # {told(self.oracle.pending[-1])}"]

    # Writes

    def sources(self, entry, first=0):
        """Lines that make the arrays of a write; their names."""
        out, names = [], []
        for i, tensor in enumerate(entry["tensors"]):
            name = f"source{first + i}"
            values = repr(tensor["values"])
            if entry["dtype"] == "uint64":
                values = f"ids[{id_kind(self.sequence, entry['attribute'])!r}].given({values})"
            if entry["texts"]:
                out.append(f"{name} = {bytes(tensor['values']).decode()!r}")
                names.append(name)
                continue
            out.append(f"{name} = array({entry['dtype']!r}, {tensor['shape']!r}, {values}, {tensor['layout']!r})")
            if entry["take"]:
                out.append(f"taken.append((weakref.ref({name}), {name}.tobytes()))")
            names.append(name)
        return out, names

    def options(self, entry):
        more = f", is_array={entry['is_array']}"
        if entry["semantic"] != 0:
            more += f", semantic=ovstage.AttributeSemantic({entry['semantic']})"
        for name in ("count", "index_map"):
            if entry[name] is not None:
                more += f", {name}={entry[name]!r}"
        if entry["mask"] is not None:
            more += f", mask={'mask_words' if entry['mask_words'] else 'np.array'}({entry['mask']!r}"
            more += ")" if entry["mask_words"] else ", bool)"
        return more + (", transfer=True" if entry["take"] else "")

    def tensors(self, entry, names):
        if entry["lanes"] != 1:
            names = [f"folded({name}, {entry['lanes']})" for name in names]
        return f"[{', '.join(names)}]" if entry["listed"] else names[0]

    def call(self, op, call, names, own, seen):
        """Lines that submit a write of the arrays @names, of which @own stay the caller's."""
        if seen is None:
            return []
        out = ["call = lambda: " + call]
        if op["wait"]:
            want = seen["status"]
            out.append(f"expect({self.where!r}, write(call, [{', '.join(own)}]), {want!r})  # {told(want)}")
        else:
            out.append(f"pending.append(submit(call))  # {told(self.oracle.pending[-1])}")
        return [*out, f"del {', '.join(['call', *names])}"]

    def mode(self, op):
        return f", prim_mode=ovstage.PrimMode({op['mode']})" if op["mode"] != 0 else ""

    def write(self, op):
        seen = self.oracle.write(op)
        out, names = self.sources(op)
        more = self.options(op) + self.mode(op)
        attribute = attribute_text(op["attribute"], op)
        tensors = self.tensors(op, names)
        call = f"stage.write_attribute({self.query_name(op)}, {attribute}, {op['ordinal']}, {tensors}{more})"
        return out + self.call(op, call, names, [] if op["take"] or op["texts"] else names, seen)

    def batch(self, op):
        seen = self.oracle.batch(op)
        out, names, own, writes = [], [], [], []
        for entry in op["entries"]:
            lines, sources = self.sources(entry, len(names))
            out += lines
            names += sources
            own += [] if entry["take"] or entry["texts"] else sources
            attribute = attribute_text(entry["attribute"], entry)
            tensors = self.tensors(entry, sources)
            writes.append(f"ovstage.WriteDesc(attribute={attribute}, tensors={tensors}{self.options(entry)})")
        call = f"stage.write_attributes({self.query_name(op)}, [{', '.join(writes)}], {op['ordinal']}{self.mode(op)})"
        return out + self.call(op, call, names, own, seen)

    # Deletes, seals, clones

    def delete(self, op):
        names = ", ".join(attribute_text(name, op) for name in op["attributes"])
        call = f"stage.delete_attributes({self.query_name(op)}, [{names}], {op['ordinal']})"
        return self.submitted(op, call, self.oracle.delete(op))

    def seal(self, op):
        call = f"stage.advance_write_floor({op['ordinal']}, scope=ovstage.Scope({op['scope']}), "
        call += f"attributes={op['attributes']!r})"
        waiting = self.oracle.waiting()
        seen = self.oracle.seal(op)
        out = self.submitted(op, call, seen)
        for slot, want in zip(waiting, seen.get("watches", [])):
            out += [*self.settle(), *self.take_watch(slot, want, None, f"{self.where}, watch {slot}")]
        return out

    def clone(self, op):
        call = f"stage.clone_async({op['source']!r}, {op['targets']!r}, {op['ordinal']})"
        return self.submitted(op, call, self.oracle.clone(op))

    # Reads

    def read(self, op):
        want = self.oracle.read(op)
        if want is None:
            return []
        names = ", ".join(attribute_text(name, op) for name in op["attributes"])
        call = f"stage.read_attributes({self.query_name(op)}, [{names}], span({op['start']}, {op['ordinal']}))"
        if op["late"]:
            self.unfetched.append((op["hold"], self.where))
            return [f"late.append({call})"]
        return [f"read = {call}", *self.fetch(want, op["hold"], self.where)]

    def fetch(self, want, hold, where):
        out = [
            "status, as_of, groups = fetch(read)",
            "read.release()",
            f"expect({where + ' status'!r}, status, {want['status']})  # {told(want['status'])}",
        ]
        if want["status"] != 0:
            return out
        out.append(f"expect({where + ' as_of'!r}, as_of, {want['as_of']})")
        return out + self.groups(want, hold, where)

    def groups(self, want, hold, where):
        out = [f"expect({where + ' groups'!r}, [seen(group) for group in groups], ["]
        out += [f"    {group!r}," for group in want["groups"]]
        out.append("])")
        for i, (_, changes, placement) in enumerate(want["generations"]):
            out.append(f"expect_generation(groups[{i}], {changes}, {placement})")
        if hold == "groups":
            return [*out, "held_groups += [(group, rows(group)) for group in groups]"]
        if hold == "arrays":
            out.append("arrays = [group.array(i) for group in groups for i in range(group.tensor_count)]")
            out += ["held_arrays += [(values, values.tobytes()) for values in arrays]", "del arrays"]
        return [*out, "for group in groups:", "    group.release()"]

    def take_late(self):
        out = []
        for want, (hold, where) in zip(self.oracle.take_late(), self.unfetched):
            out += ["read = late.pop(0)", *self.fetch(want, hold, where + " late")]
        self.unfetched = []
        return out

    def late(self, op):
        return self.take_late()

    # Queries by filter

    def query(self, op):
        names = ", ".join(attribute_text(name, op) for name in op["attributes"])
        want = self.oracle.query(op)
        name = f"filtered{op['slot']}"
        self.filtered.append(op["slot"])
        out = [f"{name} = stage.query(tree({op['filter']!r}), [{names}])"]
        if op["wait"]:
            return out + self.matched(want, name, self.where)
        self.late_queries.append((name, self.where))
        return out

    def matched(self, want, name, where):
        out = [f"expect({where + ' status'!r}, outcome({name}), {want['status']!r})  # {told(want['status'])}"]
        if want["status"] == 0:
            out.append(f"expect({where!r}, matched(paths, {name})[0], {want['prims']!r})")
            out.append(f"expect({where!r}, named({name}.attributes, tokens), {want['attributes']!r})")
        return out

    def cancel(self, op):
        want = self.oracle.cancel(op)
        if want is None:
            return []
        name = f"pending[{want['at']}]" if want["kind"] == "pending" else self.late_queries[want["at"]][0]
        withdrawn = op["withdrawn"] and self.oracle.cancelled(op, True) is None
        return [f"expect({self.where + ' (by chance, it may begin at another time)'!r}, withdraw({name}), {withdrawn})"]

    # Maps

    def map(self, op):
        seen = self.oracle.map(op)
        if seen is None:
            return []
        slot = op["slot"]
        self.made.append(f"map{slot}")
        options = {name: op[name] for name in ("fill", "semantic", "mode", "counts")}
        dtype = op["dtype"] and (*DTYPES[op["dtype"]], op["lanes"])
        attribute = attribute_text(op["attribute"], op)
        out = [
            f"map{slot} = stage.map_attribute({self.query_name(op)}, {attribute}, {op['ordinal']}, "
            f"**map_options({dtype!r}, {options!r}))",
            f"expect({self.where + ' status'!r}, outcome(map{slot}), {seen['status']})  # {told(seen['status'])}",
        ]
        if seen["status"] != 0:
            return out  # also where it is not sure
        kind = id_kind(self.sequence, op["attribute"])
        out += [
            f"groups{slot} = map_groups(map{slot})",
            f"expect({self.where!r}, [map_prims(paths, group) for group in groups{slot}], {seen['groups']!r})",
        ]
        if op["fill"]:
            filled = f"[mapped(group, ids[{kind!r}]) for group in groups{slot}]"
            out.append(f"expect({self.where + ' filled'!r}, {filled}, {seen['values']!r})")
        self.mapped[slot] = (kind, op["known"])
        if op["first"] is not None:
            out += self.fill(op)
        return out

    def fill(self, op):
        kind, known = self.mapped[op["slot"]]
        return [f"for group in groups{op['slot']}:", f"    fill(group, {op['first']}, ids[{kind!r}], {known})"]

    def map_fill(self, op):
        return [] if self.oracle.map_fill(op) is None else self.fill(op)

    def map_commit_group(self, op):
        session = self.oracle.maps.get(op["slot"])
        group = op["group"] % max(1, len(session.groups)) if session is not None else 0
        call = f"stage.unmap_group(map{op['slot']}, groups{op['slot']}[{group}])"
        return self.submitted(op, call, self.oracle.map_commit_group(op))

    def map_commit(self, op):
        return self.submitted(op, f"stage.unmap_attribute(map{op['slot']})", self.oracle.map_commit(op))

    def map_discard(self, op):
        return [] if self.oracle.map_discard(op) is None else [f"map{op['slot']}.discard()"]

    # Watches

    def watch(self, op):
        seen = self.oracle.watch(op)
        if seen is None:
            return []
        slot, status = op["slot"], seen["status"]
        self.made.append(f"watch{slot}")
        names = ", ".join(attribute_text(name, op) for name in op["attributes"])
        return [
            *self.settle_operations(),
            f"status, watch{slot} = follow(stage, {self.query_name(op)}, [{names}], {op['callback']})",
            f"expect({self.where + ' status'!r}, status, {status})  # {told(status)}",
        ]

    def watch_take(self, op):
        want = self.oracle.watch_take(op)
        return [*self.settle(), *self.take_watch(op["slot"], want, op["hold"], self.where)] if want is not None else []

    def settle(self):
        return self.settle_operations() + [f"outcome(filtered{slot})" for slot in self.filtered]

    def settle_operations(self):
        return ["for operation in pending:", "    outcome(operation)"]

    def take_watch(self, slot, want, hold, where):
        calls = len(want["told"])
        out = [
            f"calls, cursor = watch{slot}.take({calls > 0}, {want['cursor']})",
            f"expect({where + ' calls'!r}, len(calls), {calls})",
            f"expect({where + ' cursor'!r}, cursor, {want['cursor']})",
        ]
        if calls > 0:
            out += ["(groups,) = calls", *self.groups({**want, "groups": want["told"][0]}, hold, where)]
        return out

    def watch_cancel(self, op):
        return [f"watch{op['slot']}.cancel()"] if self.oracle.watch_cancel(op) is not None else []

    # What is there

    def floors(self, op=None):
        want = self.oracle.floors()
        out = self.settle_operations()
        out += [f"expect('global floor', stage.get_attribute_write_floor(), {want['global floor']})"]
        for name, floor in want["floors"].items():
            out.append(f"expect('floor of {name}', stage.get_attribute_write_floor({name!r}), {floor})")
        out.append(f"expect('value frontier', stage.gobject.get_value_frontier(), {want['value frontier']})")
        return out

    def held(self, op):
        return ["check_held()"]

    def release(self, op):
        return ["if held_groups:", "    held_groups.pop(0)[0].release()", "if held_arrays:", "    held_arrays.pop(0)"]

    def end(self):
        out = [f"expect('operations', [outcome(operation) for operation in pending], {self.oracle.pending!r})"]
        for want, (name, where) in zip(self.oracle.late_queries, self.late_queries):
            out += self.matched(want, name, where)
        out += self.take_late()
        for slot, watch in self.oracle.watches.items():
            out += self.take_watch(slot, self.oracle.take_watch(watch), None, f"the end, watch {slot}")
        out += [*self.floors(), "check_held()"]
        out += [f"watch{slot}.cancel()" for slot in self.oracle.watches]
        for slot in self.mapped:
            out += [f"for group in groups{slot}:", "    group.release()", f"map{slot}.release()"]
        out += [f"filtered{slot}.release()" for slot in self.filtered]
        if self.made:
            out.append(f"del {', '.join(self.made)}")
        if self.sequence["destroy"]:
            out += ["stage.destroy()", "check_held()"]
        return [*out, *END.strip().splitlines()]


def attribute_text(name, op):
    return f"paths.intern_token({name!r})" if op["by_token"] else repr(name)
