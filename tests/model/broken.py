# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors

"""Copies of the model, and of its clothes, that break one rule each. driver.py --self-test must catch them all."""

import copy
import struct

import fake
import filters
import model


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

    def __init__(self, *args):
        super().__init__(*args)
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
    def read(self, prims, attributes, *span):
        self.asked = prims
        return super().read(prims, attributes, *span)

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
    def read(self, prims, attributes, *span):
        result = super().read(prims, attributes, *span)
        order = {name: i for i, name in enumerate(self.selected(attributes))}
        return result._replace(groups=sorted(result.groups, key=lambda g: (g.schema is None, order[g.attribute], g.schema)))


class PrimsSorted(model.Model):
    def read(self, prims, attributes, *span):
        return super().read(sorted(prims), attributes, *span)


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

    def __init__(self, *args):
        super().__init__(*args)
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

    def generation(self, attribute, ordinal):
        self.placement = self.ever_placed
        try:
            return super().generation(attribute, ordinal)
        finally:
            del self.placement

    def ever_placed(self, attribute, ordinal):
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


class ArrayRowsAreFolded(model.Model):
    """Trailing axes of array rows become lanes."""

    def lanes(self, part):
        lanes = part.tensors[0].lanes
        for extent in part.tensors[0].shape[1:]:
            lanes *= extent
        return lanes


class ListOfOneIsPacked(model.Model):
    def write_batch(self, prims, given, *rest):
        given = [part._replace(packed=part.is_array and len(part.tensors) == 1) for part in given]
        return super().write_batch(prims, given, *rest)


class PackedRowsByTargets(model.Model):
    """The rows of a packed tensor are counted by its targets, whatever the index map names."""

    def rows(self, part, n, index_map):
        if part.is_array and part.packed:
            index_map = None
        return super().rows(part, n, index_map)


class EmptyRowsAreAbsent(model.Model):
    def in_schema(self, part, values, ordinal):
        if part.is_array:
            values = {prim: value for prim, value in values.items() if value}
        return super().in_schema(part, values, ordinal)


class ArraysAndValuesAgree(model.Model):
    """An array may be written where a fixed-size value of the type lives."""

    def schema_for(self, attribute, prim, ordinal, given):
        live = self.live_schema(attribute, prim, ordinal)
        if live is not None and live.is_array != given.is_array and live[:3] == given[:3]:
            return given
        return super().schema_for(attribute, prim, ordinal, given)


class ReplacedArraysKeepTheirLength(model.Model):
    def accept(self, attribute, ordinal, rows):
        kept = {}
        for prim, (schema, value) in rows.items():
            live = self.last_entry(attribute, prim, ordinal)
            if schema.is_array and live is not None:
                value = value[: len(live.rows[prim][1])]
            kept[prim] = (schema, value)
        super().accept(attribute, ordinal, kept)


class RangeStartsAfterItsStart(model.Model):
    def read_range(self, prims, attributes, start, *rest):
        return super().read_range(prims, attributes, start + 1, *rest)


class RangeGivesTheNewest(model.Model):
    def read_range(self, prims, attributes, start, end, as_of):
        result = super().read_range(prims, attributes, start, end, as_of)
        if result.status == model.OUT_OF_RANGE:
            return super().read_range(prims, attributes, start, model.NEWEST, as_of)
        return result


class RangeRefusesWhatNeverChangedLater(model.Model):
    """Every range that ends below the frontier is out of range."""

    def read_range(self, prims, attributes, start, end, as_of):
        if prims and any(start <= end < self.oldest_kept(attribute) for attribute in attributes):
            return model.Result(model.OUT_OF_RANGE, 0, [])
        return super().read_range(prims, attributes, start, end, as_of)


class RangeAsOfMayGoBack(model.Model):
    def read_range(self, prims, attributes, start, end, as_of):
        return super().read_range(prims, attributes, start, end, self.as_of(attributes, end))


class RangeMissesWhatCameAndWent(model.Model):
    """Created and deleted within a range is nothing."""

    def tombstone_group(self, attribute, changed, start, end):
        there = [prim for prim in changed if self.last_entry(attribute, prim, start - 1) is not None]
        return super().tombstone_group(attribute, there, start, end)


class RangeTellsDeletesOfNothing(model.Model):
    def changes(self, attribute, prim):
        return self.history(attribute, prim)


class RangeLeavesOutEqualValues(model.Model):
    def changes(self, attribute, prim):
        effective, before = [], None
        for entry in super().changes(attribute, prim):
            if entry.rows[prim] != before:
                effective.append(entry)
            before = entry.rows[prim]
        return effective


