# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors

"""The model in the clothes of the Python package, and broken copies of it.

With it the driver is tested without the library: on the model itself it must
find nothing, on each of the broken ones something (driver.py --self-test).
"""

import copy
import types
from typing import NamedTuple

import numpy as np

import model


class OvstageError(RuntimeError):
    def __init__(self, code):
        super().__init__(f"code {code}")
        self.code = code


class DataType(NamedTuple):
    code: int
    bits: int
    lanes: int


CODES = {"f": 2, "i": 0, "u": 1, "b": 6, "c": 5}
KINDS = {code: kind for kind, code in CODES.items()}


class OrdinalRange:
    def __init__(self, ordinal):
        self.ordinal = ordinal

    latest = classmethod(lambda cls, n: cls(n))
    newest = classmethod(lambda cls: cls(model.NEWEST))


class Managed:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def release(self):
        pass


class Query(Managed):
    def __init__(self, prims):
        self.prims = prims


class Operation(Managed):
    def __init__(self, status, op_id):
        self.status = status
        self.op_id = op_id if status == 0 else 0
        self.ok = status == 0

    def wait(self, timeout=-1):
        if self.status != 0:
            raise OvstageError(self.status)


class Read(Operation):
    def __init__(self, result, op_id, stage, query):
        super().__init__(result.status, op_id)
        self.as_of = result.as_of
        self.left = [stage.group_type(stage, query.prims, group) for group in result.groups]

    def fetch_next(self, timeout=-1):
        self.wait()
        return self.left.pop(0) if self.left else None


class Group(Managed):
    def __init__(self, stage, prim_list, group):
        self.stage = stage
        self.told = group
        self.attribute = stage.tokens.index(group.attribute) + 1
        self.data_type = DataType(*group.schema[:3])
        self.semantic = group.schema.semantic
        self.ordinal = group.ordinal
        self.layout_generation = group.generation
        self.prim_list = prim_list
        self.prim_count = len(group.rows)
        self.prim_indices = [prim_list.index(prim) for prim, _ in group.rows]
        self.data_rows = list(range(self.prim_count))
        self.prim_offset = self.prim_indices[0]
        self.has_prim_index_map = self.prim_indices != [self.prim_offset + i for i in range(self.prim_count)]

    is_array = is_delete = has_data_index_map = False
    tensor_count = 1
    data_count = property(lambda self: self.prim_count)

    def prim_index(self, i):
        return self.prim_indices[i]

    def data_row_index(self, i):
        return i

    def row_bytes(self):
        return [value for _, value in self.told.rows]

    def array(self, i):
        code, bits, _ = self.told.schema[:3]
        dtype = np.dtype("?" if code == CODES["b"] else f"{KINDS[code]}{bits // 8}")
        return np.frombuffer(b"".join(self.row_bytes()), dtype)


