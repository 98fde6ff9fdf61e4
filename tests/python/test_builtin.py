# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors
"""Attributes that are built in."""

import unittest

import numpy as np

from ovstage import AttributeSemantic, ErrorCode, OrdinalRange
from support import StageCase


class Builtins(StageCase):
    def setUp(self):
        super().setUp()
        self.write(np.arange(2, dtype=np.float32), count=2).wait()

    def texts(self, attribute):
        """The path of each prim's row, by prim."""
        ((ordinal, prims, rows),) = self.read(0, attribute)
        self.assertEqual((ordinal, rows.dtype), (0, np.uint64))
        return {prim: self.paths.path_to_string(int(row)) for prim, row in zip(prims, rows)}

    def test_path(self):
        self.assertEqual(self.texts("usd-path"), {0: "/World/P0", 1: "/World/P1"})

    def test_parent(self):
        self.assertEqual(self.texts("usd-parent"), {0: "/World", 1: "/World"})

    def test_children(self):
        path_list = self.paths.create_path_list_from_strings(["/World", "/World/P0"])
        with self.stage.query_from_path_list(path_list) as query:
            self.stage.write_attribute(query, "b", 1, np.zeros(2, np.float32), is_array=False).wait()
            with self.stage.read_attributes(query, ["usd-children"], OrdinalRange.newest()) as read:
                group = read.fetch_next()
                self.assertIs(group.is_array, True)
                self.assertEqual(group.tensor_count, 2)
                children = [[self.paths.path_to_string(int(id)) for id in group.array(i)] for i in range(2)]
                group.release()
        self.assertEqual(children, [["/World/P0", "/World/P1"], []])

    def test_deleted(self):
        self.seal(1)
        self.stage.delete_attributes(self.query, ["a"], 2).wait()
        self.assertEqual(self.read(1, "usd-path"), [])
        self.assertEqual(len(self.values(1)), 2)

    def test_prim_type(self):
        mesh, camera = (self.paths.intern_token(name) for name in ("Mesh", "Camera"))
        types = np.array([mesh, camera, mesh], np.uint64)
        self.write(types, 2, "usd-prim-type", semantic=AttributeSemantic.TOKEN_ID).wait()
        self.seal(2)
        self.assertEqual(self.values(2, "usd-prim-type").tolist(), types.tolist())

    def test_not_supported(self):
        read = self.stage.read_attributes(self.query, ["usd-path", "usd-active"], OrdinalRange.latest(0))
        self.assert_code(read, ErrorCode.NOT_SUPPORTED, "usd-active")
        read.release()


if __name__ == "__main__":
    unittest.main()