class MoveIsATombstoneToo(model.Model):
    def tombstone_group(self, attribute, changed, start, end):
        groups = super().tombstone_group(attribute, changed, start, end)
        moved = []
        for prim in changed:
            schemas = [e.rows[prim] and e.rows[prim][0] for e in self.history(attribute, prim) if e.ordinal <= end]
            if schemas[-1] is not None and len({schema for schema in schemas if schema is not None}) > 1:
                moved.append(prim)
        if moved and not groups:
            return [model.Group(attribute, None, end, [(prim, b"") for prim in moved], None, {})]
        return groups


class TombstonesComeWithTheirAttribute(model.Model):
    """Not after all the values."""

    def read_range(self, *args):
        result = super().read_range(*args)
        order = {name: i for i, name in enumerate(args[1])}
        return result._replace(groups=sorted(result.groups, key=lambda g: order[g.attribute]))


class TombstoneTellsTheLastChange(model.Model):
    def tombstone_group(self, attribute, changed, start, end):
        groups = super().tombstone_group(attribute, changed, start, end)
        newest = max((self.changed_between(attribute, prim, start, end)[-1].ordinal for prim in changed), default=0)
        return [group._replace(ordinal=newest) for group in groups]


class RangeFaultsInOtherOrder(model.Model):
    """A range that begins behind its end is looked at only where nothing else is wrong."""

    def read(self, prims, attributes, ordinal, start=None):
        if start is not None and start > ordinal and model.UNSUPPORTED in attributes:
            return model.Result(model.NOT_SUPPORTED, 0, [])
        return super().read(prims, attributes, ordinal, start)


class BuiltInsAreAsOfTheRead(model.Model):
    def built_in_group(self, prims, attribute, as_of):
        there = [prim for prim in prims if self.prim_exists(prim, as_of)]
        return super().built_in_group(there, attribute, as_of)


class RootIsItsOwnParent(model.Model):
    def built_in_value(self, prim, attribute):
        return [prim] if attribute == "usd-parent" and prim == "/" else super().built_in_value(prim, attribute)


class ChildrenAreAllBelow(model.Model):
    def built_in_value(self, prim, attribute):
        if attribute != "usd-children":
            return super().built_in_value(prim, attribute)
        return [p for p in self.prims() if p != prim and model.below(p, prim) and self.prim_exists(p, model.NEWEST)]


class ChildlessPrimsHaveNoRow(model.Model):
    def built_in_value(self, prim, attribute):
        value = super().built_in_value(prim, attribute)
        return value or None


class FiltersSeeWhatIsSealed(model.Model):
    def query(self, tree):
        live, last = self.live_schema, self.last_entry
        self.live_schema = lambda a, prim, ordinal: live(a, prim, min(ordinal, self.floor(a)))
        self.last_entry = lambda a, prim, ordinal: last(a, prim, min(ordinal, self.floor(a)))
        try:
            return super().query(tree)
        finally:
            del self.live_schema, self.last_entry


class NotIsAmongThoseWithTheAttribute(model.Model):
    def matches(self, tree, prim):
        if tree[0] == "not" and tree[1][0] not in ("all", "any", "not") and tree[1][1] is not None:
            return self.filter_schema(tree[1][1], prim) is not None and super().matches(tree, prim)
        return super().matches(tree, prim)


class SubtreeByText(model.Model):
    def holds(self, predicate, prim):
        if predicate[1] is None:
            return any(prim.startswith(value) for value in predicate[2])
        return super().holds(predicate, prim)


class SubtreeTakesAnyText(model.Model):
    def is_no_path(self, value):
        return False


class UnknownIdsAreEmptyTexts(model.Model):
    def told(self, schema, data):
        texts = super().told(schema, data)
        return texts or [b""] if schema.semantic in model.TOKEN_SEMANTICS else texts


class FiltersCompareTokensByNumber(model.Model):
    def compares(self, operator, one, value):
        if isinstance(value, str) and operator in (model.LT, model.LE, model.GT, model.GE):
            return super().compares(operator, self.token_ids.id(one.decode()), self.token_ids.id(value))
        return super().compares(operator, one, value)


class FiltersRoundToIntegers(model.Model):
    def exact(self, number):
        return int(number)


class TextsAgainstNumbersMatchNothing(model.Model):
    def check_predicate(self, predicate, there):
        try:
            super().check_predicate(predicate, there)
        except filters.Fault as fault:
            if fault.args[0] == model.NOT_SUPPORTED:
                raise

    def compares(self, operator, one, value):
        return isinstance(one, bytes) == isinstance(value, str) and super().compares(operator, one, value)