class Stage(Managed):
    model_type = model.Model
    group_type = Group

    def __init__(self, name=None, *, history_depth=1):
        self.model = self.model_type(history_depth)
        self.tokens = []
        self.last_id = 0

    @property
    def gobject(self):
        return types.SimpleNamespace(get_value_frontier=self.model.value_frontier)

    def destroy(self):
        pass

    def name(self, attribute):
        return attribute if isinstance(attribute, str) else self.tokens[attribute - 1]

    def token(self, text):
        if text not in self.tokens:
            self.tokens.append(text)
        return self.tokens.index(text) + 1

    def operation(self, status):
        self.last_id += 1
        return Operation(status, self.last_id)

    def query_from_path_list(self, path_list):
        return Query(path_list)

    def given(self, query, attribute, tensors, *, is_array, semantic=0, index_map=None, mask=None, count=None, transfer=False):
        """What the package makes of its arguments: a model.Given, or a ValueError."""
        words = mask is not None and mask.dtype == np.uint64
        bits = None
        if mask is not None:
            bits = [int(word) >> i & 1 for word in mask for i in range(64)] if words else [int(bit) for bit in mask]
        if index_map is not None:
            index_map = [int(row) for row in index_map]
        n_prims = len(query.prims)
        if model.python_call_error(n_prims, count, index_map, bits, words) is not None:
            raise ValueError("as the model says")
        sources = []
        for source in tensors if isinstance(tensors, list) else [tensors]:
            dtype = source.dtype
            data = np.ascontiguousarray(source).tobytes()
            sources.append(model.Tensor(CODES[dtype.kind], dtype.itemsize * 8, source.shape, data))
        count = model.logical_count(n_prims, count, index_map)
        return model.Given(self.name(attribute), sources, int(semantic), count, index_map, bits)

    def write_attribute(self, query, attribute, ordinal, tensors, *, prim_mode=0, **more):
        attribute, sources, *rest = self.given(query, attribute, tensors, **more)
        more = dict(zip(model.Given._fields[2:], rest))
        return self.operation(self.model.write(query.prims, attribute, ordinal, sources, mode=int(prim_mode), **more))

    def write_attributes(self, query, writes, ordinal, *, prim_mode=0):
        given = [self.given(query, **vars(write)) for write in writes]
        return self.operation(self.model.write_batch(query.prims, given, ordinal, int(prim_mode)))

    def delete_attributes(self, query, attributes, ordinal):
        names = [self.name(attribute) for attribute in attributes]
        return self.operation(self.model.delete(query.prims, names, ordinal))

    def advance_write_floor(self, ordinal, *, scope=0, attributes=()):
        return self.operation(self.model.advance(ordinal, int(scope), [self.name(a) for a in attributes]))

    def read_attributes(self, query, attributes, ordinal_range):
        self.last_id += 1
        names = [self.name(attribute) for attribute in attributes]
        for name in names:
            self.token(name)
        return Read(self.model.read(query.prims, names, ordinal_range.ordinal), self.last_id, self, query)

    def get_attribute_write_floor(self, attribute=None):
        return self.model.global_floor() if attribute is None else self.model.floor(self.name(attribute))


class PathDictionary(Managed):
    def __init__(self, stage):
        self.stage = stage

    def intern_token(self, text):
        return self.stage.token(text)

    def create_path_list_from_strings(self, strings):
        return list(strings)

    def get_path_strings(self, path_list):
        return list(path_list)

    def destroy_path_list(self, path_list):
        pass


def package(model_type=model.Model, group_type=Group, stage_type=Stage):
    """A module-like object with the names of the package that the driver uses."""
    stage_type = type("Stage", (stage_type,), {"model_type": model_type, "group_type": group_type})
    return types.SimpleNamespace(
        Stage=stage_type,
        PathDictionary=PathDictionary,
        OrdinalRange=OrdinalRange,
        OvstageError=OvstageError,
        PrimMode=int,
        Scope=int,
        AttributeSemantic=int,
        WriteDesc=types.SimpleNamespace,
    )


# Broken copies


class LaterSubmissionWins(model.Model):
    def order(self, entry):
        return entry.seq


class EarlierWinsAtOneOrdinal(model.Model):
    def order(self, entry):
        return (entry.ordinal, -entry.seq)


class OneVersionMore(model.Model):
    def frontier(self, attribute, schema):
        changed = self.change_ordinals(attribute, schema)
        return changed[-self.history_depth - 1] if len(changed) > self.history_depth + 1 else 0


class SealsCountAsVersions(model.Model):
    """A fold of several ordinals makes one version."""

    def __init__(self, history_depth):
        super().__init__(history_depth)
        self.seals = []

    def advance(self, ordinal, scope=0, attributes=()):
        self.seals.append(ordinal)
        return super().advance(ordinal, scope, attributes)

    def change_ordinals(self, attribute, schema):
        changed = super().change_ordinals(attribute, schema)
        folded = {}
        for ordinal in changed:
            folded[min([s for s in self.seals if s >= ordinal], default=ordinal)] = ordinal
        return sorted(folded.values())


class MoveIsNoChange(model.Model):
    def change_ordinals(self, attribute, schema):
        sealed = self.floor(attribute)
        entries = self.entries.get(attribute, ())
        return sorted(
            {e.ordinal for e in entries if e.ordinal <= sealed and any(g and g[0] == schema for g in e.rows.values())}
        )


