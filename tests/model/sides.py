# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors

"""The two sides that a sequence is run on: the model, and the library or something that looks like its package.

step () runs one operation and gives what was seen as plain data. The model's side goes first; where it gives None
the operation makes no sense any more (what it needs failed, or was shrunk away) and is left out on both sides.
"""

import contextlib
import struct
import time
import weakref
import zlib

import model
import sequence as sequences

BUILT_IN_KINDS = dict.fromkeys(model.BUILT_INS, "path")


def id_kind(sequence, attribute):
    """What the ids of an attribute stand for: "path", "token" or "number"."""
    return BUILT_IN_KINDS.get(attribute) or sequence["ids"].get(attribute, "token")


def known_names(sequence):
    """Every name of an attribute that a sequence may use."""
    return [*sequence["attributes"], sequence["unknown"], *model.RESERVED_NAMES, "usd-prim-type", "usd-schemas"]


WITHDRAWN = object()  # the prims of a query that was withdrawn
FLOOR_MATTERS = ("delete", "clone", "map", "map_commit", "map_commit_group")  # where an advance that is withdrawn leaves traces
CAN_WAIT = ("write", "batch", "delete", "clone", "seal", "query")  # operations that may be there to be withdrawn


class ModelSide:
    """What was withdrawn is as if it had never been submitted: then all is run again without it.

    But what used a query that was withdrawn fails, and what was refused for the floor of an advance stays refused.
    """

    def __init__(self, sequence):
        self.sequence = sequence
        self.lists = [[sequence["paths"][i] for i in entries] for entries in sequence["lists"]]
        self.model = model.Model(
            sequence["depth"], model.Ids(sequence["universe"]), model.Ids(sequence["tokens"])
        )
        self.queries = {}  # slot -> prims
        self.maps = {}  # slot -> session
        self.watches = {}  # slot -> watch
        self.pending = []
        self.late_reads = []
        self.late_queries = []
        self.asked = False  # whether there was a query that something may wait for
        self.unsure = []  # global floors that may still be told: seals since were not waited for
        self.floating = []  # (as_of, ordinal, start) of late reads that tell the global floor
        self.log = []  # what was run
        self.unwaited = []  # (entry of the log, the list that tells how it ends, entry of that)
        self.withdrawn = set()  # entries of the log
        self.answers = {}  # entry of the log -> what was expected of it, before something was withdrawn
        self.again = False  # run again, up to where something was withdrawn
        self.gone = set()  # slots of queries that were withdrawn

    def step(self, op):
        self.note(op)
        if len(self.log) - 1 in self.withdrawn:
            return self.withdraw(op)
        told = self.answers.get(len(self.log) - 1)
        refused = op["op"] in ("write", "batch") and model.WRITE_FLOOR_VIOLATION in self.codes_of(told)
        if self.again and refused and -1 - op["list"] not in self.gone:
            return self.ends(op, told)
        return getattr(self, op["op"])(op)

    def note(self, op):
        self.log.append(op)

    def prims(self, op):
        """The prims of an operation's query; None if there is none."""
        which = op["list"]
        if -1 - which in self.gone:
            return WITHDRAWN if self.again else None
        return self.lists[which] if which >= 0 else self.queries.get(-1 - which)

    # Withdrawing

    def cancel(self, op):
        """Which operation may be withdrawn now: a list of the side, and an entry of it."""
        if op["back"] >= len(self.unwaited):
            return None
        entry, kind, at = self.unwaited[-1 - op["back"]]
        if self.log[entry]["op"] == "seal" and any(one["op"] in FLOOR_MATTERS for one in self.log[entry + 1 :]):
            return None
        return {"kind": kind, "at": at}

    def cancelled(self, op, withdrawn):
        """What is wrong with that it was withdrawn, if it was."""
        op["withdrawn"] = withdrawn
        if not withdrawn:
            return None
        entry, kind, at = self.unwaited[-1 - op["back"]]
        target, later = self.log[entry], self.log[entry + 1 :]
        if target["op"] not in ("query", "seal") and self.sequence["alone"] and not self.asked:
            return f"{target['op']} {at} was withdrawn, though nothing is there that it could wait for"
        fresh = ModelSide(self.sequence)
        fresh.withdrawn, fresh.answers, fresh.again = self.withdrawn | {entry}, self.answers, True
        for done in self.log:
            fresh.step(done)
        fresh.again = False
        self.__dict__ = fresh.__dict__
        for at, one in enumerate(later, entry + 1):
            uses = target["op"] == "query" and one.get("list") == -1 - target["slot"]
            if uses and one.get("wait") and self.answers[at] == model.OK:  # not refused before the prims were known
                return f"a query was withdrawn that {one['op']} had waited for"
        return None

    def withdraw(self, op):
        if op["op"] == "query":
            self.gone.add(op["slot"])
            self.asked = True
            return self.ends_query({"status": model.OP_FAILED})
        return self.ends(op, model.OP_FAILED)

    def lost(self, op):
        """Its query was withdrawn. What was wrong with it whatever the prims may have been told before."""
        told = self.answers.get(len(self.log) - 1)
        if told is None:
            return None  # it came after that
        if isinstance(told, str):
            return self.ends(op, told)
        return self.ends(op, {model.OP_FAILED} | self.codes_of(told) - {model.OK})

    def codes_of(self, status):
        return status if isinstance(status, set) else {status}

    def submitted(self, op, status, attributes=()):
        """@attributes: those of a write that may have been refused for its floor before its filter query was known."""
        if op.get("list", 0) < 0 and any(op["ordinal"] <= self.model.floor(a) for a in attributes):
            status = {status, model.WRITE_FLOOR_VIOLATION}
        return self.ends(op, self.codes(status))

    def ends(self, op, status):
        """The code of an operation, or some that it may be."""
        entry = len(self.log) - 1
        if not self.again:
            self.answers[entry] = status
        if op["wait"]:
            return {"status": status}
        if op["op"] in CAN_WAIT and entry not in self.withdrawn:
            self.unwaited.append((entry, "pending", len(self.pending)))
        self.pending.append(status)
        return {}

    def ends_query(self, seen):
        if len(self.log) - 1 not in self.withdrawn:
            self.unwaited.append((len(self.log) - 1, "late_queries", len(self.late_queries)))
        self.late_queries.append(seen)
        return {}

    def codes(self, status):
        """With what else an operation may fail that waits for queries: a face may tell no more than that it did."""
        if self.sequence.get("codes", True) or not self.asked or status == model.OK:
            return status
        return {model.OP_FAILED} | (status if isinstance(status, set) else {status})

    # Writes

    def write(self, op):
        prims = self.prims(op)
        if prims is None or prims is WITHDRAWN:
            return prims and self.lost(op)
        error = self.call_error(prims, op)
        if error is not None:
            return self.submitted(op, error)
        attribute, tensors, *rest = self.given(prims, op)
        more = dict(zip(model.Given._fields[2:], rest))
        status = self.model.write(prims, attribute, op["ordinal"], tensors, mode=op["mode"], **more)
        return self.submitted(op, status, [attribute])

    def batch(self, op):
        prims = self.prims(op)
        if prims is None or prims is WITHDRAWN:
            return prims and self.lost(op)
        errors = [self.call_error(prims, entry) for entry in op["entries"]]
        if any(errors):
            return self.submitted(op, next(error for error in errors if error is not None))
        given = [self.given(prims, entry) for entry in op["entries"]]
        status = self.model.write_batch(prims, given, op["ordinal"], op["mode"])
        return self.submitted(op, status, [part.attribute for part in given])

    def call_error(self, prims, entry):
        return model.python_call_error(
            len(prims), entry["count"], entry["index_map"], entry["mask"], entry["mask_words"]
        )

    def given(self, prims, entry):
        tensors = [self.tensor(entry, tensor) for tensor in entry["tensors"]]
        mask = entry["mask"]
        if mask is not None and entry["mask_words"]:
            mask = mask + [0] * (-len(mask) % 64)
        count = model.logical_count(len(prims), entry["count"], entry["index_map"])
        if count == 0:
            mask = None  # a mask of no prims is one that is longer than needed
        packed = entry["is_array"] and not entry["listed"]
        semantic = entry["semantic"] or (model.STRING if entry["texts"] else model.NONE)
        return model.Given(
            entry["attribute"], tensors, semantic, count, entry["index_map"], mask, entry["is_array"], packed
        )

    def tensor(self, entry, tensor):
        code, bits = sequences.DTYPES[entry["dtype"]]
        data = sequences.pack(entry["dtype"], tensor["values"])
        shape = tuple(tensor["shape"])
        if entry["lanes"] == 1:
            return model.Tensor(code, bits, shape, data)
        return model.Tensor(code, bits, shape[:-1] or (1,), data, entry["lanes"])

    # Deletes, seals, clones

    def delete(self, op):
        prims = self.prims(op)
        if prims is None or prims is WITHDRAWN:
            return prims and self.lost(op)
        # Whole prims go by the default floor.
        names = op["attributes"] or [sequences.UNKNOWN]
        return self.submitted(op, self.model.delete(prims, op["attributes"], op["ordinal"]), names)

    def seal(self, op):
        if not op["wait"]:
            self.unsure.append(self.model.global_floor())
        seen = self.submitted(op, self.model.advance(op["ordinal"], op["scope"], op["attributes"]))
        for as_of, ordinal, start in self.floating:
            as_of.add(self.as_of_global(self.model.global_floor(), ordinal, start))
        if self.waiting():
            seen["watches"] = [self.take_watch(self.watches[slot]) for slot in self.waiting()]
        return seen

    def clone(self, op):
        return self.submitted(op, self.model.clone(op["source"], op["targets"], op["ordinal"]))

    # Reads

    def read(self, op):
        prims = self.prims(op)
        if prims is WITHDRAWN and op["late"]:
            told = self.answers.get(len(self.log) - 1)
            if told is not None:
                self.late_reads.append({"status": {model.OP_FAILED} | self.codes_of(told) - {model.OK}})
            return {}
        if prims is None or prims is WITHDRAWN:
            return None
        result = self.model.read(prims, op["attributes"], op["ordinal"], op["start"])
        if result.status != model.OK:
            seen = {"status": result.status}
        else:
            seen = {
                "status": 0,
                "as_of": result.as_of,
                "groups": [self.describe(group) for group in result.groups],
                "generations": [self.generation(group) for group in result.groups],
            }
        if result.status == model.OK:
            seen["as_of"] = self.as_of(op)
        if op["late"]:
            if not self.again:
                self.answers[len(self.log) - 1] = seen["status"]
            self.late_reads.append(seen)
            return {}
        return seen

    def as_of(self, op):
        """What the read may tell: more than one value where seals or writes have a say that it is not ordered with."""
        told = [self.model.as_of(self.model.stored(op["attributes"]), op["ordinal"])]
        if op["late"]:
            told = self.model.as_of_later(op["attributes"], op["ordinal"])
        told = {max(as_of, (op["start"] or 1) - 1) for as_of in told}
        if not any(self.model.attribute_exists(attribute) for attribute in op["attributes"]):
            told |= {self.as_of_global(floor, op["ordinal"], op["start"]) for floor in self.unsure}
            if op["late"]:
                self.floating.append((told, op["ordinal"], op["start"]))
                return told
        return told if len(told) > 1 else told.pop()

    def as_of_global(self, floor, ordinal, start):
        return max(min(floor, ordinal), (start or 1) - 1)

    def describe(self, group):
        if group.schema is None:
            return {
                "attribute": group.attribute,
                "deleted": [prim for prim, _ in group.rows],
                "ordinal": group.ordinal,
            }
        return {
            "attribute": group.attribute,
            "dtype": tuple(group.schema[:3]),
            "semantic": group.schema.semantic,
            "is_array": group.schema.is_array,
            "ordinal": group.ordinal,
            "rows": [(prim, self.told(group, value)) for prim, value in group.rows],
        }

    def told(self, group, value):
        """The bytes of a row as text; what may be ids as their numbers in the model. Children are in any order."""
        if group.schema[:2] != (model.UINT, 64):
            return value.hex()
        numbers = list(struct.unpack(f"={len(value) // 8}Q", value))
        return sorted(numbers) if group.attribute == "usd-children" else numbers

    def generation(self, group):
        placement = zlib.crc32(repr(sorted(group.placement.items())).encode())
        return (group.attribute, group.generation, placement)

    # Queries by filter

    def query(self, op):
        self.asked = True
        status, prims = self.model.query(op["filter"])
        seen = {"status": status}
        if status == model.OK:
            self.queries[op["slot"]] = prims
            seen["prims"] = prims
            seen["attributes"] = self.model.discovered(prims, op["attributes"])
        return seen if op["wait"] else self.ends_query(seen)

    # Maps

    def map(self, op):
        prims = self.prims(op)
        if prims is None or prims is WITHDRAWN:
            return None
        dtype = op["dtype"] and (*sequences.DTYPES[op["dtype"]], op["lanes"])
        status, session = self.model.map_attribute(
            prims, op["attribute"], op["ordinal"], dtype, op["semantic"], op["mode"], op["counts"], op["fill"]
        )
        if op["list"] < 0 and op["ordinal"] <= self.model.floor(op["attribute"]):
            return {"status": self.codes({status, model.WRITE_FLOOR_VIOLATION})}
        if status != model.OK:
            return {"status": self.codes(status)}
        self.maps[op["slot"]] = session
        session.known = op["known"]
        seen = {"status": status, "groups": session.groups}
        if op["fill"]:
            seen["values"] = [[self.mapped(session, prim) for prim in group] for group in session.groups]
        if op["first"] is not None:
            self.fill(session, op["first"])
        return seen

    def mapped(self, session, prim):
        value = session.values[prim]
        if session.schema[:2] != (model.UINT, 64):
            return value.hex()
        return list(struct.unpack(f"={len(value) // 8}Q", value))

    def fill(self, session, first):
        """Other values for what was not committed."""
        for group in session.left:
            for i, prim in enumerate(group):
                dtype = sequences.NAMES[session.schema[:2]]
                n = session.sizes[prim] * 8 // session.schema.bits
                known = session.known if dtype == "uint64" else None
                session.values[prim] = sequences.pack(dtype, sequences.map_values(first, i, n, known))

    def map_fill(self, op):
        session = self.maps.get(op["slot"])
        if session is None or session.ended:
            return None
        self.fill(session, op["first"])
        return {}

    def map_commit_group(self, op):
        session = self.maps.get(op["slot"])
        if session is None or not session.groups:
            return None
        group = session.groups[op["group"] % len(session.groups)]
        return self.submitted(op, self.model.map_commit_group(session, group))

    def map_commit(self, op):
        session = self.maps.get(op["slot"])
        return session and self.submitted(op, self.model.map_commit(session))

    def map_discard(self, op):
        session = self.maps.get(op["slot"])
        if session is None:
            return None
        self.model.map_discard(session)
        return {}

    # Watches

    def watch(self, op):
        prims = self.prims(op)
        if prims is None or prims is WITHDRAWN:
            return None
        status, watch = self.model.watch(prims, op["attributes"])
        if status == model.OK:
            watch.waits, watch.asks = False, not op["callback"]
            self.watches[op["slot"]] = watch
        return {"status": status}

    def waiting(self):
        """Those that were asked and had nothing to tell: they tell of the next change at once, however slow we are."""
        return [slot for slot, watch in self.watches.items() if watch.waits]

    def watch_take(self, op):
        watch = self.watches.get(op["slot"])
        return watch and self.take_watch(watch)

    def take_watch(self, watch):
        groups = self.model.watch_next(watch)
        watch.waits = watch.asks and not groups
        return {
            "told": [[self.describe(group) for group in groups]] if groups else [],
            "cursor": self.model.cursor(watch),
            "generations": [self.generation(group) for group in groups],
        }

    def watch_cancel(self, op):
        return {} if self.watches.pop(op["slot"], None) is not None else None

    # What is there

    def floors(self, op=None):
        self.unsure.clear()
        names = [*self.sequence["attributes"], self.sequence["unknown"]]
        return {
            "global floor": self.model.global_floor(),
            "floors": {name: self.model.floor(name) for name in names},
            "value frontier": self.model.value_frontier() if self.sequence["alone"] else None,
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
        return {
            "operations": self.pending,
            "queries": self.late_queries,
            "reads": self.take_late(),
            "watches": [self.take_watch(watch) for watch in self.watches.values()],
            **self.floors(),
        }


class LibrarySide:
    """The Python package, or a fake of it.

    Without @stage a sequence has its own stage, for as long as it runs.
    """

    def __init__(self, sequence, stage=None):
        import observe

        self.see = observe
        self.sequence = sequence
        self.stack = contextlib.ExitStack()
        enter = self.stack.enter_context
        self.stage = stage or enter(observe.ovstage.Stage(history_depth=sequence["depth"]))
        self.paths = enter(observe.ovstage.PathDictionary(self.stage))
        self.ids = {
            "path": observe.Ids(self.paths.intern_path, sequence["universe"]),
            "token": observe.Ids(self.paths.intern_token, sequence["tokens"]),
            "number": observe.Numbers(),
        }
        numbers = self.ids["path"].numbers
        assert numbers == sorted(numbers), f"ids of paths interned one after another: {numbers}"
        self.queries = []
        for entries in sequence["lists"]:
            path_list = self.paths.create_path_list_from_strings([sequence["paths"][i] for i in entries])
            self.queries.append(enter(self.stage.query_from_path_list(path_list)))
            self.paths.destroy_path_list(path_list)
        self.filtered = {}  # slot -> query
        self.maps = {}  # slot -> (map, groups, (ids, how many are known), arrays of each group)
        self.watches = {}  # slot -> watch
        self.names = [*sequence["attributes"], sequence["unknown"]]
        self.tokens = {self.paths.intern_token(name): name for name in known_names(sequence)}
        self.pending = []
        self.late_reads = []
        self.late_queries = []
        self.held_groups = []  # (group, its rows when it was fetched)
        self.held_arrays = []  # (array, its bytes when it was fetched)
        self.taken = []  # (weak reference to an array that was handed over, its bytes then)

    def step(self, op, want):
        """@want: what the model says; where threads are busy the library may need some time for that."""
        if op is None:
            return self.end(want)
        return getattr(self, op["op"])(op, want) if op["op"] in ("seal", "watch_take", "cancel") else getattr(self, op["op"])(op)

    def prims(self, op):
        which = op["list"]
        return self.queries[which] if which >= 0 else self.filtered[-1 - which]

    def attribute(self, name, op):
        return self.paths.intern_token(name) if op["by_token"] else name

    def submitted(self, op, call):
        if op["wait"]:
            return {"status": self.see.outcome(self.see.submit(call))}
        self.pending.append(self.see.submit(call))
        return {}

    def cancel(self, op, want):
        """Whether it was withdrawn."""
        return self.see.withdraw(getattr(self, want["kind"])[want["at"]])

    # Writes

    def sources(self, entry):
        """The arrays of a write; those that stay the caller's are given apart, too."""
        ids = self.ids[id_kind(self.sequence, entry["attribute"])]
        sources = []
        for tensor in entry["tensors"]:
            values = ids.given(tensor["values"]) if entry["dtype"] == "uint64" else tensor["values"]
            if entry["texts"]:
                sources.append(bytes(values).decode())
            else:
                sources.append(self.see.array(entry["dtype"], tensor["shape"], values, tensor["layout"]))
        if entry["take"]:
            self.taken += [(weakref.ref(source), source.tobytes()) for source in sources]
        return sources, [] if entry["take"] or entry["texts"] else sources

    def tensors(self, entry, sources):
        """Arrays as the package takes them."""
        if entry["lanes"] != 1:
            sources = [self.see.folded(source, entry["lanes"]) for source in sources]
        return list(sources) if entry["listed"] else sources[0]

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
        query = self.prims(op)

        def call():
            tensors = self.tensors(op, sources)
            return self.stage.write_attribute(query, attribute, op["ordinal"], tensors, is_array=op["is_array"], **more)

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
            tensors = self.tensors(entry, sources)
            attribute = self.attribute(entry["attribute"], entry)
            more = self.options(entry)
            writes.append(
                see.ovstage.WriteDesc(attribute=attribute, tensors=tensors, is_array=entry["is_array"], **more)
            )
        mode = {"prim_mode": see.ovstage.PrimMode(op["mode"])} if op["mode"] != 0 else {}
        query = self.prims(op)

        def call():
            return self.stage.write_attributes(query, writes, op["ordinal"], **mode)

        if op["wait"]:
            return {"status": see.write(call, spoiled)}
        self.pending.append(see.submit(call))
        return {}

    # Deletes, seals, clones

    def delete(self, op):
        names = [self.attribute(name, op) for name in op["attributes"]]
        return self.submitted(op, lambda: self.stage.delete_attributes(self.prims(op), names, op["ordinal"]))

    def seal(self, op, want):
        scope = self.see.ovstage.Scope(op["scope"])
        seen = self.submitted(
            op, lambda: self.stage.advance_write_floor(op["ordinal"], scope=scope, attributes=op["attributes"])
        )
        waiting = [watch for watch in self.watches.values() if watch.task is not None]
        if waiting:
            self.settle()
            seen["watches"] = [self.take_watch(*pair) for pair in zip(waiting, want.get("watches", []))]
        return seen

    def clone(self, op):
        return self.submitted(op, lambda: self.stage.clone_async(op["source"], op["targets"], op["ordinal"]))

    # Reads

    def read(self, op):
        span = self.see.span(op["start"], op["ordinal"])
        names = [self.attribute(name, op) for name in op["attributes"]]
        read = self.stage.read_attributes(self.prims(op), names, span)
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
            "groups": [self.describe(group) for group in groups],
            "generations": [see.generation(group) for group in groups],
        }
        self.hold(groups, hold)
        return seen

    def hold(self, groups, hold):
        see = self.see
        for group in groups:
            if hold == "groups":
                self.held_groups.append((group, see.rows(group)))
                continue
            if hold == "arrays":
                arrays = [group.array(i) for i in range(group.tensor_count)]
                self.held_arrays.append((arrays, [values.tobytes() for values in arrays]))
            group.release()

    def describe(self, group):
        attribute = self.tokens.get(group.attribute, group.attribute)
        return self.see.describe(self.paths, group, attribute, self.ids[id_kind(self.sequence, attribute)])

    # Queries by filter

    def query(self, op):
        names = [self.attribute(name, op) for name in op["attributes"]]
        query = self.stage.query(self.see.tree(op["filter"]), names)
        self.filtered[op["slot"]] = query
        if op["wait"]:
            return self.matched(query)
        self.late_queries.append(query)
        return {}

    def matched(self, query):
        status = self.see.outcome(query)
        if status != 0:
            return {"status": status}
        prims, attributes = self.see.matched(self.paths, query)
        return {"status": 0, "prims": prims, "attributes": self.see.named(attributes, self.tokens)}

    # Maps

    def map(self, op):
        see = self.see
        ids = self.ids[id_kind(self.sequence, op["attribute"])]
        more = see.map_options(op["dtype"] and (*sequences.DTYPES[op["dtype"]], op["lanes"]), op)
        attribute = self.attribute(op["attribute"], op)
        handle = self.stage.map_attribute(self.prims(op), attribute, op["ordinal"], **more)
        status = see.outcome(handle)
        if status != 0:
            return {"status": status}
        groups = see.map_groups(handle)
        arrays = [[group.array(i) for i in range(group.tensor_count)] for group in groups]
        self.maps[op["slot"]] = (handle, groups, (ids, op["known"]), arrays)
        seen = {"status": 0, "groups": [see.map_prims(self.paths, group) for group in groups]}
        if op["fill"]:
            seen["values"] = [see.mapped(group, ids) for group in groups]
        if op["first"] is not None:
            for group in groups:
                see.fill(group, op["first"], ids, op["known"])
        return seen

    def map_fill(self, op):
        _, groups, known, _ = self.maps[op["slot"]]
        for group in groups:
            self.see.fill(group, op["first"], *known)
        return {}

    def map_commit_group(self, op):
        handle, groups, _, arrays = self.maps[op["slot"]]
        at = op["group"] % len(groups)
        return self.committed(op, lambda: self.stage.unmap_group(handle, groups[at]), arrays[at : at + 1])

    def map_commit(self, op):
        handle, _, _, arrays = self.maps[op["slot"]]
        return self.committed(op, lambda: self.stage.unmap_attribute(handle), arrays)

    def committed(self, op, call, arrays):
        """Arrays that were taken before a commit can not be written after it."""
        seen = self.submitted(op, call)
        left = [values for group in arrays for values in group if values.flags.writeable]
        assert not left, f"{len(left)} arrays of a map are writable after the commit"
        return seen

    def map_discard(self, op):
        handle, _, _, arrays = self.maps[op["slot"]]
        handle.discard()
        arrays.clear()
        return {}

    # Watches

    def watch(self, op):
        # What an advance seals that is still pending is told, or not: it is sealed after this, or before.
        self.settle_operations()
        names = [self.attribute(name, op) for name in op["attributes"]]
        status, watch = self.see.follow(self.stage, self.prims(op), names, op["callback"])
        if status == 0:
            self.watches[op["slot"]] = watch
        return {"status": status}

    def watch_take(self, op, want):
        self.settle()
        return self.take_watch(self.watches[op["slot"]], want, op["hold"])

    def take_watch(self, watch, want, hold=None):
        told, cursor = watch.take(bool(want["told"]), want["cursor"])
        seen = {
            "told": [[self.describe(group) for group in groups] for groups in told],
            "cursor": cursor,
            "generations": [self.see.generation(group) for groups in told for group in groups],
        }
        for groups in told:
            self.hold(groups, hold)
        return seen

    def watch_cancel(self, op):
        self.watches.pop(op["slot"]).cancel()
        return {}

    # What is there

    def settle(self):
        """Waits for all that was submitted, so that it can be told."""
        self.settle_operations()
        for query in self.late_queries:
            self.see.outcome(query)

    def settle_operations(self):
        for operation in self.pending:
            self.see.outcome(operation)

    def floors(self, op=None):
        self.settle_operations()  # floors tell what is sealed
        return {
            "global floor": self.stage.get_attribute_write_floor(),
            "floors": {name: self.stage.get_attribute_write_floor(name) for name in self.names},
            "value frontier": self.stage.gobject.get_value_frontier() if self.sequence["alone"] else None,
        }

    def held(self, op):
        for group, rows in self.held_groups:
            now = self.see.rows(group)
            assert now == rows, f"a held group had {rows}, has {now}"
        for arrays, before in self.held_arrays:
            now = [values.tobytes() for values in arrays]
            assert now == before, f"held arrays had {before}, have {now}"
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

    def end(self, want):
        seen = {
            "operations": [self.see.outcome(operation) for operation in self.pending],
            "queries": [self.matched(query) for query in self.late_queries],
            "reads": self.take_late(),
            "watches": [self.take_watch(*pair) for pair in zip(self.watches.values(), want["watches"])],
            **self.floors(),
        }
        self.held(None)
        while self.watches:
            self.watches.popitem()[1].cancel()
        self.late_queries.clear()
        while self.maps:
            handle, groups, *_ = self.maps.popitem()[1]
            for group in groups:
                group.release()
            handle.release()
        while self.filtered:
            self.filtered.popitem()[1].release()
        if self.sequence["destroy"]:
            self.stack.close()
            self.held(None)
        while self.held_groups or self.held_arrays:
            self.release(None)
        self.stack.close()
        self.pending.clear()
        if not self.sequence["alone"]:
            return seen
        # What was handed over is let go of with the stage, by the thread that told a watch of it perhaps a little later.
        deadline = time.monotonic() + self.see.SECONDS
        while any(source() is not None for source, _ in self.taken) and time.monotonic() < deadline:
            time.sleep(1e-4)
        left = [before.hex() for source, before in self.taken if source() is not None]
        assert not left, f"{len(left)} arrays that were handed over are left: {left}"
        return seen