class CloneTakesWhatIsSealed(model.Model):
    def row(self, attribute, prim, ordinal):
        return super().row(attribute, prim, min(ordinal, self.floor(attribute)))


class CloneTakesTheNewest(model.Model):
    def row(self, attribute, prim, ordinal):
        return super().row(attribute, prim, model.NEWEST)


class CloneRebasesNothing(model.Model):
    def rebased(self, schema, data, source, target):
        return data


class CloneRebasesByText(model.Model):
    """Also ids of paths that merely begin like the source."""

    def rebased(self, schema, data, source, target):
        if schema.semantic != model.RELATIONSHIP_PATH_ID:
            return super().rebased(schema, data, source, target)
        ids = struct.unpack(f"={len(data) // 8}Q", data)
        texts = [self.path_ids.text(i) for i in ids]
        moved = [
            self.path_ids.id(self.moved(text, source, target)) if text and text.startswith(source) else i
            for i, text in zip(ids, texts)
        ]
        return struct.pack(f"={len(moved)}Q", *moved)


class CloneMindsTheTargetOnly(model.Model):
    """What else would be written may exist."""

    def clone(self, source, targets, ordinal):
        self.cloning = targets
        try:
            return super().clone(source, targets, ordinal)
        finally:
            self.cloning = None

    def moved(self, path, source, target):
        return super().moved(path, source, target)

    def prim_exists(self, prim, ordinal):
        cloning = getattr(self, "cloning", None)
        if cloning and prim not in cloning and any(model.below(prim, target) for target in cloning):
            return False
        return super().prim_exists(prim, ordinal)


class CloneMayOverlap(model.Model):
    def clone(self, source, targets, ordinal):
        return super().clone(source, list(dict.fromkeys(targets)), ordinal)


class MapIsFilledWithWhatIsSealed(model.Model):
    def map_attribute(self, prims, attribute, ordinal, *args):
        status, session = super().map_attribute(prims, attribute, ordinal, *args)
        if session is not None and args[-1]:
            for prim in session.values:
                if self.last_entry(attribute, prim, min(ordinal, self.floor(attribute))) is None:
                    session.values[prim] = bytes(session.sizes[prim])
        return status, session


class MapTakesTheFirstSchema(model.Model):
    """Where the data type was left open and several would do."""

    def map_schema(self, prims, attribute, ordinal, dtype, *args):
        found = super().map_schema(prims, attribute, ordinal, dtype, *args)
        live = [self.live_schema(attribute, prim, ordinal) for prim in prims]
        return found or next((schema for schema in live if schema is not None and dtype is None), None)


class MapTakesNoSchemaFromTheStage(model.Model):
    def map_schema(self, prims, attribute, ordinal, dtype, *args):
        if dtype is None and not any(self.live_schema(attribute, prim, ordinal) for prim in prims):
            return None
        return super().map_schema(prims, attribute, ordinal, dtype, *args)


class MapIsOneGroup(model.Model):
    def map_attribute(self, prims, *args):
        status, session = super().map_attribute(prims, *args)
        if session is not None and session.groups:
            session.groups = [list(prims)]
            session.left = list(session.groups)
        return status, session


class CommitsCountAsOfTheMap(model.Model):
    """What was written after the map was made wins."""

    def map_attribute(self, prims, attribute, *args):
        status, session = super().map_attribute(prims, attribute, *args)
        if session is not None:
            session.made = self.seq
        return status, session

    def write_mapped(self, session, prims):
        status = super().write_mapped(session, prims)
        if prims and status == model.OK:
            entries = self.entries[session.attribute]
            entries[-1] = entries[-1]._replace(seq=session.made + 0.5)
        return status


class CommitsAreNotChecked(model.Model):
    def write_mapped(self, session, prims):
        if session.mode == model.INSERT and session.ordinal > self.floor(session.attribute):
            session.mode = model.UPSERT
        return super().write_mapped(session, prims)


class CommitTwiceIsFine(model.Model):
    def map_commit(self, session):
        return model.OK if session.ended else super().map_commit(session)


class DiscardIsACommit(model.Model):
    def map_discard(self, session):
        left, session.left = session.left, []
        if not session.ended:
            session.ended = True
            self.write_mapped(session, [prim for group in left for prim in group])


def cursor_at_floors(self, watch):
    """The cursor that must be seen once a watch told, so that what it told is looked at."""
    return min((self.floor(attribute) for attribute in watch.starts), default=self.global_floor())


class WatchForgetsDeletes(model.Model):
    def watch_next(self, watch):
        return [group for group in super().watch_next(watch) if group.schema is not None]


