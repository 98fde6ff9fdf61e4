# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors

"""The enums of the library. The numbers are those of the C headers."""

from enum import IntEnum


class ErrorCode(IntEnum):
    """What went wrong.

    OK: nothing did
    INVALID_ARGUMENT: an argument, or a field of a payload, is wrong
    INVALID_HANDLE: an id or object that is unknown, released or of another stage
    NOT_FOUND: what was named does not exist
    ALREADY_EXISTS: a prim that must not exist does
    PRIM_NOT_FOUND: the documented name of ALREADY_EXISTS
    WRITE_FLOOR_VIOLATION: a write at or below the floor, or a read of what is not sealed
    NOT_SUPPORTED: no backend, device or form for this
    QUEUE_FULL: too many unfinished operations
    END_OF_ITERATION: nothing more to fetch; of the flat API, not raised here
    OUT_OF_MEMORY: memory or a budget is used up
    LAYOUT_CHANGED: reserved
    TIMEOUT: not finished within the time given
    OP_FAILED: an operation this one depends on failed, or was cancelled
    OUT_OF_RANGE: values or changes at that ordinal are no longer kept
    INTERNAL: a defect of the library

    A later library may have more codes: ``code`` is a plain int then.
    """

    OK = 0
    INVALID_ARGUMENT = 1
    INVALID_HANDLE = 2
    NOT_FOUND = 3
    ALREADY_EXISTS = 4
    PRIM_NOT_FOUND = 4
    WRITE_FLOOR_VIOLATION = 5
    NOT_SUPPORTED = 6
    QUEUE_FULL = 7
    END_OF_ITERATION = 8
    OUT_OF_MEMORY = 9
    LAYOUT_CHANGED = 10
    TIMEOUT = 11
    OP_FAILED = 12
    OUT_OF_RANGE = 13
    INTERNAL = 99


class PrimMode(IntEnum):
    """What a write expects of the prims it targets.

    UPSERT: nothing: those that are missing are created
    INSERT: that none of them exists, with whatever attribute; else ALREADY_EXISTS
    UPDATE: that all of them exist; else NOT_FOUND
    """

    UPSERT = 0
    INSERT = 1
    UPDATE = 2


class Scope(IntEnum):
    """Which attributes an advance of the write floor moves.

    ALL: all of them, and those to come
    INCLUDE: those listed
    EXCLUDE: all but those listed
    """

    ALL = 0
    INCLUDE = 1
    EXCLUDE = 2


class AttributeSemantic(IntEnum):
    """What the bytes of an attribute mean, apart from their data type.

    NONE: plain numbers
    ASSET_PATH_ID: ids of an asset path and its resolved path, uint64x2
    TOKEN_ID: token ids, uint64
    PATH_EXPRESSION_STRING: the token id of a path expression, uint64
    RELATIONSHIP_PATH_ID: prim path ids, arrays of uint64
    POINT: points
    VECTOR: vectors
    NORMAL: normals
    COLOR: colours
    QUATERNION: quaternions
    MATRIX: matrices
    TEXTURE_COORDINATE: texture coordinates
    CONNECTION_PATH_ID: prim path id and attribute token, arrays of uint64x2
    STRING: UTF-8 text, arrays of uint8
    TIME_CODE: time codes
    FRAME: coordinate frames

    A data type that does not fit one of the ids or STRING is INVALID_ARGUMENT.
    """

    NONE = 0
    ASSET_PATH_ID = 1
    TOKEN_ID = 2
    PATH_EXPRESSION_STRING = 3
    RELATIONSHIP_PATH_ID = 4
    POINT = 5
    VECTOR = 6
    NORMAL = 7
    COLOR = 8
    QUATERNION = 9
    MATRIX = 10
    TEXTURE_COORDINATE = 11
    CONNECTION_PATH_ID = 12
    STRING = 13
    TIME_CODE = 14
    FRAME = 15


class DLDataTypeCode(IntEnum):
    """The kinds of numbers of DLPack, by its names."""

    kDLInt = 0
    kDLUInt = 1
    kDLFloat = 2
    kDLOpaqueHandle = 3
    kDLBfloat = 4
    kDLComplex = 5
    kDLBool = 6
    kDLFloat8_e3m4 = 7
    kDLFloat8_e4m3 = 8
    kDLFloat8_e4m3b11fnuz = 9
    kDLFloat8_e4m3fn = 10
    kDLFloat8_e4m3fnuz = 11
    kDLFloat8_e5m2 = 12
    kDLFloat8_e5m2fnuz = 13
    kDLFloat8_e8m0fnu = 14
    kDLFloat6_e2m3fn = 15
    kDLFloat6_e3m2fn = 16
    kDLFloat4_e2m1fn = 17


class DLDeviceType(IntEnum):
    """The kinds of devices of DLPack, by its names."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17
    kDLTrn = 18


class FilterOp(IntEnum):
    """How a predicate of a filter looks at a value.

    HAS: the prim has the attribute
    IN: the value is one of those given
    CONTAINS: an element of an array, or a part of a text, is the value given
    PREFIX: a text begins with the one given
    LT: the value is less than the one given
    LE: the value is less than the one given, or equal
    GT: the value is greater than the one given
    GE: the value is greater than the one given, or equal
    SUBTREE: a path is the one given or below it
    """

    HAS = 0
    IN = 1
    CONTAINS = 2
    PREFIX = 3
    LT = 4
    LE = 5
    GT = 6
    GE = 7
    SUBTREE = 8
