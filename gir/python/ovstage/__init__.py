# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors

"""Scene data in columns, shared within one process.

A stage keeps a column of values per attribute, one row per prim. Writes are
staged at an ordinal, advancing the write floor seals them, and reads give the
sealed values without a copy::

    import numpy as np
    import ovstage

    with ovstage.Stage("example") as stage, ovstage.PathDictionary(stage) as paths:
        prims = paths.create_path_list_from_strings(["/World/A", "/World/B"])
        with stage.query_from_path_list(prims) as query:
            stage.write_attribute(query, "mass", 1, np.array([1, 2], np.float32), is_array=False).wait()
            stage.advance_write_floor(1).wait()
            with stage.read_attributes(query, ["mass"], ovstage.OrdinalRange.latest(1)) as read:
                for group in read.groups():
                    print(group.array(0))

Every request gives an operation at once. What the store refuses is raised by
``wait()`` or ``await``, as an OvstageError with its code; the call itself
raises for wrong Python arguments only. Operations can be awaited in asyncio
and, by ``ovstage.glib``, in a GLib main loop.

All objects may be used from several threads.
"""

import atexit as _atexit

from ._enums import AttributeSemantic, DLDataTypeCode, DLDeviceType, ErrorCode, FilterOp, PrimMode, Scope
from ._errors import OvstageError, OvxError
from ._filters import Filter, Predicate
from ._types import DLDataType, DLDevice, Placement, ReadGroupMeta, WriteDesc
from ._native import (
    ORDINAL_NEWEST,
    TIMEOUT_INFINITE,
    DLTensor,
    ManagedDLTensor,
    Map,
    MapGroup,
    Operation,
    OrdinalRange,
    PathDictionary,
    PathList,
    Query,
    Read,
    ReadGroup,
    Stage,
    Watch,
    dltensor_to_numpy,
    library_version,
    make_dltensor,
)
from . import _native, glib

__all__ = [
    "ORDINAL_NEWEST",
    "TIMEOUT_INFINITE",
    "AttributeSemantic",
    "DLDataType",
    "DLDataTypeCode",
    "DLDevice",
    "DLDeviceType",
    "DLTensor",
    "ErrorCode",
    "Filter",
    "FilterOp",
    "ManagedDLTensor",
    "Map",
    "MapGroup",
    "Operation",
    "OrdinalRange",
    "OvstageError",
    "OvxError",
    "PathDictionary",
    "PathList",
    "Placement",
    "Predicate",
    "PrimMode",
    "Query",
    "Read",
    "ReadGroup",
    "ReadGroupMeta",
    "Scope",
    "Stage",
    "Watch",
    "WriteDesc",
    "dltensor_to_numpy",
    "glib",
    "library_version",
    "make_dltensor",
]

__version__ = ".".join(map(str, library_version()))

# Work that is in flight may need the interpreter to let go of what it holds.
_atexit.register(_native._drain)