class FrontierOfSelectedRowsOnly(model.Model):
    def read(self, prims, attributes, ordinal):
        self.asked = prims
        return super().read(prims, attributes, ordinal)

    def frontier(self, attribute, schema):
        asked = getattr(self, "asked", None)
        if asked is not None and not any(self.live_schema(attribute, prim, 2**64 - 1) == schema for prim in asked):
            return 0
        return super().frontier(attribute, schema)


class ReadsIgnoreStaged(model.Model):
    def is_unsealed(self, attribute, prims, ordinal):
        return False


class WholeAttributeIsStaged(model.Model):
    def is_unsealed(self, attribute, prims, ordinal):
        return any(self.floor(attribute) < e.ordinal <= ordinal for e in self.entries.get(attribute, ()))


class InsertSeesOneAttribute(model.Model):
    def write_batch(self, prims, given, *rest):
        self.writing = given[0].attribute if given else None
        return super().write_batch(prims, given, *rest)

    def prim_exists(self, prim, ordinal):
        return self.last_entry(self.writing, prim, ordinal) is not None


class ExistsWhateverOrdinal(model.Model):
    def prim_exists(self, prim, ordinal):
        return super().prim_exists(prim, 2**64 - 1)


class SchemaCheckedAtHead(model.Model):
    def schema_for(self, attribute, prim, ordinal, given):
        return super().schema_for(attribute, prim, 2**64 - 1, given)


class NoneIsASemantic(model.Model):
    def schema_for(self, attribute, prim, ordinal, given):
        live = self.live_schema(attribute, prim, ordinal)
        return given if live in (None, given) else None


class SemanticsNotChecked(model.Model):
    def semantic_fits(self, schema):
        return True


class ExcludeSparesOwnFloors(model.Model):
    def advance(self, ordinal, scope=0, attributes=()):
        if scope == model.EXCLUDE and attributes:
            attributes = [*attributes, *self.own_floors]
        return super().advance(ordinal, scope, attributes)


class UnknownNamesHaveNoFloor(model.Model):
    def advance(self, ordinal, scope=0, attributes=()):
        if scope != model.ALL and attributes:
            attributes = [a for a in attributes if a in self.entries]
            if scope == model.EXCLUDE and not attributes:
                return model.OK
        return super().advance(ordinal, scope, attributes)


class AllLeavesOwnFloors(model.Model):
    def advance(self, ordinal, scope=0, attributes=()):
        own = dict(self.own_floors)
        status = super().advance(ordinal, scope, attributes)
        if scope == model.ALL:
            self.own_floors.update(own)
        return status


class AsOfIsTheGlobalFloor(model.Model):
    def as_of(self, attributes, ordinal):
        return min(ordinal, self.global_floor())


class AsOfIsTheOrdinal(model.Model):
    def as_of(self, attributes, ordinal):
        return ordinal


class OrdinalOfTheColumn(model.Model):
    def group_ordinal(self, attribute, prims, ordinal):
        return max(e.ordinal for e in self.entries[attribute] if e.ordinal <= ordinal)


class OrdinalOfTheFirstPrim(model.Model):
    def group_ordinal(self, attribute, prims, ordinal):
        return self.last_entry(attribute, prims[0], ordinal).ordinal


class RepeatsAttributes(model.Model):
    def selected(self, attributes):
        return list(attributes)


class SchemasSorted(model.Model):
    def read(self, prims, attributes, ordinal):
        result = super().read(prims, attributes, ordinal)
        order = {name: i for i, name in enumerate(self.selected(attributes))}
        return result._replace(groups=sorted(result.groups, key=lambda g: (order[g.attribute], g.schema)))


class PrimsSorted(model.Model):
    def read(self, prims, attributes, ordinal):
        return super().read(sorted(prims), attributes, ordinal)


