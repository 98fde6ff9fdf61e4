# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors
"""Memory of the store that is filled in place."""

import asyncio
import gc
import unittest
import warnings
import weakref

import numpy as np

import ovstage
from ovstage import AttributeSemantic, DLDataType, DLDataTypeCode, ErrorCode, OvstageError, PrimMode
from support import StageCase

numpy_version = tuple(int(part) for part in np.__version__.split(".")[:2])
FLOAT32 = DLDataType(DLDataTypeCode.kDLFloat, 32, 1)


class MapCase(StageCase):
    def map(self, ordinal=1, attribute="a", **kwargs):
        kwargs.setdefault("dtype", "float32")
        return self.stage.map_attribute(self.query, attribute, ordinal, **kwargs)

    def assert_over(self, operation):
        self.assert_code(operation, ErrorCode.INVALID_HANDLE)


class Maps(MapCase):
    def test_way_through(self):
        with self.map(dtype=FLOAT32, semantic=AttributeSemantic.TIME_CODE, prim_mode=PrimMode.INSERT) as session:
            session.wait()
            self.assertGreater(session.op_id, 0)
            group = session.fetch_next()
            self.assertIsNone(session.fetch_next())
            self.assertEqual(group.attribute, self.paths.intern_token("a"))
            self.assertEqual((group.ordinal, group.is_delete, group.is_array), (1, False, False))
            self.assertEqual((group.semantic, group.data_type), (AttributeSemantic.TIME_CODE, FLOAT32))
            self.assertEqual((group.prim_offset, group.prim_count, group.has_prim_index_map), (0, 3, False))
            self.assertEqual((group.tensor_count, group.data_count, group.has_data_index_map), (1, 3, False))
            self.assertEqual((group.prim_index(2), group.data_row_index(2)), (2, 2))
            self.assertEqual((list(group.prim_indices), list(group.data_rows)), ([0, 1, 2], [0, 1, 2]))
            self.assertEqual(group.prim_list, self.query.path_list)
            self.assertEqual(tuple(group.meta), (0, 0))
            with self.assertRaises(IndexError):
                group.array(1)
            group.array(0)[:] = [1, 2, 3]
            operation = self.stage.unmap_group(session, group)
            operation.wait()
            self.assertTrue(operation.ok)
            self.stage.unmap_attribute(session).wait()
        self.seal(1)
        np.testing.assert_array_equal(self.values(1), [1, 2, 3])

    def test_no_copy(self):
        with self.map(dtype="float32x3") as session:
            for group in session.groups():
                array = group.array(0)
                array.reshape(-1, 3)[:] = np.arange(9).reshape(-1, 3)
                address = array.ctypes.data
            self.stage.unmap_attribute(session).wait()
        self.seal(1)
        with self.stage.read_attributes(self.query, ["a"], ovstage.OrdinalRange.latest(1)) as read:
            for group in read.groups():
                self.assertEqual(group.array(0).ctypes.data, address)
        np.testing.assert_array_equal(self.values(1), np.arange(9).reshape(-1, 3))

    def test_initialize_and_left_open(self):
        self.write(np.array([[1, 2], [3, 4], [5, 6]], np.float64), 1).wait()
        with self.map(2, dtype=None, initialize=True) as session:
            (group,) = session.groups()
            self.assertEqual(str(group.data_type), "float64x2")
            array = group.array(0)
            np.testing.assert_array_equal(array, [1, 2, 3, 4, 5, 6])
            array[2] = 30
            self.stage.unmap_attribute(session).wait()
        self.seal(2)
        np.testing.assert_array_equal(self.values(2), [[1, 2], [30, 4], [5, 6]])

    def test_read_only_after_commit(self):
        with self.map() as session:
            group = session.fetch_next()
            array, shared, tensor = group.array(0), group.dlpack(0), group.tensor(0)
            self.assertTrue(array.flags.writeable and not tensor.readonly and not memoryview(shared).readonly)
            # Older ones give read-only arrays, whatever the flag says.
            self.assertEqual(np.from_dlpack(shared).flags.writeable, numpy_version >= (2, 1))
            self.assertFalse(np.from_dlpack(group.dlpack(0, readonly=True)).flags.writeable)
            self.assertTrue(memoryview(group.dlpack(0, readonly=True)).readonly)
            array[:] = 7
            self.stage.unmap_group(session, group).wait()
            self.assertFalse(array.flags.writeable)
            with self.assertRaises(ValueError):
                array.flags.writeable = True
            with self.assertRaises(ValueError):
                array[0] = 1
            # No writable export any more, neither of what was made before nor anew.
            self.assertTrue(tensor.readonly and shared.readonly and memoryview(shared).readonly)
            self.assertFalse(np.from_dlpack(shared).flags.writeable)
            self.assertFalse(group.array(0).flags.writeable)
            self.assertTrue(group.tensor(0).readonly)
            np.testing.assert_array_equal(group.array(0), [7, 7, 7])
            with self.assertRaises(BufferError):
                group.dlpack(0)
            self.assertFalse(np.from_dlpack(group.dlpack(0, readonly=True)).flags.writeable)
            group.release()
            self.stage.unmap_attribute(session).wait()

    def test_arrays_of_released_groups(self):
        with self.map() as session:
            with session.fetch_next() as group:
                array = group.array(0)
                array[:] = 1
            with self.assertRaises(OvstageError):
                group.array(0)
            self.assert_over(self.stage.unmap_group(session, group))
            self.assertTrue(array.flags.writeable)
            self.stage.unmap_attribute(session).wait()
            self.assertFalse(array.flags.writeable)
        self.seal(1)
        np.testing.assert_array_equal(self.values(1), [1, 1, 1])

    def test_many_arrays(self):
        with self.map() as session:
            group = session.fetch_next()
            kept = [group.array(0) for _ in range(300)]
            for _ in range(3000):
                group.array(0)
            self.stage.unmap_attribute(session).wait()
            self.assertFalse(any(array.flags.writeable for array in kept))
            group.release()

    def test_arrays_outlive_everything(self):
        stage = ovstage.Stage()
        paths = ovstage.PathDictionary(stage)
        query = stage.query_from_path_list(paths.create_path_list_from_strings(["/A"]))
        session = stage.map_attribute(query, "a", 1, dtype="int64")
        group = session.fetch_next()
        array = group.array(0)
        gone = weakref.ref(group)
        stage.destroy()
        query.release()
        group.release()
        session.release()
        del stage, paths, query, session, group
        gc.collect()
        self.assertIsNone(gone())
        # It was discarded: what it holds is nobody's, but it is there.
        self.assertIsInstance(int(array[0]), int)

    def test_ended_once(self):
        session, other = self.map(), self.map()
        group = session.fetch_next()
        self.assert_over(self.stage.unmap_group(other, group))
        self.assertTrue(group.array(0).flags.writeable)
        self.stage.unmap_group(session, group).wait()
        self.assert_over(self.stage.unmap_group(session, group))
        self.stage.unmap_attribute(session).wait()
        self.assert_over(self.stage.unmap_attribute(session))
        other.discard()
        self.assert_over(self.stage.unmap_attribute(other))
        other.release()
        self.assert_over(self.stage.unmap_attribute(other))
        with self.assertRaises(OvstageError):
            other.fetch_next()
        session.release()

    def test_discard(self):
        with self.map() as session:
            group = session.fetch_next()
            array = group.array(0)
            array[:] = 1
            session.discard()
            self.assertFalse(array.flags.writeable)
            with self.assertRaises(OvstageError) as caught:
                group.array(0)
            self.assertEqual(caught.exception.code, ErrorCode.INVALID_HANDLE)
            with self.assertRaises(BufferError):
                group.dlpack(0)
            self.assertIsNone(session.fetch_next())
            group.release()
        with self.map() as session:
            session.fetch_next().release()
        self.seal(1)
        self.assertEqual(self.read(1), [])

    def test_arrays(self):
        with self.map(element_sizes=[2, 0, 3]) as session:
            group = session.fetch_next()
            self.assertTrue(group.is_array)
            self.assertEqual((group.tensor_count, group.prim_count, group.data_count), (3, 3, 3))
            arrays = [group.array(i) for i in range(3)]
            self.assertEqual([array.size for array in arrays], [2, 0, 3])
            arrays[0][:] = [1, 2]
            arrays[2][:] = [3, 4, 5]
            np.testing.assert_array_equal(np.from_dlpack(group.dlpack(2, readonly=True)), [3, 4, 5])
            address = arrays[2].ctypes.data
            self.stage.unmap_group(session, group).wait()
            self.assertFalse(any(array.flags.writeable for array in arrays))
            self.stage.unmap_attribute(session).wait()
        self.seal(1)
        with self.stage.read_attributes(self.query, ["a"], ovstage.OrdinalRange.latest(1)) as read:
            group = read.fetch_next()
            rows = [group.array(group.data_row_index(i)) for i in range(3)]
            self.assertEqual([row.tolist() for row in rows], [[1, 2], [], [3, 4, 5]])
            self.assertEqual(rows[2].ctypes.data, address)
            group.release()

    def test_groups_by_semantic(self):
        first = self.stage.query_from_path_list(self.paths.create_path_list_from_strings(["/World/P1"]))
        self.stage.write_attribute(
            first, "a", 1, np.zeros(1, np.float32), is_array=False, semantic=AttributeSemantic.COLOR
        ).wait()
        with self.map(2) as session:
            groups = list(session.groups())
            self.assertEqual([list(group.prim_indices) for group in groups], [[1], [0, 2]])
            self.assertEqual([group.has_prim_index_map for group in groups], [True, True])
            for group in groups:
                group.array(0)[:] = group.prim_indices
            self.stage.unmap_attribute(session).wait()
        self.seal(2)
        values = {prim: value for _, prims, rows in self.read(2) for prim, value in zip(prims, rows)}
        self.assertEqual(values, {0: 0, 1: 1, 2: 2})
        first.release()

    def test_of_another_stage(self):
        with ovstage.Stage() as other, self.map() as session:
            self.assert_over(other.unmap_attribute(session))
            group = session.fetch_next()
            self.assert_over(other.unmap_group(session, group))
            group.array(0)[:] = 1
            self.stage.unmap_attribute(session).wait()

    def test_destroyed_stage(self):
        session = self.map()
        group = session.fetch_next()
        self.stage.destroy()
        group.array(0)[:] = 1
        self.assert_over(self.stage.unmap_group(session, group))
        self.assert_over(self.stage.unmap_attribute(session))
        self.assert_over(self.map())
        group.release()
        session.release()

    def test_await(self):
        async def run():
            session = await self.map(initialize=True)
            async for group in session:
                group.array(0)[:] = 4
            await self.stage.unmap_attribute(session)
            session.release()

        asyncio.run(run())
        ovstage.glib.run(run())
        self.seal(1)
        np.testing.assert_array_equal(self.values(1), [4, 4, 4])


