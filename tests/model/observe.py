# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors

"""What the driver does with the Python package, in small functions.

The text of this file is put into the programs that reproduce a mismatch, so
that those stand alone: it must not import anything else of the tests.
"""

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
    data = [group.data_row_index(i) for i in range(n)]
    assert list(group.prim_indices) == prims, f"prim_indices {group.prim_indices}, prim_index() {prims}"
    assert list(group.data_rows) == data, f"data_rows {group.data_rows}, data_row_index() {data}"
    if not group.has_prim_index_map:
        assert prims == [group.prim_offset + i for i in range(n)], f"no index map, prims {prims}"
    if not group.has_data_index_map:
        assert data == list(range(n)), f"no data map, rows {data}"
        assert group.data_count == n, f"no data map, {group.data_count} rows for {n} prims"
    assert group.tensor_count == 1, f"{group.tensor_count} tensors"
    values = group.array(0)
    assert values.ndim == 1 and not values.flags.writeable
    lanes = int(group.data_type.lanes)
    assert values.size == group.data_count * lanes, f"{values.size} elements, {group.data_count} rows of {lanes}"
    assert not data or max(data) < group.data_count, f"rows {data} of {group.data_count}"
    size = lanes * values.itemsize
    held = values.tobytes()
    return [(prim, held[row * size : (row + 1) * size].hex()) for prim, row in zip(prims, data)]


def describe(paths, group, tokens):
    """A group as plain data: attribute, dtype, semantic, ordinal and what each prim has."""
    assert not group.is_delete and not group.is_array
    names = paths.get_path_strings(group.prim_list)
    dtype = group.data_type
    return {
        "attribute": tokens.get(group.attribute, group.attribute),
        "dtype": (int(dtype.code), int(dtype.bits), int(dtype.lanes)),
        "semantic": int(group.semantic),
        "ordinal": group.ordinal,
        "rows": [(names[prim], value) for prim, value in rows(group)],
    }


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


class Generations:
    """Compares layout_generation: of one attribute it must rise exactly where the model's number of changes does.

    A fold of several ordinals may end where it began, having moved prims to another schema and back in between:
    there it is free to rise or not.
    """

    def __init__(self):
        self.seen = {}

    def fault(self, attribute, got, changes, placement):
        """Why @got does not fit, or None. @placement stands for which prim has which schema."""
        if got is None:
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