class RefusedWriteLeavesColumn(model.Model):
    """Half-applied: a write that the prim mode refuses has made its column."""

    def write(self, prims, attribute, ordinal, tensors, **more):
        status = super().write(prims, attribute, ordinal, tensors, **more)
        if status in (model.ALREADY_EXISTS, model.NOT_FOUND):
            lanes = 1
            for extent in tensors[0].shape[1:]:
                lanes *= extent
            schema = model.Schema(tensors[0].code, tensors[0].bits, lanes, more["semantic"])
            columns = self.columns.setdefault(attribute, [])
            if schema not in columns:
                columns.append(schema)
        return status


class GenerationOfEveryWrite(model.Model):
    def generation(self, attribute, ordinal):
        return sum(e.ordinal <= ordinal for e in self.entries.get(attribute, ()))


class GenerationNeverRises(model.Model):
    def generation(self, attribute, ordinal):
        return 1


class DeleteOfNothingIsForgotten(model.Model):
    """What is not there when a delete is submitted may be written at a lower ordinal and stay."""

    def delete(self, prims, attributes, ordinal):
        there = [p for p in prims if any(self.lives_or_is_staged(a, p) for a in attributes or self.entries)]
        return super().delete(there, attributes, ordinal)


class DeleteKillsAboveToo(model.Model):
    """A delete takes away what was submitted before it at whatever ordinal."""

    def order(self, entry):
        return (entry.ordinal, entry.seq)

    def last_entry(self, attribute, prim, ordinal):
        last = super().last_entry(attribute, prim, ordinal)
        deleted = [e.seq for e in self.history(attribute, prim) if e.rows[prim] is None and e.ordinal <= ordinal]
        return None if last is None or last.seq < max(deleted, default=0) else last


class DeleteWinsAtItsOrdinal(model.Model):
    """Whatever is written at the ordinal of a delete is deleted."""

    def history(self, attribute, prim):
        return sorted(
            super().history(attribute, prim), key=lambda e: (e.ordinal, e.rows[prim] is None, e.seq)
        )


class DeleteSparesLaterAttributes(model.Model):
    """A delete of whole prims touches only attributes that were known when it was submitted."""

    def __init__(self, history_depth):
        super().__init__(history_depth)
        self.known = {}

    def delete(self, prims, attributes, ordinal):
        status = super().delete(prims, attributes, ordinal)
        self.known[self.seq] = set(self.entries)
        return status

    def kills(self, delete, attribute):
        return super().kills(delete, attribute) and attribute in self.known[delete.seq]


class PrimDeleteMindsOneFloor(model.Model):
    """Attributes that live on a target have no say."""

    def lives_or_is_staged(self, attribute, prim, ordinal=model.NEWEST):
        return ordinal != model.NEWEST and super().lives_or_is_staged(attribute, prim, ordinal)


class PrimDeleteMindsEveryFloor(model.Model):
    """Attributes that no target has have a say."""

    def delete(self, prims, attributes, ordinal):
        if prims and not attributes and any(ordinal <= self.floor(a) for a in self.entries):
            return model.INVALID_ARGUMENT if ordinal == model.NEWEST else model.WRITE_FLOOR_VIOLATION
        return super().delete(prims, attributes, ordinal)


class NamedDeleteMindsNoFloor(model.Model):
    def delete(self, prims, attributes, ordinal):
        status = super().delete(prims, attributes, ordinal)
        return model.OK if attributes and status == model.WRITE_FLOOR_VIOLATION else status


class DeletesAreNotUnsealed(model.Model):
    def is_unsealed(self, attribute, prims, ordinal):
        floor = self.floor(attribute)
        return any(
            floor < e.ordinal <= ordinal and any(e.rows.get(prim) is not None for prim in prims)
            for e in self.entries.get(attribute, ())
        )


class PrimDeletesAreNotUnsealed(model.Model):
    def is_unsealed(self, attribute, prims, ordinal):
        kept, self.prim_deletes = self.prim_deletes, []
        found = super().is_unsealed(attribute, prims, ordinal)
        self.prim_deletes = kept
        return found


class PrimDeletesAreAlwaysUnsealed(model.Model):
    """Also where nothing lives or is staged."""

    def is_unsealed(self, attribute, prims, ordinal):
        return super().is_unsealed(attribute, prims, ordinal) or any(
            self.floor(attribute) < d.ordinal <= ordinal and any(prim in d.prims for prim in prims)
            for d in self.prim_deletes
        )