class WatchTellsTwice(model.Model):
    """What was sealed at the ordinal that was told last."""

    cursor = cursor_at_floors

    def move(self, watch):
        watch.starts = {attribute: self.floor(attribute) for attribute in watch.starts}


class WatchStartsEarly(model.Model):
    """With the last change before it was made."""

    cursor = cursor_at_floors

    def first_to_tell(self, attribute):
        ordinals = [at for schema in self.columns.get(attribute, ()) for at in self.change_ordinals(attribute, schema)]
        return max(ordinals, default=self.floor(attribute) + 1)


class WatchStartsAtNothing(model.Model):
    """It tells what was there, too."""

    cursor = cursor_at_floors

    def first_to_tell(self, attribute):
        return 0


class WatchMissesScopedAdvances(model.Model):
    cursor = cursor_at_floors

    def told_up_to(self, attribute):
        return self.global_floor()


class WatchHasOneCursor(model.Model):
    """Up to the highest floor of its attributes: what is sealed below it later is lost."""

    cursor = cursor_at_floors

    def move(self, watch):
        floors = [self.floor(attribute) for attribute in watch.starts]
        watch.starts = {attribute: max(floors) + 1 for attribute in watch.starts}


class WatchTellsDeletesFirst(model.Model):
    def watch_next(self, watch):
        return sorted(super().watch_next(watch), key=lambda group: group.schema is not None)


class WatchTellsWhatIsThere(model.Model):
    """All values of an attribute that changed, and not those that did."""

    def watch_next(self, watch):
        told = []
        for group in super().watch_next(watch):
            rest = self.value_groups(group.attribute, watch.prims, self.floor(group.attribute))
            told += [group] if group.schema is None else [one for one in rest if one.schema == group.schema]
        return told


class WatchIsNotCoalesced(model.Model):
    """One ordinal at a time."""

    cursor = cursor_at_floors

    def told_up_to(self, attribute):
        later = [at for at in self.ordinals(attribute, self.floor(attribute)) if at >= self.from_now.get(attribute, 0)]
        return min(later, default=self.floor(attribute))

    def watch_next(self, watch):
        self.from_now = watch.starts
        return super().watch_next(watch)


class WritesToWhatItTook(fake.Stage):
    """Scatters later writes into the memory that was handed over."""

    def given(self, query, attribute, tensors, *, transfer=False, **more):
        taken = getattr(self, "taken", None)
        if taken is not None and taken.flags.writeable and taken.size:
            taken[...] = taken.flat[0]
        if transfer:
            self.taken = tensors
        return super().given(query, attribute, tensors, **more)


class KeepsWhatItTook(fake.Stage):
    """Never lets go of what was handed over."""

    taken = []

    def given(self, query, attribute, tensors, *, transfer=False, **more):
        if transfer:
            self.taken.append(tensors)
        return super().given(query, attribute, tensors, **more)


class GroupThatFollowsTheStage(fake.Group):
    """A held group whose memory is written again at the next seal."""

    def row_bytes(self):
        told = self.told
        now = []
        for prim, value in told.rows:
            entry = self.stage.model.last_entry(told.attribute, prim, self.stage.model.floor(told.attribute))
            new = entry.rows[prim][1] if entry is not None else value
            now.append(new if len(new) == len(value) else value)
        return now if self.stage.model.floor(told.attribute) > told.ordinal else [v for _, v in told.rows]


class WithdrawnIsThere(fake.Stage):
    """Only the operation says that it was withdrawn."""

    def run_again(self, operation, query, call):
        super().run_again(operation, query, call)
        if getattr(operation, "withdrawn", False):
            call()


class WithdrawnQueryIsEmpty(fake.Stage):
    """What uses it goes well."""

    def run_again(self, operation, query, call):
        if getattr(query, "withdrawn", False):
            query.prims, query = [], None
        super().run_again(operation, query, call)


class WithdrawsWhatWasBooked(fake.Stage):
    """Any write that nobody has looked at."""

    def can_withdraw(self, operation, query, call):
        return True


BROKEN = {cls.__name__: fake.package(cls) for cls in model.Model.__subclasses__()}
BROKEN["GroupThatFollowsTheStage"] = fake.package(group_type=GroupThatFollowsTheStage)
BROKEN["WritesToWhatItTook"] = fake.package(stage_type=WritesToWhatItTook)
BROKEN["KeepsWhatItTook"] = fake.package(stage_type=KeepsWhatItTook)
for cls in (WithdrawnIsThere, WithdrawnQueryIsEmpty, WithdrawsWhatWasBooked):
    BROKEN[cls.__name__] = fake.package(stage_type=cls)