class Arguments(MapCase):
    def test_refused(self):
        self.seal(3)
        self.assert_code(self.map(3), ErrorCode.WRITE_FLOOR_VIOLATION)
        self.assert_code(self.map(4, prim_mode=PrimMode.UPDATE), ErrorCode.NOT_FOUND)
        self.assert_code(self.map(4, dtype=None), ErrorCode.INVALID_ARGUMENT)
        self.assert_code(self.map(4, dtype=DLDataType(2, 0, 1)), ErrorCode.INVALID_ARGUMENT)
        # Neither of the names that it has here and in C.
        self.assert_code(self.map(4, element_sizes=[1]), ErrorCode.INVALID_ARGUMENT, "element counts: 1 entries, expected 3")
        self.assert_code(self.map(4, attribute="usd-path"), ErrorCode.NOT_SUPPORTED)
        self.assert_code(self.map(4, attribute=""), ErrorCode.INVALID_ARGUMENT)
        self.assert_code(self.map(4, attribute=987654), ErrorCode.INVALID_HANDLE)
        self.assert_code(self.map(4, placement=ovstage.Placement(2)), ErrorCode.NOT_FOUND)
        refused = self.map(3)
        self.assertEqual(refused.op_id, 0)
        self.assertFalse(refused.ok)
        with self.assertRaises(OvstageError):
            refused.fetch_next()
        self.assert_code(self.stage.unmap_attribute(refused), ErrorCode.OP_FAILED)
        session = self.map(4)
        self.assert_code(self.stage.unmap_attribute(session, cuda_event=1), ErrorCode.NOT_SUPPORTED)
        session.release()

    def test_data_types(self):
        for i, dtype in enumerate((FLOAT32, "float32", np.float32, np.dtype("f4"))):
            with self.map(attribute=f"d{i}", dtype=dtype) as session:
                self.assertEqual(session.fetch_next().data_type, FLOAT32)
        for dtype, name in ((np.uint8, "uint8"), (np.bool_, "bool"), (np.complex128, "complex128"), (np.dtype("l"), "int64")):
            with self.map(attribute=name, dtype=dtype) as session:
                self.assertEqual(str(session.fetch_next().data_type), name)
        for dtype, name in (((np.float32, 3), "float32x3"), (("f8", (4, 4)), "float64x16")):
            with self.map(attribute=name, dtype=np.dtype(dtype)) as session:
                self.assertEqual(str(session.fetch_next().data_type), name)
        for shape in (65536, (256, 256), (30000, 3)):
            with self.assertRaisesRegex(ValueError, "dtype: .* 65535"):
                self.map(dtype=np.dtype((np.uint8, shape)))
        for dtype in (np.dtype(">f4"), np.dtype("U3"), np.dtype("datetime64[s]"), np.object_, np.dtype([("x", "f4")])):
            with self.subTest(dtype):
                with self.assertRaisesRegex(BufferError, "^dtype: "):
                    self.map(dtype=dtype)
        with self.assertRaisesRegex(TypeError, "dtype: .* numpy .* 'float'"):
            self.map(dtype=float)

    def test_types(self):
        session = self.map()
        for call in (
            lambda: self.map(dtype=3),
            lambda: self.map(dtype=float),
            lambda: self.map(dtype=(2, 32, 1)),
            lambda: self.map(initialize=1),
            lambda: self.map(element_sizes=3),
            lambda: self.map(element_sizes=[1.0, 2, 3]),
            lambda: self.map(ordinal=1.0),
            lambda: self.map(semantic="POINT"),
            lambda: self.map(prim_mode=None),
            lambda: self.map(placement="cpu"),
            lambda: self.map(attribute=None),
            lambda: self.stage.map_attribute(None, "a", 1),
            lambda: self.stage.map_attribute(self.query, "a"),
            lambda: self.stage.map_attribute(self.query, "a", 1, "float32"),
            lambda: self.stage.unmap_attribute(self.query),
            lambda: self.stage.unmap_group(session, None),
            lambda: self.stage.unmap_group(session, session),
            lambda: self.stage.unmap_attribute(session, cuda_event=1.0),
            lambda: ovstage.Map(),
            lambda: ovstage.MapGroup(),
        ):
            with self.assertRaises(TypeError):
                call()
        session.release()

    def test_ranges(self):
        session = self.map()
        for call in (
            lambda: self.map(dtype="float33x"),
            lambda: self.map(ordinal=-1),
            lambda: self.map(ordinal=2**64),
            lambda: self.map(semantic=99),
            lambda: self.map(prim_mode=3),
            lambda: self.map(element_sizes=[1, -1, 1]),
            lambda: self.stage.unmap_attribute(session, cuda_stream=-1),
        ):
            with self.assertRaises(ValueError):
                call()
        session.release()


class Warnings(MapCase):
    def warned(self, make):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            make()
            gc.collect()
        return [str(one.message).split()[1] for one in caught if one.category is ResourceWarning]

    def open_map(self):
        self.map()

    def open_group(self):
        with self.map() as session:
            group = session.fetch_next()
            del group

    def committed(self):
        session = self.map()
        group = session.fetch_next()
        self.stage.unmap_group(session, group)
        del group
        self.stage.unmap_attribute(session)

    def rest_committed(self):
        session = self.map()
        group = session.fetch_next()
        self.stage.unmap_attribute(session)
        del group

    def iterated(self):
        with self.map() as session:
            for group in session.groups():
                pass

    def discarded(self):
        session = self.map()
        group = session.fetch_next()
        session.discard()
        del group

    def refused(self):
        self.map(attribute="unknown", dtype=None)

    def test_warnings(self):
        self.assertEqual(self.warned(self.open_map), ["<ovstage.Map"])
        self.assertEqual(self.warned(self.open_group), ["<ovstage.MapGroup"])
        for fine in (self.committed, self.rest_committed, self.iterated, self.discarded, self.refused):
            self.assertEqual(self.warned(fine), [], fine.__name__)


if __name__ == "__main__":
    unittest.main()