class NamedDeleteIsUnsealedWhereItMeets(model.Model):
    """A named delete of what is not there does not count."""

    def is_unsealed(self, attribute, prims, ordinal):
        there = [prim for prim in prims if self.lives_or_is_staged(attribute, prim, ordinal)]
        return super().is_unsealed(attribute, there, ordinal)


class DeleteIsNoChange(model.Model):
    """The value frontier takes no notice of deletes."""

    def change_ordinals(self, attribute, schema):
        deleted = {e.ordinal for e in self.entries.get(attribute, ()) if None in e.rows.values()}
        written = {e.ordinal for e in self.entries.get(attribute, ()) if any(e.rows.values())}
        deleted |= {d.ordinal for d in self.prim_deletes}
        return [at for at in super().change_ordinals(attribute, schema) if at not in deleted or at in written]


class DeleteOfNothingIsAChange(model.Model):
    def change_ordinals(self, attribute, schema):
        sealed = self.floor(attribute)
        deletes = [e.ordinal for e in self.entries.get(attribute, ()) if None in e.rows.values()]
        deletes += [d.ordinal for d in self.prim_deletes]
        return sorted({*super().change_ordinals(attribute, schema), *(at for at in deletes if at <= sealed)})


class SchemaOutlivesDelete(model.Model):
    def schema_for(self, attribute, prim, ordinal, given):
        before = [e.rows[prim][0] for e in self.history(attribute, prim) if e.ordinal <= ordinal and e.rows[prim]]
        return given if not before or before[-1][:3] == given[:3] else None


class DeletedPrimsExist(model.Model):
    def prim_exists(self, prim, ordinal):
        return any(
            e.ordinal <= ordinal and e.rows[prim] for attribute in self.entries for e in self.history(attribute, prim)
        )


class AttributesExistForEver(model.Model):
    def attribute_exists(self, attribute):
        return bool(self.columns.get(attribute))


class GenerationOfEveryDelete(model.Model):
    def generation(self, attribute, ordinal):
        deletes = [e.ordinal for e in self.entries.get(attribute, ()) if None in e.rows.values()]
        deletes += [d.ordinal for d in self.prim_deletes]
        return super().generation(attribute, ordinal) + len({at for at in deletes if at <= ordinal})


class GenerationIgnoresDeletes(model.Model):
    def ordinals(self, attribute, ordinal):
        return sorted({e.ordinal for e in self.entries.get(attribute, ()) if e.ordinal <= ordinal and any(e.rows.values())})

    def placement(self, attribute, ordinal):
        return {prim: None for prim in self.prims_of(attribute) if any(e.ordinal <= ordinal for e in self.history(attribute, prim))}


class BatchIsWrittenOneByOne(model.Model):
    """Half-applied, and each sees those before it."""

    def write_batch(self, prims, given, ordinal, mode=0):
        for part in given:
            status = super().write_batch(prims, [part], ordinal, mode)
            if status != model.OK:
                return status
        return model.OK


class BatchSeesItself(model.Model):
    """All or none, but what is expected of prims is looked up after the entries before."""

    def write_batch(self, prims, given, ordinal, mode=0):
        status = super().write_batch(prims, given, ordinal, 0)
        if status == model.OK and mode != 0:
            tried = copy.deepcopy(self)
            for part in reversed(given):
                tried.entries[part.attribute] = [e for e in tried.entries.get(part.attribute, ()) if e.seq != self.seq]
            for part in given:
                status = super(BatchSeesItself, tried).write_batch(prims, [part], ordinal, mode)
                if status != model.OK:
                    for part in given:
                        self.entries[part.attribute] = [e for e in self.entries.get(part.attribute, ()) if e.seq != self.seq]
                    return status
        return status


class BatchTellsFaultsByEntry(model.Model):
    def write_batch(self, prims, given, ordinal, mode=0):
        for part in given:
            tried = copy.deepcopy(self)
            status = super(BatchTellsFaultsByEntry, tried).write_batch(prims, [part], ordinal, mode)
            if status != model.OK:
                return status
        return super().write_batch(prims, given, ordinal, mode)


