# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors

"""Random sequences of operations, as plain data.

A sequence is a dict of numbers, texts, lists and dicts only, so that it can be
written as JSON and interpreted by any face of the library; see README.md for
its fields. generate (seed, ...) always gives the same sequence for a seed.
"""

import random
import struct

import model

# name -> (DLPack code, bits)
DTYPES = {
    "float32": (2, 32),
    "float64": (2, 64),
    "float16": (2, 16),
    "int32": (0, 32),
    "int16": (0, 16),
    "uint8": (1, 8),
    "uint64": (1, 64),
    "bool": (6, 8),
    "complex64": (5, 64),
}
NAMES = {kind: name for name, kind in DTYPES.items()}
STRUCT_FORMATS = {
    "float32": "f",
    "float64": "d",
    "float16": "e",
    "int32": "i",
    "int16": "h",
    "uint8": "B",
    "uint64": "Q",
    "bool": "?",
    "complex64": "f",
}
LAYOUTS = ("c", "c", "c", "reversed", "gaps", "inner-gaps", "fortran", "offset")
POINT, COLOR = 5, 8

BIG_PATHS = tuple(f"/World/envs/env_{i}/robot" for i in range(140))
PATHS = (
    "/World",
    "/World/A",
    "/World/B",
    "/World/A/link",
    "/World/A/link/joint",
    "/p",
    "/q",
    "/World/Ä",
    "/World/with space",
    "/r/s",
    "/r/t",
    "/z",
    "/",
    "/World/AB",
    "/World/A/linked",
)
UNKNOWN = "never-written"
NO_PATHS = ("no-slash", "/double//slash", "/end/", "")
CLONES = ("/copy", "/World/copy", "/World/A/copy", "/World/A/link/copy", "/q/deep/copy")
MAX_UNIVERSE = 150
UNKNOWN_IDS = 240

# What token ids stand for; ids of values are entries of this list, or of the paths of a sequence.
TOKENS = ("Mesh", "Xform", "app", "apple", "apfel", "\u00e4pfel", "a pple", "/World/A")

# What may be in a sequence besides writes, seals and reads of fixed-size attributes; --skip leaves them out.
PARTS = (
    "reserved",
    "built-ins",
    "children",
    "arrays",
    "ranges",
    "filters",
    "clones",
    "maps",
    "array-maps",
    "watches",
    "cancels",
)

# Favourite schemas: they repeat dtypes with other lanes and semantics, so that conflicts happen.
SCHEMAS = (
    ("float32", 3, model.NONE),
    ("float32", 3, POINT),
    ("float32", 3, COLOR),
    ("float32", 1, model.NONE),
    ("float32", 16, model.NONE),
    ("float64", 3, model.NONE),
    ("float64", 1, POINT),
    ("float16", 2, model.NONE),
    ("int32", 1, model.NONE),
    ("int16", 5, model.NONE),
    ("uint8", 4, COLOR),
    ("uint8", 1, model.NONE),
    ("bool", 1, model.NONE),
    ("complex64", 1, model.NONE),
    ("uint64", 1, model.TOKEN_ID),
    ("uint64", 1, model.NONE),
    ("uint64", 1, model.PATH_EXPRESSION_STRING),
    ("uint64", 2, model.ASSET_PATH_ID),
)

# The same for arrays; in a sequence they compete with fixed-size ones.
ARRAY_SCHEMAS = (
    ("float32", 1, model.NONE),
    ("float32", 3, POINT),
    ("float64", 1, model.NONE),
    ("int32", 1, model.NONE),
    ("int16", 2, model.NONE),
    ("uint8", 1, model.NONE),
    ("uint8", 1, model.STRING),
    ("bool", 1, model.NONE),
    ("uint64", 1, model.NONE),
    ("uint64", 1, model.TOKEN_ID),
    ("uint64", 1, model.RELATIONSHIP_PATH_ID),
    ("uint64", 2, model.CONNECTION_PATH_ID),
)


def pack(dtype, values):
    """The bytes of elements that are given as small whole numbers."""
    if dtype == "bool":
        values = [value & 1 for value in values]
    if dtype == "complex64":
        values = [part for value in values for part in (value, -value)]
    return struct.pack(f"={len(values)}{STRUCT_FORMATS[dtype]}", *values)


def id_values(values, known):
    """Numbers that stand for ids: up to @known, and some that nobody made. Later texts are not met by chance."""
    values = [value % (known + 4) for value in values]
    return [value if value <= known else UNKNOWN_IDS + value - known for value in values]


def map_values(first, row, n, known):
    """The elements that a row of a map is filled with; @known: how many ids there are, or None for numbers."""
    values = [(first + 31 * row + 7 * i) % 251 for i in range(n)]
    return values if known is None else id_values(values, known)


