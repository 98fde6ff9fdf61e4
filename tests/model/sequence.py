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
)
UNKNOWN = "never-written"

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


def pack(dtype, values):
    """The bytes of elements that are given as small whole numbers."""
    if dtype == "bool":
        values = [value & 1 for value in values]
    if dtype == "complex64":
        values = [part for value in values for part in (value, -value)]
    return struct.pack(f"={len(values)}{STRUCT_FORMATS[dtype]}", *values)


class Generator:
    def __init__(self, seed, depths, skip):
        self.rng = random.Random(seed)
        self.skip = skip
        self.clock = 0
        big = self.rng.random() < 0.02
        if big:
            self.paths = BIG_PATHS[: self.rng.randint(65, len(BIG_PATHS))]
        else:
            self.paths = self.rng.sample(PATHS, self.rng.randint(1, len(PATHS)))
        self.n_ops = self.rng.randint(10, 20) if big else self.rng.randint(10, 60)
        self.attributes = ["a", "b", "c"][: self.rng.randint(2, 3)]
        self.favourites = {}
        for attribute in self.attributes:
            kinds = self.rng.sample(SCHEMAS, self.rng.randint(1, 3))
            main = kinds[0]
            if self.rng.random() < 0.5:
                kinds += [schema for schema in SCHEMAS if schema[:2] == main[:2] and schema not in kinds]
            self.favourites[attribute] = kinds
        self.sequence = {
            "seed": seed,
            "depth": self.rng.choice(depths),
            "paths": list(self.paths),
            "lists": self.lists(),
            "attributes": self.attributes,
            "destroy": self.rng.random() < 0.3,
            "ops": [],
        }

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
        makers = (self.write, self.batch, self.delete, self.seal, self.read, self.floors, self.held, self.late, self.release)
        weights = (32, 9, self.rng.choice((0, 4, 12)), 19, 29, 3, 2, 2, 1)
        while len(ops) < self.n_ops:
            (maker,) = self.rng.choices(makers, weights)
            ops.append(maker())
        return self.sequence

    def which_list(self):
        lists = self.sequence["lists"]
        return self.rng.choices(range(len(lists)), [4 if entries else 1 for entries in lists])[0]

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
        n_prims = len(self.sequence["lists"][which])
        attribute = attribute or rng.choice(self.attributes)
        dtype, lanes, semantic = self.favourites[attribute][0]
        if self.chance(0.2):
            dtype, lanes, semantic = rng.choice(self.favourites[attribute])
        if self.chance(0.3):
            semantic = model.NONE
        op = {
            "op": "write",
            "list": which,
            "attribute": attribute,
            "ordinal": self.write_ordinal(),
            "mode": rng.choices((model.UPSERT, model.INSERT, model.UPDATE), (74, 9, 17))[0],
            "semantic": semantic,
            "count": None,
            "index_map": None,
            "mask": None,
            "mask_words": False,
            "n_tensors": 1,
            "take": self.chance(0.25),
            "wait": self.chance(0.85),
            "by_token": self.chance(0.5),
        }
        if n_prims > 0 and self.chance(0.25):
            op["count"] = rng.randint(1, n_prims)
        n = op["count"] or n_prims
        n_rows = n
        kind = rng.choices(("plain", "map", "mask"), (50, 25, 25))[0]
        if n > 0 and kind == "map":
            if op["count"] is None:
                n = rng.randint(1, n)
            n_rows = rng.randint(1, 2 * n)
            op["index_map"] = [rng.randrange(n_rows) for _ in range(n)]
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
        shape = self.shape(n_rows, lanes)
        if self.chance(0.08):
            dtype, shape = self.spoil(op, n, dtype, shape)
        self.fill(op, dtype, shape)
        return op

    def write_ordinal(self):
        rng = self.rng
        if self.chance(0.03):
            return rng.choice((0, model.NEWEST))
        if self.chance(0.08):
            return rng.randint(0, self.clock)
        return self.clock + rng.choices((1, 2, 3, 4, 9), (55, 22, 12, 8, 3))[0]

    def shape(self, n_rows, lanes):
        if lanes == 1:
            if n_rows == 1 and self.chance(0.2):
                return []
            return [n_rows, 1] if self.chance(0.2) else [n_rows]
        if lanes == 16:
            return self.rng.choice(([n_rows, 16], [n_rows, 4, 4], [n_rows, 2, 2, 4]))
        return [n_rows, 1, lanes] if self.chance(0.1) else [n_rows, lanes]

    def fill(self, op, dtype, shape):
        """The source: its elements in row-major order, and how they lie in memory."""
        size = 1
        for extent in shape:
            size *= extent
        first = self.rng.randrange(251)
        values = [(first + 7 * i) % 251 for i in range(size)]
        layout = self.rng.choice(LAYOUTS) if shape else "c"
        if len(shape) < 2 and layout in ("inner-gaps", "fortran"):
            layout = "gaps"
        if size > 0 and shape and self.chance(0.05):
            layout = "broadcast"
            values = values[: size // shape[0]] * shape[0]
        op.update({"dtype": dtype, "shape": shape, "values": values, "layout": layout})

    def spoil(self, op, n, dtype, shape):
        """One fault, or two, of those that a write is refused for."""
        faults = ["rows", "flat", "no-lanes", "count", "count-0", "tensors", "dtype", "lanes", "semantic", "ordinal"]
        if "reserved" not in self.skip:
            faults += ["name", "name"]
        if n > 0:
            faults += ["both", "map-entry", "short-mask"]
        for fault in self.rng.sample(faults, 2 if self.chance(0.2) else 1):
            if fault == "rows" and shape:
                shape = [max(0, shape[0] + self.rng.choice((-1, 1, 2)))] + shape[1:]
            elif fault == "flat" and shape:
                size = 1
                for extent in shape:
                    size *= extent
                shape = [size]
            elif fault == "no-lanes":
                shape = [n, 0]
            elif fault == "count":
                op["count"] = len(self.sequence["lists"][op["list"]]) + self.rng.randint(1, 3)
            elif fault == "count-0":
                op["count"] = 0
            elif fault == "tensors":
                op["n_tensors"] = self.rng.choice((0, 2))
            elif fault == "dtype":
                dtype = self.rng.choice(sorted(DTYPES))
            elif fault == "lanes" and shape:
                shape = shape + [2]
            elif fault == "semantic":
                op["semantic"] = self.rng.randint(0, 15)
            elif fault == "ordinal":
                op["ordinal"] = self.rng.choice((0, self.clock, model.NEWEST))
            elif fault == "name":
                op["attribute"] = self.rng.choice((*model.RESERVED_NAMES, "usd-schemas", "usd-prim-type"))
                if op["attribute"] == "usd-prim-type" and self.chance(0.7):
                    dtype, shape = "uint64", shape[:1]
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
        return dtype, shape

    # Deletes

    def delete(self):
        rng = self.rng
        names = []
        if self.chance(0.5):
            names = self.names(rng.choices((1, 2, 3), (70, 20, 10))[0])
        if "reserved" not in self.skip and self.chance(0.02):
            names.append(rng.choice((*model.RESERVED_NAMES, "usd-schemas", "usd-prim-type")))
        return {
            "op": "delete",
            "list": self.which_list(),
            "attributes": names,
            "ordinal": self.write_ordinal(),
            "wait": self.chance(0.85),
            "by_token": self.chance(0.5),
        }

    # The others

    def names(self, n):
        return [UNKNOWN if self.chance(0.08) else self.rng.choice(self.attributes) for _ in range(n)]

    def seal(self):
        rng = self.rng
        scope = rng.choices((model.ALL, model.INCLUDE, model.EXCLUDE), (62, 23, 15))[0]
        ordinal = max(0, self.clock + rng.choices((-2, 0, 1, 2, 3, 4), (4, 6, 45, 25, 12, 8))[0])
        if self.chance(0.01):
            ordinal = model.NEWEST
        elif scope == model.ALL or self.chance(0.5):
            self.clock = max(self.clock, ordinal)
        names = self.names(rng.choices((0, 1, 2, 3), (10, 55, 25, 10))[0])
        if scope == model.ALL and self.chance(0.8):
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
        return {
            "op": "read",
            "list": self.which_list(),
            "attributes": self.names(rng.choices((0, 1, 2, 3, 4), (2, 38, 35, 18, 7))[0]),
            "ordinal": ordinal,
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


def generate(seed, depths=(1, 4), skip=()):
    return Generator(seed, depths, skip).generate()
