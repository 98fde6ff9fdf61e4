# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors

"""Filters and the queries that evaluate them."""

import unittest

import numpy as np

import ovstage
from ovstage import Filter, FilterOp, Predicate
from support import StageCase


class Filters(StageCase):
    PATHS = ("/W", "/W/A", "/W/B", "/W/B/C")

    def setUp(self):
        super().setUp()
        self.prims = self.paths.create_path_list_from_strings(self.PATHS)
        self.all = self.stage.query_from_path_list(self.prims)
        self.addCleanup(self.all.release)
        self.write("mass", np.array([1, 2, 4, np.nan], np.float32))
        self.write("n", np.array([2**53, 2**53 + 1, -(2**63), 2**63 - 1], np.int64))
        kinds = [self.paths.intern_token(text) for text in ("group", "body", "body", "joint")]
        self.write("kind", np.array(kinds, np.uint64), semantic=ovstage.AttributeSemantic.TOKEN_ID)

    def write(self, attribute, values, **options):
        self.stage.write_attribute(self.all, attribute, 1, values, is_array=False, **options).wait()

    def match(self, filter, attributes=()):
        with self.stage.query(filter, attributes) as query:
            query.wait()
            paths = self.paths.get_path_strings(query.path_list)
            self.assertEqual(query.prim_count, len(paths))
            return list(paths)

    def test_operators(self):
        everything = list(self.PATHS)
        for filter, expected in (
            (None, everything),
            (Filter(), everything),
            (Filter.has("mass"), everything),
            (Filter.has("nothing"), []),
            (Filter.in_("mass", [1, 4.0, 9]), ["/W", "/W/B"]),
            (Filter.in_("mass", np.array([2, 4], np.float32)), ["/W/A", "/W/B"]),
            (Filter.in_("kind", ("body", b"joint")), ["/W/A", "/W/B", "/W/B/C"]),
            (Filter.in_("mass", []), []),
            (Filter.compare("mass", FilterOp.GT, 1), ["/W/A", "/W/B"]),
            (Filter.compare("mass", FilterOp.LE, np.float32(2)), ["/W", "/W/A"]),
            (Filter.compare("kind", FilterOp.LT, "group"), ["/W/A", "/W/B"]),
            (Filter.prefix("kind", "gr"), ["/W"]),
            (Filter.contains("kind", "o"), everything),
            (Filter.subtree("/W/B"), ["/W/B", "/W/B/C"]),
            (Filter.prefix("usd-path", "/W/B"), ["/W/B", "/W/B/C"]),
            (Filter([Predicate("kind", FilterOp.IN, ["body"]), Predicate("mass", FilterOp.GE, [3])]), ["/W/B"]),
        ):
            with self.subTest(filter=getattr(filter, "_tree", None)):
                self.assertEqual(self.match(filter), expected)

    def test_trees(self):
        heavy = Filter.compare("mass", FilterOp.GT, 1)
        body = Filter.in_("kind", ["body"])
        self.assertEqual(self.match(heavy & body), ["/W/A", "/W/B"])
        self.assertEqual(self.match(heavy & ~Filter.subtree("/W/B")), ["/W/A"])
        self.assertEqual(self.match(~heavy | Filter.subtree("/W/B")), ["/W", "/W/B", "/W/B/C"])
        long = heavy
        for _ in range(3000):
            long = long & body
        self.assertEqual(self.match(long), ["/W/A", "/W/B"])

    def test_exact(self):
        self.assertEqual(self.match(Filter.in_("n", [2**53 + 1])), ["/W/A"])
        self.assertEqual(self.match(Filter.compare("n", FilterOp.GT, float(2**53))), ["/W/A", "/W/B/C"])
        self.assertEqual(self.match(Filter.compare("n", FilterOp.LE, -(2**63))), ["/W/B"])
        self.assertEqual(self.match(Filter.compare("n", FilterOp.LT, 2**64 - 1)), list(self.PATHS))
        self.assertEqual(self.match(Filter.in_("n", [True])), [])

    def test_attributes(self):
        with self.stage.query() as query:
            self.assertEqual(set(query.attributes), {self.paths.intern_token(name) for name in ("mass", "n", "kind")})
        with self.stage.query(Filter.has("mass"), ["kind", "nothing"]) as query:
            self.assertEqual(query.attributes, (self.paths.intern_token("kind"),))
        with self.stage.query(Filter.has("nothing")) as query:
            self.assertEqual(query.attributes, ())
        self.assertEqual(self.all.attributes, ())

    def test_used_before_it_is_done(self):
        with self.stage.query(Filter.compare("mass", FilterOp.GT, 1)) as query:
            write = self.stage.write_attribute(query, "found", 2, np.array([7, 8], np.int32), is_array=False)
            masked = self.stage.write_attribute(query, "chosen", 2, np.array([7, 8], np.int32), is_array=False, mask=np.array([False, True]))
            write.wait()
            masked.wait()
            self.assertEqual(self.match(Filter.has("found")), ["/W/A", "/W/B"])
            self.assertEqual(self.match(Filter.has("chosen")), ["/W/B"])
            self.stage.delete_attributes(query, ["found"], 3).wait()
            self.assertEqual(self.match(Filter.has("found")), [])

    def test_refused(self):
        for filter, code, says in (
            (Filter.compare("mass", FilterOp.GT, "x"), ovstage.ErrorCode.INVALID_ARGUMENT, "'mass'"),
            (Filter.prefix("mass", "x"), ovstage.ErrorCode.NOT_SUPPORTED, "PREFIX"),
            (Filter.has("usd-active"), ovstage.ErrorCode.NOT_SUPPORTED, "usd-active"),
            (Filter.has(2**40), ovstage.ErrorCode.INVALID_HANDLE, "unknown"),
            (Filter.has(0), ovstage.ErrorCode.INVALID_HANDLE, "token 0"),
            (Filter.subtree("W/B"), ovstage.ErrorCode.INVALID_ARGUMENT, r'SUBTREE: path "W/B" does not start with'),
        ):
            with self.assertRaisesRegex(ovstage.OvstageError, says) as caught:
                self.stage.query(filter).wait()
            self.assertEqual(caught.exception.code, code)

    def test_arguments(self):
        for error, call in (
            (TypeError, lambda: self.stage.query("mass")),
            (TypeError, lambda: self.stage.query(Filter.has(1.5))),
            (TypeError, lambda: self.stage.query(Filter.has("mass"), "mass")),
            (TypeError, lambda: Filter(["mass"])),
            (TypeError, lambda: Filter.in_("mass", "text")),
            (TypeError, lambda: Filter.in_("mass", 1)),
            (TypeError, lambda: Filter.in_("mass", [[1]])),
            (TypeError, lambda: Filter.compare("mass", FilterOp.GT, None)),
            (TypeError, lambda: Filter.subtree(b"/W")),
            (TypeError, lambda: Filter.has("mass") & True),
            (TypeError, lambda: Filter.has("mass") and Filter.has("n")),
            (TypeError, lambda: not Filter.has("mass")),
            (ValueError, lambda: Filter.compare("mass", 9, 1)),
            (ValueError, lambda: Filter.compare("mass", FilterOp.HAS, 1)),
            (ValueError, lambda: Filter.compare("mass", FilterOp.GT, 2**64)),
            (ValueError, lambda: Predicate("mass", FilterOp.GT, [1, 2])),
            (ValueError, lambda: Filter.prefix("kind", "\ud800")),
        ):
            with self.assertRaises(error):
                call()

    def test_repr(self):
        for filter, text in (
            (Filter.has(7), "7 HAS"),
            (Filter.subtree("/W") & ~Filter.in_("mass", [1, 2.5]), "('usd-path' SUBTREE b'/W' & ~'mass' IN 1 2.5)"),
            (Filter.has("a") | (Filter.has("b") & Filter.has("c")), "('a' HAS | ('b' HAS & 'c' HAS))"),
            (Filter(), "()"),
        ):
            self.assertEqual(repr(filter), f"<ovstage.Filter {text}>")

    def test_nested_deep(self):
        filter = Filter.has("mass")
        for _ in range(100000):
            filter = ~filter
        self.assertEqual(repr(filter).count("~"), 100000)
        with self.assertRaisesRegex(ovstage.OvstageError, "nested 100001 deep, expected 1000 at most") as caught:
            self.stage.query(filter).wait()
        self.assertEqual(caught.exception.code, ovstage.ErrorCode.INVALID_ARGUMENT)
        filter = Filter.has("mass")
        for _ in range(499):
            filter = ~(filter & Filter.has("mass"))
        self.assertEqual(self.match(filter | Filter.has("mass")), self.match(Filter.has("mass")))
        for _ in range(2):
            filter = ~filter
        with self.assertRaisesRegex(ovstage.OvstageError, "nested 1001 deep"):
            self.stage.query(filter).wait()

    def test_destroyed(self):
        stage = ovstage.Stage()
        stage.destroy()
        with self.assertRaises(ovstage.OvstageError) as caught:
            stage.query(Filter.subtree("/W")).wait()
        self.assertEqual(caught.exception.code, ovstage.ErrorCode.INVALID_HANDLE)


if __name__ == "__main__":
    unittest.main()