class BatchTakesAnAttributeTwice(model.Model):
    def repeats(self, attributes):
        return False


class BatchLosesItsLast(model.Model):
    def write_batch(self, prims, given, ordinal, mode=0):
        status = super().write_batch(prims, given, ordinal, mode)
        if status == model.OK and len(given) > 1:
            entries = self.entries.get(given[-1].attribute, [])
            if entries and entries[-1].seq == self.seq:
                entries.pop()
        return status


class WritesToWhatItTook(Stage):
    """Scatters later writes into the memory that was handed over."""

    def given(self, query, attribute, tensors, *, transfer=False, **more):
        taken = getattr(self, "taken", None)
        if taken is not None and taken.flags.writeable and taken.size:
            taken[...] = taken.flat[0]
        if transfer:
            self.taken = tensors
        return super().given(query, attribute, tensors, **more)


class KeepsWhatItTook(Stage):
    """Never lets go of what was handed over."""

    taken = []

    def given(self, query, attribute, tensors, *, transfer=False, **more):
        if transfer:
            self.taken.append(tensors)
        return super().given(query, attribute, tensors, **more)


class GroupThatFollowsTheStage(Group):
    """A held group whose memory is written again at the next seal."""

    def row_bytes(self):
        told = self.told
        now = []
        for prim, value in told.rows:
            entry = self.stage.model.last_entry(told.attribute, prim, self.stage.model.floor(told.attribute))
            new = entry.rows[prim][1] if entry is not None else value
            now.append(new if len(new) == len(value) else value)
        return now if self.stage.model.floor(told.attribute) > told.ordinal else [v for _, v in told.rows]


BROKEN = {
    cls.__name__: package(cls)
    for cls in (
        LaterSubmissionWins,
        EarlierWinsAtOneOrdinal,
        OneVersionMore,
        SealsCountAsVersions,
        MoveIsNoChange,
        FrontierOfSelectedRowsOnly,
        ReadsIgnoreStaged,
        WholeAttributeIsStaged,
        InsertSeesOneAttribute,
        ExistsWhateverOrdinal,
        SchemaCheckedAtHead,
        NoneIsASemantic,
        SemanticsNotChecked,
        ExcludeSparesOwnFloors,
        UnknownNamesHaveNoFloor,
        AllLeavesOwnFloors,
        AsOfIsTheGlobalFloor,
        AsOfIsTheOrdinal,
        OrdinalOfTheColumn,
        OrdinalOfTheFirstPrim,
        RepeatsAttributes,
        SchemasSorted,
        PrimsSorted,
        RefusedWriteLeavesColumn,
        GenerationOfEveryWrite,
        GenerationNeverRises,
        DeleteOfNothingIsForgotten,
        DeleteKillsAboveToo,
        DeleteWinsAtItsOrdinal,
        DeleteSparesLaterAttributes,
        PrimDeleteMindsOneFloor,
        PrimDeleteMindsEveryFloor,
        NamedDeleteMindsNoFloor,
        DeletesAreNotUnsealed,
        PrimDeletesAreNotUnsealed,
        PrimDeletesAreAlwaysUnsealed,
        NamedDeleteIsUnsealedWhereItMeets,
        DeleteIsNoChange,
        DeleteOfNothingIsAChange,
        SchemaOutlivesDelete,
        DeletedPrimsExist,
        AttributesExistForEver,
        GenerationOfEveryDelete,
        GenerationIgnoresDeletes,
        BatchIsWrittenOneByOne,
        BatchSeesItself,
        BatchTellsFaultsByEntry,
        BatchTakesAnAttributeTwice,
        BatchLosesItsLast,
    )
}
BROKEN["GroupThatFollowsTheStage"] = package(group_type=GroupThatFollowsTheStage)
BROKEN["WritesToWhatItTook"] = package(stage_type=WritesToWhatItTook)
BROKEN["KeepsWhatItTook"] = package(stage_type=KeepsWhatItTook)
