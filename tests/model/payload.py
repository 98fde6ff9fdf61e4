# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors

"""What a write brings: rows out of tensors, and whether a schema may be what it says."""

from terms import *


class Payloads:
    """The part of the model that looks at payloads; it knows no state."""

    def form_fault(self, part):
        """Whether a payload has no proper form, whoever it is for."""
        if not part.tensors or len(part.tensors) > 1 and not (part.is_array and not part.packed):
            return True
        if len({(tensor.code, tensor.bits, tensor.lanes) for tensor in part.tensors}) > 1:
            return True
        if part.index_map is not None and part.mask is not None:
            return True
        return part.count == 0 and (part.index_map is not None or part.mask is not None)

    def repeats(self, attributes):
        return len(set(attributes)) != len(attributes)

    def target_values(self, prims, part):
        """prim -> bytes of those that are really written; None if the rows do not fit."""
        n = part.count if part.count != 0 else len(prims)
        if n > len(prims):
            return None
        index_map = part.index_map[:n] if part.index_map is not None else None
        n_rows, row = self.rows(part, n, index_map)
        if n_rows is None or (index_map is None and n_rows != n):
            return None
        if index_map is not None and any(at >= n_rows for at in index_map):
            return None
        values = {}
        for i in range(n):
            if part.mask is None or part.mask[i]:
                values[prims[i]] = row(index_map[i] if index_map is not None else i)
        return values

    def rows(self, part, n, index_map):
        """How many rows a payload has, and the function that gives their bytes; (None, None) if they do not fit."""
        tensor = part.tensors[0]
        if not part.is_array:
            lanes = self.lanes(part)
            if lanes == 0 or lanes > MAX_LANES:
                return None, None
            return self.parts(tensor, tensor.shape[0] if tensor.shape else 1, lanes)
        if not part.packed:
            return len(part.tensors), lambda i: part.tensors[i].data
        n_rows = n if index_map is None else max(index_map) + 1
        total = 1
        for extent in tensor.shape:
            total *= extent
        if total % n_rows != 0:
            return None, None
        return self.parts(tensor, n_rows, total // n_rows * tensor.lanes)

    def parts(self, tensor, n_rows, n_lanes):
        size = n_lanes * tensor.bits // 8
        return n_rows, lambda i: tensor.data[i * size : (i + 1) * size]

    def lanes(self, part):
        """The lanes of a row, or of an element of an array: only fixed-size rows take in trailing axes."""
        lanes = part.tensors[0].lanes
        if not part.is_array:
            for extent in part.tensors[0].shape[1:]:
                lanes *= extent
        return lanes

    def given_schema(self, part):
        return Schema(part.tensors[0].code, part.tensors[0].bits, self.lanes(part), part.semantic, part.is_array)

    def semantic_fits(self, schema):
        """Whether a value of this data type may have this semantic."""
        dtype = (schema.code, schema.bits, schema.lanes)
        if schema.semantic in ARRAY_SEMANTICS and not schema.is_array:
            return False
        if schema.semantic in (TOKEN_ID, PATH_EXPRESSION_STRING, RELATIONSHIP_PATH_ID):
            return dtype == (UINT, 64, 1)
        if schema.semantic in (ASSET_PATH_ID, CONNECTION_PATH_ID):
            return dtype == (UINT, 64, 2)
        return schema.semantic != STRING or dtype == (UINT, 8, 1)

    def name_fits(self, attribute, schema):
        """Whether an attribute of this name may have this schema."""
        if attribute == "usd-prim-type":
            return schema == Schema(UINT, 64, 1, TOKEN_ID, False)
        if attribute == "usd-schemas":
            return schema == Schema(UINT, 64, 1, TOKEN_ID, True)
        return True


def python_call_error(n_prims, count, index_map, mask, mask_words):
    """The exception that the Python face raises at the call of a write, by name, or None.

    @mask is the list of truth values; with @mask_words it is handed over as 64-bit words.
    """
    if count == 0 or (index_map is not None and len(index_map) == 0):
        return "ValueError"
    if index_map is not None and count is not None and count > len(index_map):
        return "ValueError"
    if mask is not None:
        if mask_words and count is None:
            return "ValueError"
        needed = logical_count(n_prims, count, index_map)
        given = (len(mask) + 63) // 64 * 64 if mask_words else len(mask)
        if given < needed:
            return "ValueError"
    return None


def logical_count(n_prims, count, index_map):
    """The number of elements that a write of the Python face means."""
    if count is not None:
        return count
    return n_prims if index_map is None else len(index_map)