class Generator:
    """Makes one sequence.

    With a thread number it shares its stage with those of other threads: its prims are below a root of its own, it
    seals its own attributes only, by name, and looks at nothing that the others change.
    """

    def __init__(self, seed, depths, skip, thread=None):
        self.rng = random.Random(seed)
        self.skip = skip if thread is None else (*skip, "reserved")
        self.thread = thread
        self.root = "" if thread is None else f"/T{thread}"
        self.clock = 0
        big = self.rng.random() < 0.02
        if big:
            self.paths = self.rooted(BIG_PATHS[: self.rng.randint(65, len(BIG_PATHS))])
        else:
            self.paths = self.rooted(self.rng.sample(PATHS, self.rng.randint(1, len(PATHS) - 2)))
        names = ["a", "b", "c"][: self.rng.randint(2, 3)]
        if thread is not None:
            names = [f"{name}{thread}" for name in names]
        self.n_ops = self.rng.randint(10, 20) if big else self.rng.randint(10, 60)
        self.n_slots = 0  # of queries
        self.n_maps = 0
        self.n_watches = 0
        self.sequence = {
            "seed": seed,
            "depth": self.rng.choice(depths),
            "paths": list(self.paths),
            "lists": self.lists(),
            "attributes": names,
            "unknown": UNKNOWN if thread is None else f"{UNKNOWN}-{thread}",
            "alone": thread is None,
            "ids": {},
            "tokens": list(TOKENS),
            "universe": [],
            "destroy": thread is None and self.rng.random() < 0.3,
            "ops": [],
        }
        self.attributes = self.sequence["attributes"]
        self.favourites = {attribute: self.schemas(attribute) for attribute in self.attributes}
        self.written = {attribute: [] for attribute in self.attributes}  # some values of each
        self.grow_universe(self.paths)

    def schemas(self, attribute):
        """The (is_array, dtype, lanes, semantic) that an attribute mostly has; the first one most of the time."""
        is_array = self.may("arrays") and self.chance(0.35)
        pool = [(False, *schema) for schema in SCHEMAS]
        arrays = [(True, *schema) for schema in ARRAY_SCHEMAS]
        kinds = self.rng.sample(arrays if is_array else pool, self.rng.randint(1, 3))
        if self.may("arrays") and self.chance(0.15):
            kinds.append(self.rng.choice(pool if is_array else arrays))
        main = kinds[0]
        if self.chance(0.5):
            kinds += [schema for schema in (arrays if is_array else pool) if schema[:3] == main[:3] and schema not in kinds]
        # Ids of one attribute stand for one kind of text, or are plain numbers.
        kind = "number"
        for semantic in (schema[3] for schema in kinds):
            if kind == "number" and semantic in (*model.PATH_SEMANTICS, *model.TOKEN_SEMANTICS):
                kind = "path" if semantic in model.PATH_SEMANTICS else "token"
        self.sequence["ids"][attribute] = kind
        return [schema for schema in kinds if schema[3] not in self.wrong_semantics(attribute)] or [(False, "int32", 1, 0)]

    def wrong_semantics(self, attribute):
        """The semantics of ids of another kind."""
        return {
            "number": (*model.PATH_SEMANTICS, *model.TOKEN_SEMANTICS),
            "path": model.TOKEN_SEMANTICS,
            "token": model.PATH_SEMANTICS,
        }[self.id_kind(attribute)]

    def n_known_ids(self, attribute):
        """How many texts there are behind ids of an attribute; None if its values are no ids."""
        return {"number": None, "path": len(self.sequence["universe"]), "token": len(TOKENS)}[self.id_kind(attribute)]

    def near_ids(self, attribute, values):
        """Now and then a path whose name merely begins like another."""
        if self.id_kind(attribute) != "path" or not values or not self.chance(0.3):
            return values
        universe = self.sequence["universe"]
        near = [i + 1 for i, path in enumerate(universe) if any(self.begins_like(path, other) for other in universe)]
        if near:
            values[self.rng.randrange(len(values))] = self.rng.choice(near)
        return values

    def begins_like(self, path, other):
        return path.startswith(other) and not model.below(path, other)

    def id_kind(self, attribute):
        return self.sequence["ids"].get(attribute, "token")

    def rooted(self, paths):
        """Paths below the root of this thread."""
        return [(self.root + path).rstrip("/") or "/" for path in paths]

    def may(self, part):
        return part not in self.skip

    def grow_universe(self, paths):
        """Lets paths be known, those above them too, parents first."""
        known = set(self.sequence["universe"])
        for path in paths:
            above = [path]
            while above[0] != "/":
                above.insert(0, model.parent(above[0]))
            self.sequence["universe"] += [path for path in above if path not in known]
            known.update(above)

    def chance(self, probability):
        return self.rng.random() < probability

    def lists(self):
        """Entries of the path pool, each list without repeats."""
        n = len(self.paths)
        whole = list(range(n))
        lists = [whole]
        for _ in range(self.rng.randint(1, 5)):
            kind = self.rng.choice(("subset", "subset", "permuted", "run", "one", "copy", "empty"))
            if kind == "subset":
                lists.append(self.rng.sample(whole, self.rng.randint(1, n)))
            elif kind == "permuted":
                lists.append(self.rng.sample(whole, n))
            elif kind == "run":
                first = self.rng.randrange(n)
                lists.append(whole[first : self.rng.randint(first + 1, n)])
            elif kind == "one":
                lists.append([self.rng.randrange(n)])
            elif kind == "copy":
                lists.append(list(self.rng.choice(lists)))
            else:
                lists.append([])
        return lists

    def generate(self):
        ops = self.sequence["ops"]
        if self.chance(0.7):  # most sequences start with something to read
            for attribute in self.attributes:
                ops.append({**self.write(attribute), "mode": model.UPSERT})
            ops.append(self.seal())
        makers = {
            self.write: 32,
            self.batch: 9,
            self.delete: self.rng.choice((0, 4, 12)),
            self.seal: 19,
            self.read: 29,
            self.floors: 3,
            self.held: 2,
            self.late: 2,
            self.release: 1,
            self.hurry: self.may("cancels") * self.rng.choice((0, 0, 4)),
            self.query: self.may("filters") * self.rng.choice((0, 6)),
            self.clone: self.may("clones") * self.rng.choice((0, 0, 3, 8) if "path" in self.sequence["ids"].values() else (0, 0, 4)),
        }
        maps = self.may("maps") * self.rng.choice((0, 1))
        makers.update({self.map: 6 * maps, self.map_commit_group: 4 * maps, self.map_commit: 3 * maps, self.map_end: 3 * maps})
        watches = self.may("watches") * self.rng.choice((0, 0, 1))
        makers.update({self.watch: 3 * watches, self.watch_take: 7 * watches, self.watch_cancel: 1 * watches})
        while len(ops) < self.n_ops:
            (maker,) = self.rng.choices(list(makers), makers.values())
            made = maker()
            ops += made if isinstance(made, list) else [made]
            if self.may("cancels") and ops[-1].get("wait") is False and self.chance(0.25):
                ops += self.cancels(ops[-1])
        del ops[self.n_ops :]
        chance = random.Random(self.sequence["seed"]).random()  # all else is by other chances
        if chance < 0.05 and self.may("clones") and self.may("arrays"):
            ops += self.near()
        elif 0.05 <= chance < 0.1 and self.may("maps"):
            ops += self.conflict()
        return self.sequence

    def conflict(self):
        """A map that inserts, whose commit comes too late: the prim is there meanwhile."""
        (path,) = paths = self.rooted(("/late",))
        self.grow_universe(paths)
        pool = self.sequence["paths"]
        pool += [path for path in paths if path not in pool]
        lists = self.sequence["lists"]
        lists.append([pool.index(path)])
        attribute = self.last_attribute("late", "number")
        ordinal = self.clock + 9
        self.n_maps += 1
        which = {"list": len(lists) - 1, "attribute": attribute, "ordinal": ordinal, "mode": model.UPSERT, "by_token": False}
        more = {"dtype": "float32", "lanes": 1, "semantic": model.NONE, "counts": None, "known": None, "fill": False, "first": 5}
        write = {"op": "write", **which, "semantic": model.NONE, "count": None, "index_map": None, "mask": None}
        write.update(mask_words=False, is_array=False, listed=False, texts=False, dtype="float32", lanes=1, take=False, wait=True)
        write["tensors"] = [{"shape": [1], "values": [7], "layout": "c"}]
        return [
            {"op": "map", "slot": self.n_maps - 1, **which, **more, "mode": model.INSERT},
            write,
            {"op": "map_commit", "slot": self.n_maps - 1, "wait": True},
        ]

    def last_attribute(self, name, kind):
        """One more attribute, that nothing before has used."""
        attribute = name if self.thread is None else f"{name}{self.thread}"
        self.sequence["attributes"].append(attribute)
        self.sequence["ids"][attribute] = kind
        return attribute

    def near(self):
        """A clone whose ids name, beside what it copies, a path that merely begins like it."""
        source, beside, below, copy = paths = self.rooted(("/near", "/nearby", "/near/below", "/far"))
        self.grow_universe([*paths, f"{copy}/below"])
        pool = self.sequence["paths"]
        pool += [path for path in paths if path not in pool]
        lists = self.sequence["lists"]
        lists += [[pool.index(source)], [pool.index(copy)]]
        attribute = self.last_attribute("near", "path")
        ordinal = self.clock + 9
        values = [self.sequence["universe"].index(path) + 1 for path in (beside, source, below)]
        write = {"op": "write", "list": len(lists) - 2, "attribute": attribute, "ordinal": ordinal, "mode": model.UPSERT}
        write.update(semantic=model.RELATIONSHIP_PATH_ID, count=None, index_map=None, mask=None, mask_words=False, is_array=True)
        write.update(listed=True, texts=False, dtype="uint64", lanes=1, take=False, wait=True, by_token=False)
        write["tensors"] = [{"shape": [len(values)], "values": values, "layout": "c"}]
        scope = model.ALL if self.thread is None else model.INCLUDE
        read = {"op": "read", "list": len(lists) - 1, "attributes": [attribute], "ordinal": ordinal, "start": None}
        return [
            write,
            {"op": "clone", "source": source, "targets": [copy], "ordinal": ordinal, "wait": True},
            {"op": "seal", "ordinal": ordinal, "scope": scope, "attributes": [attribute], "wait": True},
            {**read, "late": False, "hold": None, "by_token": False},
        ]

    def which_list(self):
        """A list, or a filter query as -1, -2, ..."""
        if self.n_slots > 0 and self.chance(0.3):
            return -1 - max(self.rng.randrange(self.n_slots), self.rng.randrange(self.n_slots))
        lists = self.sequence["lists"]
        return self.rng.choices(range(len(lists)), [4 if entries else 1 for entries in lists])[0]

    def n_prims(self, which):
        """How many prims a query has; of a filter query a guess."""
        return len(self.sequence["lists"][which]) if which >= 0 else self.rng.randint(1, len(self.paths))

    # Writes

    def batch(self):
        """Several writes as one: what they share is told once."""
        names = [self.rng.choice(self.attributes) for _ in range(self.rng.choices((0, 1, 2, 3, 4), (2, 8, 40, 35, 15))[0])]
        if self.chance(0.9):
            names = list(dict.fromkeys(names))
        which = self.which_list()
        entries = [self.write(name, which) for name in names]
        # One fault each would be too many.
        ordinal = next((entry["ordinal"] for entry in entries), self.write_ordinal())
        shared = ("op", "list", "ordinal", "mode", "wait")
        return {
            "op": "batch",
            "list": which,
            "ordinal": ordinal,
            "mode": self.rng.choices((model.UPSERT, model.INSERT, model.UPDATE), (74, 9, 17))[0],
            "wait": self.chance(0.85),
            "entries": [{name: entry[name] for name in entry if name not in shared} for entry in entries],
        }

    def write(self, attribute=None, which=None):
        rng = self.rng
        if which is None:
            which = self.which_list()
        n_prims = self.n_prims(which)
        attribute = attribute or rng.choice(self.attributes)
        is_array, dtype, lanes, semantic = self.favourites[attribute][0]
        mode = rng.choices((model.UPSERT, model.INSERT, model.UPDATE), (74, 9, 17))[0]
        if self.chance(0.2 if mode == model.UPSERT else 0.6):  # what is refused must leave nothing of its schema
            is_array, dtype, lanes, semantic = rng.choice(self.favourites[attribute])
        if self.chance(0.3) and self.id_kind(attribute) == "number":
            semantic = model.NONE
        op = {
            "op": "write",
            "list": which,
            "attribute": attribute,
            "ordinal": self.write_ordinal(),
            "mode": mode,
            "semantic": semantic,
            "count": None,
            "index_map": None,
            "mask": None,
            "mask_words": False,
            "is_array": is_array,
            "listed": is_array and self.chance(0.7) or self.chance(0.05),
            "dtype": dtype,
            "lanes": 1,
            "tensors": [],
            "texts": False,
            "take": self.chance(0.25),
            "wait": self.chance(0.85),
            "by_token": self.chance(0.5),
        }
        if n_prims > 0 and (self.chance(0.25) or which < 0 and self.chance(0.5)):
            op["count"] = rng.randint(1, n_prims)
        n = op["count"] or n_prims
        n_rows = n
        kind = rng.choices(("plain", "map", "mask"), (50, 25, 25))[0]
        if n > 0 and kind == "map":
            if op["count"] is None:
                n = rng.randint(1, n)
            n_rows = rng.randint(1, 2 * n)
            op["index_map"] = [rng.randrange(n_rows) for _ in range(n)]
            if is_array and not op["listed"]:
                n_rows = max(op["index_map"]) + 1
            if op["count"] is not None:
                op["index_map"] += [rng.randrange(n_rows) for _ in range(rng.randint(0, 2))]
        elif n > 0 and kind == "mask":
            density = rng.choice((0.0, 0.2, 0.5, 0.9, 1.0)) if self.chance(0.5) else 0.5
            op["mask"] = [int(self.chance(density)) for _ in range(n)]
            if self.chance(0.3):
                op["count"] = n
                op["mask_words"] = True
            if self.chance(0.2):
                op["mask"] += [rng.randint(0, 1) for _ in range(rng.randint(1, 70))]
        shapes = self.array_shapes(op, n_rows, lanes) if is_array else [self.shape(op, n_rows, lanes)]
        if self.chance(0.08):
            shapes = self.spoil(op, n, shapes)
        self.fill(op, shapes)
        return op

    def write_ordinal(self):
        rng = self.rng
        if self.chance(0.03):
            return rng.choice((0, model.NEWEST))
        if self.chance(0.08):
            return rng.randint(0, self.clock)
        return self.clock + rng.choices((1, 2, 3, 4, 9), (55, 22, 12, 8, 3))[0]

    def shape(self, op, n_rows, lanes):
        """The shape of fixed-size rows; where the data type has lanes, the last axis belongs to it."""
        if lanes == 1:
            if n_rows == 1 and self.chance(0.2):
                return []
            return [n_rows, 1] if self.chance(0.2) else [n_rows]
        if lanes == 16:
            if self.chance(0.1):
                op["lanes"] = self.rng.choice((4, 16))
            shapes = {1: ([n_rows, 16], [n_rows, 4, 4], [n_rows, 2, 2, 4]), 4: ([n_rows, 4, 4],), 16: ([n_rows, 16],)}
            return self.rng.choice(shapes[op["lanes"]])
        if self.chance(0.1):
            op["lanes"] = lanes
            return [n_rows, lanes]
        return [n_rows, 1, lanes] if self.chance(0.1) else [n_rows, lanes]

    def array_shapes(self, op, n_rows, lanes):
        """One shape for each row, or the shape of all rows in one."""
        rng = self.rng
        op["lanes"] = lanes
        tail = [lanes] if lanes > 1 else []
        if not op["listed"]:
            size = rng.choices((0, 1, 2, 3, 5), (1, 4, 4, 4, 2))[0]
            shape = rng.choice(([n_rows, size], [n_rows * size]))
            return [([] if n_rows * size == 1 and self.chance(0.5) else shape) + tail]
        shapes = []
        for _ in range(n_rows):
            kind = rng.choice(("flat", "flat", "flat", "scalar", "none", "wide"))
            shape = {"flat": [rng.randint(0, 5)], "scalar": [], "none": [0], "wide": [rng.randint(0, 2), 3]}[kind]
            shapes.append(shape + tail)
        return shapes

    def fill(self, op, shapes):
        """The sources: their elements in row-major order, and how they lie in memory."""
        if op["lanes"] > 1:
            op["take"] = False
        if op["dtype"] == "uint64":
            if op["semantic"] in self.wrong_semantics(op["attribute"]):
                op["semantic"] = model.NONE
        op["tensors"] = [self.tensor(op, shape) for shape in shapes]
        texts = op["is_array"] and op["listed"] and shapes and op["dtype"] == "uint8" and op["lanes"] == 1
        if texts and op["semantic"] == model.STRING and self.chance(0.4):
            op["texts"] = True
            op["take"] = False
            op["semantic"] = self.rng.choice((model.STRING, model.NONE))

    def tensor(self, op, shape):
        size = 1
        for extent in shape:
            size *= extent
        first = self.rng.randrange(251)
        values = [(first + 7 * i) % 251 for i in range(size)]
        known = self.n_known_ids(op["attribute"])
        if op["dtype"] == "uint64" and known is not None:
            values = id_values(values, known)
            values = self.near_ids(op["attribute"], values)
        if op["semantic"] == model.STRING:
            values = [97 + value % 5 for value in values]
        layout = self.rng.choice(LAYOUTS) if shape and op["lanes"] == 1 else "c"
        if len(shape) < 2 and layout in ("inner-gaps", "fortran"):
            layout = "gaps"
        if size > 0 and shape and op["lanes"] == 1 and self.chance(0.05):
            layout = "broadcast"
            values = values[: size // shape[0]] * shape[0]
        self.written.setdefault(op["attribute"], []).extend(values[:3])
        return {"shape": shape, "values": values, "layout": layout}

    def spoil(self, op, n, shapes):
        """One fault, or two, of those that a write is refused for."""
        faults = ["rows", "flat", "no-lanes", "count", "count-0", "tensors", "dtype", "lanes", "semantic", "ordinal"]
        if self.may("reserved"):
            faults += ["name", "name"]
        if self.may("arrays"):
            faults += ["array", "listed"]
        if n > 0:
            faults += ["both", "map-entry", "short-mask"]
        shape = shapes[0] if shapes else [0]
        plain = op["lanes"] == 1 and not op["is_array"]
        for fault in self.rng.sample(faults, 2 if self.chance(0.2) else 1):
            if fault == "rows" and len(shape) > (op["lanes"] > 1):
                if op["listed"] and op["is_array"]:
                    shapes = shapes[:-1] if self.chance(0.5) else [*shapes, shape]
                else:
                    shape = [max(0, shape[0] + self.rng.choice((-1, 1, 2)))] + shape[1:]
                    shapes = [shape]
            elif fault == "flat" and shape and plain:
                size = 1
                for extent in shape:
                    size *= extent
                shapes = [shape] = [[size]]
            elif fault == "no-lanes" and plain:
                shapes = [shape] = [[n, 0]]
            elif fault == "count":
                op["count"] = self.n_prims(op["list"]) + self.rng.randint(1, 3)
            elif fault == "count-0":
                op["count"] = 0
            elif fault == "tensors" and plain:
                op["listed"] = True
                shapes = [shape] * self.rng.choice((0, 2))
            elif fault == "array":
                op["is_array"] = not op["is_array"]
                op["listed"] = op["listed"] or len(shapes) != 1
            elif fault == "listed" and len(shapes) == 1:
                op["listed"] = not op["listed"]
            elif fault == "dtype":
                op["dtype"] = self.rng.choice(sorted(DTYPES))
            elif fault == "lanes" and shape and plain:
                shapes = [shape] = [shape + [2]]
            elif fault == "semantic":
                op["semantic"] = self.rng.randint(0, 15)
            elif fault == "ordinal":
                op["ordinal"] = self.rng.choice((0, self.clock, model.NEWEST))
            elif fault == "name":
                op["attribute"] = self.rng.choice((*model.RESERVED_NAMES, "usd-schemas", "usd-prim-type"))
                if op["attribute"] == "usd-prim-type" and plain and self.chance(0.7):
                    op["dtype"], shapes = "uint64", [one[:1] for one in shapes]
                    op["semantic"] = self.rng.choice((model.TOKEN_ID, model.TOKEN_ID, model.NONE))
                elif op["attribute"] == "usd-schemas" and op["is_array"] and op["lanes"] == 1:
                    op["dtype"] = "uint64"
                    op["semantic"] = self.rng.choice((model.TOKEN_ID, model.TOKEN_ID, model.NONE))
            elif fault == "both":
                op["index_map"] = op["index_map"] or [0] * n
                op["mask"] = (op["mask"] or []) + [1] * (n + 8)
            elif fault == "map-entry":
                op["index_map"] = op["index_map"] or list(range(n))
                at = self.rng.randrange(len(op["index_map"]))
                op["index_map"][at] += self.rng.choice((2 * n, 2 * n, 2**31, 2**32 - 1 - op["index_map"][at]))
            elif fault == "short-mask" and op["index_map"] is None:
                op["mask"] = [1] * (n - 1)
                op["mask_words"] = False
        if not self.may("arrays"):
            op["is_array"] = False
        return shapes

    # Deletes

    def delete(self):
        rng = self.rng
        names = []
        if self.chance(0.5):
            names = self.names(rng.choices((1, 2, 3), (70, 20, 10))[0])
        if self.may("reserved") and self.chance(0.02):
            names.append(rng.choice((*model.RESERVED_NAMES, "usd-schemas", "usd-prim-type")))
        return {
            "op": "delete",
            "list": self.which_list(),
            "attributes": names,
            "ordinal": self.write_ordinal(),
            "wait": self.chance(0.85),
            "by_token": self.chance(0.5),
        }

    # Clones

    def clone(self):
        rng = self.rng
        universe = [path for path in self.sequence["universe"] if model.below(path, self.root or "/")]
        source = rng.choice(universe) if self.chance(0.7) else rng.choice(self.paths)
        begun = [path for path in universe if any(self.begins_like(other, path) for other in universe)]
        if begun and self.chance(0.4):
            source = rng.choice(begun)  # there are others whose names begin so
        targets = rng.sample(self.rooted(CLONES), rng.choices((0, 1, 2, 3), (3, 60, 27, 10))[0])
        if self.chance(0.15):
            targets.append(rng.choice(universe))
        if self.chance(0.05):
            targets.append(rng.choice(NO_PATHS))
        if self.chance(0.02):
            source = rng.choice(("no-slash", f"{self.root}/nowhere"))
        made = []
        for target in targets:
            if model.valid_path(target):
                made.append(target)
                made += [self.under(path, source, target) for path in universe if model.below(path, source)]
        if len(set(made) | set(universe)) > MAX_UNIVERSE or model.NEWEST in made:
            return self.read()
        self.grow_universe(made)
        self.add_list(made)
        return {
            "op": "clone",
            "source": source,
            "targets": targets,
            "ordinal": self.write_ordinal(),
            "wait": self.chance(0.85),
        }

    def under(self, path, source, target):
        rest = path[len(source) :] if source != "/" else path.rstrip("/")
        return (target.rstrip("/") + rest) or "/"

    def add_list(self, paths):
        """A list of what a clone may have made, in any order, with some of the others."""
        pool = self.sequence["paths"]
        pool += [path for path in dict.fromkeys(paths) if path not in pool]
        entries = [pool.index(path) for path in dict.fromkeys(paths)]
        if self.chance(0.5):
            entries += [i for i in range(len(self.paths)) if i not in entries]
        self.rng.shuffle(entries)
        self.sequence["lists"].append(entries)

    # Maps

    def map(self):
        rng = self.rng
        which = self.which_list()
        n_prims = self.n_prims(which)
        attribute = rng.choice(self.attributes)
        is_array, dtype, lanes, semantic = rng.choice(self.favourites[attribute])
        if self.chance(0.7):
            is_array, dtype, lanes, semantic = self.favourites[attribute][0]
        if self.chance(0.03) and self.may("reserved"):
            attribute = rng.choice((*model.RESERVED_NAMES, "usd-schemas", "usd-prim-type"))
        if dtype == "uint64" and semantic in self.wrong_semantics(attribute) or self.chance(0.3):
            semantic = model.NONE
        counts = None
        if self.may("array-maps") and self.may("arrays") and (is_array or self.chance(0.03)):
            counts = [rng.randint(0, 4) for _ in range(max(0, n_prims + (self.chance(0.04) and rng.choice((-1, 1)))))]
        self.n_maps += 1
        fill = self.chance(0.4)
        return {
            "op": "map",
            "slot": self.n_maps - 1,
            "list": which,
            "attribute": attribute,
            "ordinal": self.write_ordinal(),
            "mode": rng.choices((model.UPSERT, model.INSERT, model.UPDATE), (74, 9, 17))[0],
            "dtype": None if self.chance(0.4) else dtype,
            "lanes": lanes,
            "semantic": semantic,
            "counts": counts,
            "known": self.n_known_ids(attribute),
            "fill": fill,
            "first": None if fill and self.chance(0.3) else rng.randrange(251),
            "by_token": self.chance(0.5),
        }

    def map_commit_group(self):
        return {"op": "map_commit_group", "slot": self.which_map(), "group": self.rng.randrange(4), "wait": self.chance(0.85)}

    def map_commit(self):
        return {"op": "map_commit", "slot": self.which_map(), "wait": self.chance(0.85)}

    def map_end(self):
        if self.chance(0.4):
            return {"op": "map_discard", "slot": self.which_map()}
        return {"op": "map_fill", "slot": self.which_map(), "first": self.rng.randrange(251)}

    def which_map(self):
        """Mostly one of the newest."""
        return max(0, self.n_maps - 1 - self.rng.choice((0, 0, 0, 1, 2)))

    # Watches

    def watch(self):
        names = self.names(self.rng.choices((0, 1, 2, 3), (2, 45, 38, 15))[0])
        if self.may("built-ins") and self.chance(0.08):
            names.append(self.rng.choice((*model.BUILT_INS[: 2 + self.may("children")], model.UNSUPPORTED)))
        self.n_watches += 1
        return {
            "op": "watch",
            "slot": self.n_watches - 1,
            "list": self.which_list(),
            "attributes": names,
            "callback": self.chance(0.5),
            "by_token": self.chance(0.5),
        }

    def watch_take(self):
        hold = self.rng.choices((None, "groups", "arrays"), (70, 20, 10))[0]
        return {"op": "watch_take", "slot": self.which_watch(), "hold": hold}

    def watch_cancel(self):
        return {"op": "watch_cancel", "slot": self.which_watch()}

    def which_watch(self):
        return self.rng.randrange(max(1, self.n_watches))

    # Queries

    def query(self):
        rng = self.rng
        self.n_slots += 1
        names = []
        if self.chance(0.5):
            names = list(dict.fromkeys(self.names(rng.randint(1, 3))))
        tree = self.filter(rng.choices((0, 1, 2), (50, 35, 15))[0])
        if self.thread is not None:
            tree = ["all", [[model.SUBTREE, None, [self.root]], tree]]
        return {
            "op": "query",
            "slot": self.n_slots - 1,
            "filter": tree,
            "attributes": names,
            "wait": self.chance(0.6),
            "by_token": self.chance(0.5),
        }

    def filter(self, depth):
        rng = self.rng
        if depth > 0 and self.chance(0.8):
            kind = rng.choice(("all", "any", "not"))
            if kind == "not":
                return ["not", self.filter(depth - 1)]
            return [kind, [self.filter(depth - 1) for _ in range(rng.randint(1, 3))]]
        return self.predicate()

    def predicate(self):
        rng = self.rng
        if self.chance(0.15):
            return [model.SUBTREE, None, [rng.choice(NO_PATHS if self.chance(0.04) else self.sequence["universe"])]]
        attribute = self.names(1)[0]
        # What an operator makes of these depends on the prims of other threads, too.
        if self.thread is None and self.may("built-ins") and self.chance(0.12):
            attribute = rng.choice(("usd-path", "usd-parent", "usd-children", "usd-prim-type", "usd-schemas"))
            if self.chance(0.05):
                attribute = model.UNSUPPORTED
        # What is wrong with others goes by all prims of the stage, those of other threads too.
        if self.chance(0.25) or attribute in model.BUILT_INS and self.thread is not None:
            return [model.HAS, attribute, []]
        return self.predicate_on(attribute)

    def predicate_on(self, attribute):
        """A predicate about its values."""
        rng = self.rng
        is_array, dtype, lanes, semantic = rng.choice(self.favourites.get(attribute) or [self.built_in_schema(attribute)])
        texts = semantic in (model.STRING, *model.TOKEN_SEMANTICS, *model.PATH_SEMANTICS)
        operators = (model.CONTAINS,)
        if not is_array or semantic == model.STRING:
            operators = (model.IN, model.LT, model.LE, model.GT, model.GE)
            if texts:
                operators += (model.PREFIX, model.PREFIX, model.CONTAINS)
        operator = rng.choice(operators)
        if self.chance(0.04):
            operator = rng.randint(1, 7)
        if self.chance(0.04):
            texts = not texts
        n_values = rng.randint(1, 3) if operator == model.IN else 1
        values = [self.filter_value(attribute, texts, semantic, operator) for _ in range(n_values)]
        if not texts and self.id_kind(attribute) != "number":
            values = [rng.choice((-1, 2**62)) for _ in values]  # numbers of ids differ from run to run
        return [operator, attribute, values]

    def built_in_schema(self, attribute):
        return {
            "usd-path": (False, "uint64", 1, model.RELATIONSHIP_PATH_ID),
            "usd-parent": (False, "uint64", 1, model.RELATIONSHIP_PATH_ID),
            "usd-children": (True, "uint64", 1, model.RELATIONSHIP_PATH_ID),
            "usd-schemas": (True, "uint64", 1, model.TOKEN_ID),
        }.get(attribute, (False, "uint64", 1, model.TOKEN_ID))

    def filter_value(self, attribute, texts, semantic, operator):
        rng = self.rng
        if not texts:
            value = rng.randrange(-2, 253)
            if self.written.get(attribute) and self.chance(0.8):
                value = rng.choice(self.written[attribute])
            return value + rng.choice((0.5, 0.0)) if self.chance(0.3) else value
        if semantic == model.STRING:
            text = "".join(rng.choice("abcde") for _ in range(rng.randint(0, 2)))
        elif semantic in model.PATH_SEMANTICS:
            text = rng.choice(self.sequence["universe"])
        else:
            text = rng.choice(TOKENS)
        if operator in (model.PREFIX, model.CONTAINS) and self.chance(0.5):
            text = text[: rng.randint(0, len(text))]
        return text

    # The others

    def names(self, n):
        return [self.sequence["unknown"] if self.chance(0.08) else self.rng.choice(self.attributes) for _ in range(n)]

    def seal(self):
        rng = self.rng
        scope = rng.choices((model.ALL, model.INCLUDE, model.EXCLUDE), (62, 23, 15))[0]
        ordinal = max(0, self.clock + rng.choices((-2, 0, 1, 2, 3, 4), (4, 6, 45, 25, 12, 8))[0])
        if self.chance(0.01):
            ordinal = model.NEWEST
        elif scope == model.ALL or self.chance(0.5):
            self.clock = max(self.clock, ordinal)
        names = self.names(rng.choices((0, 1, 2, 3), (10, 55, 25, 10))[0])
        if self.thread is not None:
            scope = model.INCLUDE
            if self.chance(0.5):
                names = [*self.attributes, self.sequence["unknown"]]
        elif scope == model.ALL and self.chance(0.8):
            names = []
        return {"op": "seal", "ordinal": ordinal, "scope": scope, "attributes": names, "wait": self.chance(0.85)}

    def read(self):
        rng = self.rng
        if self.chance(0.3):
            ordinal = model.NEWEST
        elif self.chance(0.03):
            ordinal = rng.choice((0, 2**63, model.NEWEST - 1))
        else:
            steps = rng.choices((-9, -4, -3, -2, -1, 0, 1, 2), (4, 8, 12, 16, 20, 35, 10, 4))[0]
            ordinal = max(min(1, self.clock), self.clock + steps)
        start = None
        if self.may("ranges") and self.chance(0.35):
            start = rng.choice((0, self.clock, max(0, min(ordinal, self.clock) - rng.randint(0, 6)))) + rng.choice((0, 0, 1))
        names = self.names(rng.choices((0, 1, 2, 3, 4), (2, 38, 35, 18, 7))[0])
        if self.may("built-ins") and self.chance(0.08):
            names.insert(rng.randint(0, len(names)), rng.choice(model.BUILT_INS[: 2 + self.may("children")]))
            if self.chance(0.1):
                names.append(model.UNSUPPORTED)
        return {
            "op": "read",
            "list": self.which_list(),
            "attributes": names,
            "ordinal": ordinal,
            "start": start,
            "late": self.chance(0.1),
            "hold": rng.choices((None, "groups", "arrays"), (70, 20, 10))[0],
            "by_token": self.chance(0.5),
        }

    def floors(self):
        return {"op": "floors"}

    def held(self):
        return {"op": "held"}

    def late(self):
        return {"op": "late"}

    def release(self):
        return {"op": "release"}

    def hurry(self):
        """Something that may have to wait for what comes right before it, and is withdrawn."""
        ops = [self.write() for _ in range(self.rng.randint(1, 2))]
        ops.append(self.query() if self.may("filters") and self.chance(0.7) else self.seal())
        for op in ops:
            op["wait"] = False
        if ops[-1]["op"] == "query":  # looks at values that are on their way
            ops[-1]["filter"] = ["any", [ops[-1]["filter"], self.predicate_on(ops[-2]["attribute"])]]
            if self.thread is not None:
                ops[-1]["filter"] = ["all", [[model.SUBTREE, None, [self.root]], ops[-1]["filter"]]]
        return ops + self.cancels(ops[-1])

    def cancels(self, op):
        """Withdraws something that was not waited for; of queries often one that is used already."""
        back = self.rng.choices((0, 1, 2, 3), (60, 20, 12, 8))[0]
        users = []
        if op["op"] == "query" and self.chance(0.7):
            users = [{**self.write(None, -1 - op["slot"]), "wait": False} for _ in range(self.rng.randint(1, 2))]
            back = self.rng.randint(0, len(users))
        return [*users, {"op": "cancel", "back": back, "withdrawn": False}]


def generate(seed, depths=(1, 4), skip=(), thread=None):
    return Generator(seed, depths, skip, thread).generate()
