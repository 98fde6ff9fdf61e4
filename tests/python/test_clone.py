# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors
"""Clones of a subtree."""

import asyncio
import unittest

import numpy as np

from ovstage import ErrorCode, OrdinalRange, OvstageError
from support import StageCase


class Clones(StageCase):
    def setUp(self):
        super().setUp()
        self.a = np.arange(9, dtype=np.float32).reshape(3, 3)
        self.write(self.a).wait()

    def copies(self, *paths, attribute="a", ordinal=2):
        """The rows of some paths, by path."""
        path_list = self.paths.create_path_list_from_strings(list(paths))
        found = {}
        with self.stage.query_from_path_list(path_list) as query:
            with self.stage.read_attributes(query, [attribute], OrdinalRange.latest(ordinal)) as read:
                for group in read.groups():
                    with group:
                        rows = group.array(0).reshape(-1, 3)[group.data_rows]
                        found.update((paths[i], row.tolist()) for i, row in zip(group.prim_indices, rows))
        return found

    def test_waits(self):
        self.assertIsNone(self.stage.clone("/World", ["/X", "/Y/Z"], 2))
        self.seal(2)
        expected = {f"{target}/P{i}": self.a[i].tolist() for target in ("/X", "/Y/Z") for i in range(3)}
        self.assertEqual(self.copies(*expected, "/X", "/Y", "/X/P3"), expected)

    def test_async(self):
        operation = self.stage.clone_async(source="/World/P1", targets=(path for path in ["/X"]), ordinal=2)
        operation.wait()
        self.assertGreater(operation.op_id, 0)
        self.assertTrue(operation.ok)

        async def again():
            await self.stage.clone_async("/World/P2", ("/Z",), 2)

        asyncio.run(again())
        self.seal(2)
        self.assertEqual(self.copies("/X", "/Z"), {"/X": self.a[1].tolist(), "/Z": self.a[2].tolist()})

    def test_refused(self):
        for source, targets, code, text in (
            ("World", ["/X"], ErrorCode.INVALID_ARGUMENT, "source"),
            ("/World\0", ["/X"], ErrorCode.INVALID_ARGUMENT, "source"),
            ("/World", ["/X", "/\ud800"], ErrorCode.INVALID_ARGUMENT, "targets[1]"),
            ("/World", ["/X", "/X/Y"], ErrorCode.INVALID_ARGUMENT, "targets[1]"),
            ("/none", ["/X"], ErrorCode.NOT_FOUND, "/none"),
            ("/World", ["/X", "/World"], ErrorCode.ALREADY_EXISTS, "/World"),
        ):
            with self.assertRaises(OvstageError) as caught:
                self.stage.clone(source, targets, 2)
            self.assertIs(caught.exception.code, code)
            self.assertIn(text, caught.exception.message)
            self.assert_code(self.stage.clone_async(source, targets, 2), code, text)
        self.seal(2)
        self.assert_code(self.stage.clone_async("/World", ["/X"], 2), ErrorCode.WRITE_FLOOR_VIOLATION, "'a'")
        self.assertEqual(self.copies("/X", "/X/P0"), {})

    def test_types(self):
        for arguments in ((b"/World", ["/X"], 2), ("/World", "/X", 2), ("/World", 3, 2), ("/World", [3], 2), ("/World", ["/X"], 2.0)):
            for method in (self.stage.clone, self.stage.clone_async):
                with self.assertRaises(TypeError):
                    method(*arguments)
        for ordinal in (-1, 2**64):
            with self.assertRaises(ValueError):
                self.stage.clone("/World", ["/X"], ordinal)
        with self.assertRaises(TypeError):
            self.stage.clone("/World", ["/X"])

    def test_no_targets(self):
        self.stage.clone("/none", [], 2)

    def test_destroyed(self):
        self.stage.destroy()
        with self.assertRaises(OvstageError) as caught:
            self.stage.clone("/World", ["/X"], 2)
        self.assertIs(caught.exception.code, ErrorCode.INVALID_HANDLE)


if __name__ == "__main__":
    unittest.main()
