# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors
"""The array libraries that tensors are exchanged with: how each makes an array, takes one and shows one, and what it lacks.

What a library lacks is written down here, so that the tests fail as soon as it learns it, or as something is lost.
"""

import os
import sys
import tempfile
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "python"))
# Warp writes what it compiles; tests write into their own folder only.
os.environ["WARP_CACHE_PATH"] = os.path.join(os.environ.get("TMPDIR", tempfile.gettempdir()), "warp")
os.environ["JAX_PLATFORMS"] = "cpu"

import array_api_strict as strict
import jax
import ml_dtypes
import numpy as np
import pyarrow
import tvm_ffi
import warp

import ovstage
from support import Producer, steal

jax.config.update("jax_enable_x64", True)
warp.config.log_level = warp.LOG_ERROR
warp.init()
warnings.filterwarnings("ignore", module="array_api_strict")

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
FLOAT8 = (
    "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz",
    "float8_e8m0fnu",
)  # fmt: skip
DTYPES = ("bool", *INTEGERS, *FLOATS, *COMPLEX, "bfloat16", *FLOAT8)
SMALL_FLOATS = ("bfloat16", *FLOAT8)


def dtype(name):
    return np.dtype(getattr(ml_dtypes, name)) if name in SMALL_FLOATS else np.dtype(name)


def values(name, n):
    """A vector of n values of a type, no two bytes the same where there is room."""
    raw = np.arange(1, n * dtype(name).itemsize + 1, dtype=np.uint8)
    return (raw % 2 == 0 if name == "bool" else raw.view(dtype(name))).copy()


def raw(array):
    """The values of a numpy array as bytes, and how they are laid out."""
    array = np.asarray(array)
    return array.shape, array.dtype.name, array.tobytes()


BASE = np.arange(12, dtype=np.float32)
LAYOUTS = {
    "0-d": BASE[3:4].reshape(()),
    "empty": BASE[:0],
    "empty rows": BASE[:0].reshape(0, 3),
    "sliced": BASE[3:7],
    "strided": BASE[::2],
    "reversed": BASE[::-1],
    "broadcast": np.broadcast_to(BASE[3:4], (4,)),
    "matrix": BASE.reshape(3, 4),
    "transposed": BASE.reshape(3, 4).T,
}
DIMS = ("0-d", "empty rows", "matrix", "transposed")
STRIDES = ("strided", "reversed", "broadcast")


class Framework:
    lacks = ()  # dtypes that it has no arrays of, or does not give away
    takes_not = ()  # dtypes that it does not take, or not as they are
    layouts_not = ()  # layouts that it does not give
    takes_layouts_not = ()
    keeps_strides = True  # what it makes of a numpy array shares the memory
    read_only = "kept"  # what becomes of the flag

    def make(self, array):
        raise NotImplementedError

    def take(self, tensor):
        raise NotImplementedError

    def show(self, array):
        """As a numpy array over the same memory, if it can."""
        return np.asarray(array)


class Numpy(Framework):
    name = f"numpy {np.__version__}"
    takes_not = SMALL_FLOATS

    def make(self, array):
        return array

    def take(self, tensor):
        return np.from_dlpack(tensor)


class Jax(Framework):
    name = f"JAX {jax.__version__}"
    takes_layouts_not = STRIDES
    keeps_strides = False

    def make(self, array):
        return jax.numpy.asarray(array)

    def take(self, tensor):
        return jax.dlpack.from_dlpack(tensor)


class Warp(Framework):
    name = f"Warp {warp.__version__}"
    lacks = takes_not = (*COMPLEX, *FLOAT8)
    layouts_not = takes_layouts_not = ("0-d",)
    read_only = "lost"

    def make(self, array):
        return warp.array(array, dtype=warp.dtype_from_numpy(array.dtype), device="cpu", copy=False)

    def take(self, tensor):
        return warp.from_dlpack(tensor)

    def show(self, array):
        return array.numpy()


class TvmFfi(Framework):
    """Its tensors are made and shown by way of JAX where numpy has no DLPack for their type."""

    name = f"tvm-ffi {tvm_ffi.__version__}"
    # It wants legacy capsules of others, which numpy does not give of what is read-only, as broadcasts are.
    layouts_not = ("broadcast",)
    read_only = "lost"

    def make(self, array):
        return tvm_ffi.from_dlpack(jax.numpy.asarray(array) if array.dtype.name in SMALL_FLOATS else array)

    def take(self, tensor):
        return tvm_ffi.from_dlpack(tensor)

    def show(self, array):
        try:
            return np.from_dlpack(array)
        except RuntimeError:
            return np.asarray(jax.dlpack.from_dlpack(array))


class TvmFfiTable(TvmFfi):
    """The class of tvm-ffi that carries an exchange table; a function of tvm-ffi takes and gives tensors by ours."""

    name = f"tvm-ffi {tvm_ffi.__version__}, by tables"
    echo = staticmethod(tvm_ffi.get_global_func("testing.echo"))

    def make(self, array):
        return tvm_ffi.core.DLTensorTestWrapper(super().make(array))

    def take(self, tensor):
        taken = self.echo(tensor)
        assert type(taken) is ovstage.ManagedDLTensor and taken is not tensor
        return taken


class Arrow(Framework):
    """It takes by the buffer protocol, as it has no from_dlpack()."""

    name = f"PyArrow {pyarrow.__version__}"
    lacks = ("bool", *COMPLEX, *SMALL_FLOATS)
    takes_not = ("bool", *COMPLEX, *SMALL_FLOATS)
    layouts_not = DIMS
    takes_layouts_not = ("reversed",)
    keeps_strides = False

    def make(self, array):
        return pyarrow.array(array)

    def take(self, tensor):
        return pyarrow.Tensor.from_numpy(np.asarray(tensor))


class Strict(Framework):
    name = f"array-api-strict {strict.__version__}"
    lacks = takes_not = ("float16", *SMALL_FLOATS)

    def make(self, array):
        return strict.asarray(array)

    def take(self, tensor):
        return strict.from_dlpack(tensor)


FRAMEWORKS = [framework() for framework in (Numpy, Jax, Warp, TvmFfi, TvmFfiTable, Arrow, Strict)]

def tensor_of(array, **kwargs):
    """A ManagedDLTensor over the memory of a numpy array, strides and all, and the Producer that tells of its end."""
    producer = Producer(array, **kwargs)
    return steal(producer.address()), producer


class Record:
    """What came out, for the file."""

    def __init__(self):
        self.cells = {}
        self.rows = {}

    def note(self, part, row, column, text):
        self.rows.setdefault(part, {}).setdefault(row, None)
        self.cells[part, row, column] = text

    def write(self, path):
        lines = ["# What goes between ovstage and other array libraries", ""]
        lines += [f"Written by `./quickstart check-interop`, with Python {sys.version.split()[0]}. \"yes\" shares the memory, \"copy\" does not,"]
        lines += ["\"yes, its own\" is memory that the library had made for its array before. \"no\" is what a library lacks or refuses.", ""]
        for part, rows in self.rows.items():
            columns = [framework.name for framework in FRAMEWORKS if any((part, row, framework.name) in self.cells for row in rows)]
            lines += [f"## {part}", "", f"| | {' | '.join(columns)} |", f"|---|{'---|' * len(columns)}"]
            lines += [f"| {row} | {' | '.join(self.cells.get((part, row, column), '') for column in columns)} |" for row in rows]
            lines += [""]
        with open(path, "w") as file:
            file.write("\n".join(lines))


record = Record()
