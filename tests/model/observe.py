# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors

"""What the driver does with the Python package, in small functions.

The text of this file is put into the programs that reproduce a mismatch, so
that those stand alone: it must not import anything else of the tests.
"""

import time

import numpy as np

import ovstage


def array(dtype, shape, values, layout):
    """An array with the given elements in row-major order, laid out in memory in one of several ways."""
    if dtype == "complex64":
        values = [complex(value, -value) for value in values]
    if dtype == "bool":
        values = [value & 1 for value in values]
    plain = np.array(values, dtype).reshape(shape)
    if layout == "reversed":
        return np.ascontiguousarray(plain[::-1])[::-1]
    if layout == "gaps":
        return spaced(plain, 0)
    if layout == "inner-gaps":
        return spaced(plain, plain.ndim - 1)
    if layout == "fortran":
        return np.asfortranarray(plain)
    if layout == "broadcast":
        return np.broadcast_to(plain[:1], shape)
    if layout == "offset":
        moved = np.frombuffer(bytearray(plain.nbytes + 1), dtype, offset=1).reshape(shape)
        moved[...] = plain
        return moved
    return plain


def spaced(plain, axis):
    shape = list(plain.shape)
    shape[axis] *= 2
    wide = np.full(shape, 1, plain.dtype)
    where = [slice(None)] * plain.ndim
    where[axis] = slice(None, None, 2)
    wide[tuple(where)] = plain
    return wide[tuple(where)]


def mask_words(bits):
    words = [0] * ((len(bits) + 63) // 64)
    for i, bit in enumerate(bits):
        words[i // 64] |= bit << (i % 64)
    return np.array(words, np.uint64)


def submit(call):
    """The operation that a call gives, or the name of the exception that it raises."""
    try:
        return call()
    except (ValueError, TypeError, BufferError) as error:
        return type(error).__name__


def outcome(operation):
    """0, the code of the error that waiting tells, or the name that submit() gave."""
    if isinstance(operation, str):
        return operation
    try:
        operation.wait()
    except ovstage.OvstageError as error:
        assert not operation.ok, "ok of an operation that failed"
        assert int(operation.status) == int(error.code), f"status {operation.status}, error {error.code}"
        return int(error.code)
    assert operation.ok and int(operation.status) == 0, f"ok {operation.ok}, status {operation.status}"
    assert operation.op_id != 0, "id 0 of an operation that went well"
    return 0


def withdraw(operation):
    """Whether it was withdrawn: then it has ended, and stays so."""
    if isinstance(operation, str):
        return False
    withdrawn = operation.cancel()
    if withdrawn:
        assert int(operation.status) == 12, f"status {operation.status} of what was withdrawn"
        assert not operation.cancel(), "withdrawn twice"
    return withdrawn


def write(call, sources):
    """Submits a write, waits for it, then spoils its sources, which are the caller's again."""
    got = outcome(submit(call))
    for source in sources:
        if source.flags.writeable:
            source[...] = 1
    return got


def rows(group):
    """The bytes of the prims of a group, by entry of its list; the group's parts must agree with one another."""
    n = group.prim_count
    prims = [group.prim_index(i) for i in range(n)]
    assert list(group.prim_indices) == prims, f"prim_indices {group.prim_indices}, prim_index() {prims}"
    if not group.has_prim_index_map:
        assert prims == [group.prim_offset + i for i in range(n)], f"no index map, prims {prims}"
    if group.is_delete:
        assert group.tensor_count == 0, f"{group.tensor_count} tensors of what was deleted"
        return [(prim, None) for prim in prims]
    data = [group.data_row_index(i) for i in range(n)]
    assert list(group.data_rows) == data, f"data_rows {group.data_rows}, data_row_index() {data}"
    if not group.has_data_index_map:
        assert data == list(range(n)), f"no data map, rows {data}"
        assert group.data_count == n, f"no data map, {group.data_count} rows for {n} prims"
    assert not data or max(data) < group.data_count, f"rows {data} of {group.data_count}"
    lanes = int(group.data_type.lanes)
    if group.is_array:
        assert group.tensor_count == group.data_count, f"{group.tensor_count} tensors, {group.data_count} rows"
        held = [array_row(group, row, lanes) for row in data]
        check_packed(group)
        return list(zip(prims, held))
    assert group.tensor_count == 1, f"{group.tensor_count} tensors"
    values = group.array(0)
    assert values.ndim == 1 and not values.flags.writeable
    assert values.size == group.data_count * lanes, f"{values.size} elements, {group.data_count} rows of {lanes}"
    size = lanes * values.itemsize
    held = values.tobytes()
    return [(prim, held[row * size : (row + 1) * size]) for prim, row in zip(prims, data)]


def array_row(group, row, lanes):
    values = group.array(row)
    assert values.ndim == 1 and not values.flags.writeable
    assert values.size % lanes == 0, f"{values.size} elements of {lanes} lanes"
    held = values.tobytes()
    if tuple(map(int, group.data_type)) == (1, 8, 1):
        check_text(group, row, held)
    return held


def check_packed(group):
    """All rows as one: values and where each begins."""
    values = ovstage.dltensor_to_numpy(group.values)
    offsets = [int(offset) for offset in group.offsets]
    assert not values.flags.writeable and values.ndim == 1
    assert len(offsets) == group.data_count + 1 and offsets[0] == 0, f"offsets {offsets} of {group.data_count} rows"
    size = int(group.data_type.lanes) * values.itemsize
    packed = values.tobytes()
    rows = [packed[a * size : b * size] for a, b in zip(offsets, offsets[1:])]
    assert rows == [group.array(i).tobytes() for i in range(len(rows))], f"values and offsets give {rows}"
    assert offsets[-1] * size == len(packed), f"offsets {offsets}, {len(packed)} bytes"


def check_text(group, row, held):
    try:
        want = None if b"\0" in held else held.decode()
    except UnicodeDecodeError:
        want = None
    try:
        got = group.text(row)
    except ovstage.OvstageError as error:
        assert int(error.code) == 1, f"error {error.code} of text()"
        got = None
    assert got == want, f"text {got!r} of {held!r}"


def describe(paths, group, attribute, ids):
    """A group as plain data: attribute, dtype, semantic, ordinal and what each prim has."""
    names = paths.get_path_strings(group.prim_list)
    if group.is_delete:
        deleted = [names[prim] for prim, _ in rows(group)]
        return {"attribute": attribute, "deleted": deleted, "ordinal": group.ordinal}
    dtype = tuple(int(part) for part in group.data_type)
    held = [(names[prim], told(value, dtype, attribute, ids)) for prim, value in rows(group)]
    return {
        "attribute": attribute,
        "dtype": dtype,
        "semantic": int(group.semantic),
        "is_array": group.is_array,
        "ordinal": group.ordinal,
        "rows": held,
    }


def told(value, dtype, attribute, ids):
    if dtype[:2] != (1, 64):
        return value.hex()
    numbers = ids.told(np.frombuffer(value, np.uint64))
    return sorted(numbers) if attribute == "usd-children" else numbers


class Ids:
    """Numbers for ids, so that they are the same in each run: 1, 2, ... stand for the known texts, 0 for 0."""

    FAR = 2**40  # larger numbers stand for ids that nobody made

    def __init__(self, intern, texts):
        self.numbers = [0] + [intern(text) for text in texts]
        self.back = {number: i for i, number in enumerate(self.numbers)}

    def given(self, values):
        return [self.numbers[v] if v < len(self.numbers) else v + self.FAR for v in values]

    def told(self, numbers):
        return [self.back[n] if n in self.back else n - self.FAR for n in map(int, numbers)]


class Numbers:
    """The same for what are not ids."""

    def given(self, values):
        return values

    def told(self, numbers):
        return [int(n) for n in numbers]


def folded(source, lanes):
    """An array whose last axis of @lanes elements belongs to the data type."""
    if source.shape == (lanes,):
        return ovstage.make_dltensor(source, data_type(source, lanes), shape=[1], ndim=1, strides=[1])
    return ovstage.make_dltensor(source, data_type(source, lanes))


def data_type(source, lanes):
    codes = {"f": 2, "i": 0, "u": 1, "b": 6, "c": 5}
    return ovstage.DLDataType(codes[source.dtype.kind], source.dtype.itemsize * 8, lanes)


def span(start, end):
    """The ordinals of a read: of a snapshot without @start, else of a range."""
    kind = ovstage.OrdinalRange
    if start is not None:
        return kind.between(start, end)
    return kind.newest() if end == 2**64 - 1 else kind.latest(end)


def tree(parts):
    """The filter that plain data tells."""
    if parts[0] in ("all", "any"):
        trees = [tree(part) for part in parts[1]]
        whole = trees[0]
        for one in trees[1:]:
            whole = whole & one if parts[0] == "all" else whole | one
        return whole
    if parts[0] == "not":
        return ~tree(parts[1])
    operator, attribute, values = parts
    kind = ovstage.Filter
    if attribute is None:
        return kind.subtree(values[0])
    if operator == 0:
        return kind.has(attribute)
    if operator == 1:
        return kind.in_(attribute, values)
    if operator == 2:
        return kind.contains(attribute, values[0])
    if operator == 3:
        return kind.prefix(attribute, values[0])
    return kind.compare(attribute, ovstage.FilterOp(operator), values[0])


def matched(paths, query):
    """The prims that a filter matched, by path, and the tokens of the attributes found on them."""
    prims = paths.get_path_strings(query.path_list)
    assert query.prim_count == len(prims), f"prim_count {query.prim_count} of {len(prims)} prims"
    return prims, list(query.attributes)


def fetch(read):
    """The groups of a read and its as_of, or the code of its error."""
    groups = []
    try:
        while (group := read.fetch_next()) is not None:
            groups.append(group)
    except ovstage.OvstageError as error:
        assert not groups, "an error after groups"
        return int(error.code), None, []
    return 0, read.as_of, groups


def generation(group):
    """layout_generation where the package tells it, else None."""
    return getattr(group, "layout_generation", getattr(getattr(group, "meta", None), "layout_generation", None))


def map_options(dtype, told):
    """The options of a map, from plain data."""
    more = {"initialize": told["fill"]}
    if dtype is not None:
        more["dtype"] = ovstage.DLDataType(*dtype)
    if told["semantic"] != 0:
        more["semantic"] = ovstage.AttributeSemantic(told["semantic"])
    if told["mode"] != 0:
        more["prim_mode"] = ovstage.PrimMode(told["mode"])
    if told["counts"] is not None:
        more["element_sizes"] = told["counts"]
    return more


def map_groups(handle):
    groups = []
    while (group := handle.fetch_next()) is not None:
        groups.append(group)
    return groups


def map_prims(paths, group):
    names = paths.get_path_strings(group.prim_list)
    return [names[group.prim_index(i)] for i in range(group.prim_count)]


def map_rows(group):
    """The array of each prim, all writable, or none if the group was committed."""
    n = group.prim_count
    arrays = [group.array(i) for i in range(group.tensor_count)]
    assert len({values.flags.writeable for values in arrays}) <= 1, "some arrays of a map group are writable"
    if len(arrays) == n and group.is_array:
        return arrays
    assert len(arrays) == 1, f"{len(arrays)} tensors of a map group"
    return np.split(arrays[0], n)


def mapped(group, ids):
    """What a map was filled with, row by row."""
    return [told(values.tobytes(), tuple(map(int, group.data_type))[:2], None, ids) for values in map_rows(group)]


def id_values(values, known):
    values = [value % (known + 4) for value in values]
    return [value if value <= known else 240 + value - known for value in values]


def fill(group, first, ids, known):
    """Writes values into a group of a map, unless it was committed."""
    for row, values in enumerate(map_rows(group)):
        numbers = [(first + 31 * row + 7 * i) % 251 for i in range(values.size)]
        if values.dtype == np.uint64:
            numbers = ids.given(numbers if known is None else id_values(numbers, known))
        if values.flags.writeable:
            values[...] = array(str(values.dtype), values.shape, numbers, "c")


def named(attributes, tokens):
    """The names of tokens, in order."""
    return sorted(tokens.get(attribute, str(attribute)) for attribute in attributes)


def new_context():
    """A main context, or what the package has for one."""
    if hasattr(ovstage, "MainContext"):
        return ovstage.MainContext()
    from gi.repository import GLib

    return GLib.MainContext.new()


SECONDS = 0 if hasattr(ovstage, "MainContext") else 5  # that a watch may take; the model is never busy


class Follower:
    """A watch with a main context of its own, so that it tells when that is iterated; with a callback or asked."""

    def __init__(self, stage, query, attributes, with_callback):
        self.with_callback = with_callback
        self.told = []
        self.task = None
        self.context = new_context()
        self.context.push_thread_default()
        try:
            self.watch = stage.watch(query, attributes, self.changed if with_callback else None)
        finally:
            self.context.pop_thread_default()

    def changed(self, watch, groups):
        assert watch is self.watch, "a callback of another watch"
        self.told.append(groups)

    async def ask(self):
        try:
            groups = await self.watch.__anext__()
        except StopAsyncIteration:
            groups = None
        self.told.append(groups)

    def iterate(self):
        for _ in range(1000):  # what never has told enough would keep this up for ever
            if not self.context.iteration(False):
                break
        if self.task is not None and self.task.done():
            self.task.result()
            self.task = None

    def take(self, expects, cursor):
        """What each call told, and the cursor then. As threads may be busy with it, what is expected is waited for."""
        deadline = time.monotonic() + SECONDS
        self.context.push_thread_default()
        try:
            if not self.with_callback and self.task is None:
                self.task = ovstage.glib.spawn(self.ask())
            self.iterate()
            while (not self.told and expects or self.watch.cursor < cursor) and time.monotonic() < deadline:
                time.sleep(1e-4)
                self.iterate()
        finally:
            self.context.pop_thread_default()
        told, self.told = self.told, []
        return told, self.watch.cursor

    def cancel(self):
        """Nothing is told any more; a wait ends."""
        self.watch.cancel()
        self.context.push_thread_default()
        try:
            deadline = time.monotonic() + SECONDS
            self.iterate()
            while self.task is not None and time.monotonic() < deadline:
                time.sleep(1e-4)
                self.iterate()
        finally:
            self.context.pop_thread_default()
        assert self.told in ([], [None]) and self.task is None, f"a cancelled watch told {self.told}"
        self.told = []


def follow(stage, query, attributes, with_callback):
    """A watch, or the code of why there is none."""
    try:
        return 0, Follower(stage, query, attributes, with_callback)
    except ovstage.OvstageError as error:
        return int(error.code), None


class Generations:
    """Compares layout_generation: of one attribute it must rise exactly where the model's number of changes does.

    A fold of several ordinals may end where it began, having moved prims to another schema and back in between:
    there it is free to rise or not.
    """

    def __init__(self):
        self.seen = {}

    def fault(self, attribute, got, changes, placement):
        """Why @got does not fit, or None. @placement stands for which prim has which schema."""
        if got is None or changes is None:
            return None
        for other, other_changes, other_placement in self.seen.setdefault(attribute, []):
            rises = (got > other) - (got < other)
            wanted = (changes > other_changes) - (changes < other_changes)
            if rises != wanted and not (rises == 0 and placement == other_placement):
                return (
                    f"layout_generation {got} of {attribute} after {changes} layout changes, "
                    f"it was {other} after {other_changes}"
                )
        self.seen[attribute].append((got, changes, placement))
        return None
