/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Every enum of the library, once. Plain C without GLib: the introspection
 * scanner reads this header and the flat handle API includes it. */

#pragma once

/**
 * OvstagePrimMode:
 * @OVSTAGE_PRIM_MODE_UPSERT: create the prims that are missing, write the others
 * @OVSTAGE_PRIM_MODE_INSERT: no target prim may exist, with whatever attribute
 * @OVSTAGE_PRIM_MODE_UPDATE: every target prim must exist
 *
 * What a write expects of the prims it targets.
 *
 * Since: 1.0
 */
typedef enum
{
  OVSTAGE_PRIM_MODE_UPSERT = 0,
  OVSTAGE_PRIM_MODE_INSERT = 1,
  OVSTAGE_PRIM_MODE_UPDATE = 2,
} OvstagePrimMode;

/**
 * OvstageScope:
 * @OVSTAGE_SCOPE_ALL: every attribute, and those to come
 * @OVSTAGE_SCOPE_INCLUDE: the listed attributes
 * @OVSTAGE_SCOPE_EXCLUDE: every attribute but the listed ones
 *
 * Which attributes an advance of the write floor moves.
 *
 * Since: 1.0
 */
typedef enum
{
  OVSTAGE_SCOPE_ALL = 0,
  OVSTAGE_SCOPE_INCLUDE = 1,
  OVSTAGE_SCOPE_EXCLUDE = 2,
} OvstageScope;

/**
 * OvstageSemantic:
 * @OVSTAGE_SEMANTIC_NONE: plain numbers
 * @OVSTAGE_SEMANTIC_ASSET_PATH_ID: ids of an asset path and its resolved path, `uint64x2`
 * @OVSTAGE_SEMANTIC_TOKEN_ID: token ids, `uint64`
 * @OVSTAGE_SEMANTIC_PATH_EXPRESSION_STRING: the token id of a path expression, `uint64`
 * @OVSTAGE_SEMANTIC_RELATIONSHIP_PATH_ID: prim path ids, arrays of `uint64`
 * @OVSTAGE_SEMANTIC_POINT: points
 * @OVSTAGE_SEMANTIC_VECTOR: vectors
 * @OVSTAGE_SEMANTIC_NORMAL: normals
 * @OVSTAGE_SEMANTIC_COLOR: colours
 * @OVSTAGE_SEMANTIC_QUATERNION: quaternions
 * @OVSTAGE_SEMANTIC_MATRIX: matrices
 * @OVSTAGE_SEMANTIC_TEXTURE_COORDINATE: texture coordinates
 * @OVSTAGE_SEMANTIC_CONNECTION_PATH_ID: prim path id and attribute token, arrays of `uint64x2`
 * @OVSTAGE_SEMANTIC_STRING: UTF-8 text, arrays of `uint8`
 * @OVSTAGE_SEMANTIC_TIME_CODE: time codes
 * @OVSTAGE_SEMANTIC_FRAME: coordinate frames
 *
 * What the bytes of an attribute mean, apart from their data type.
 *
 * Since: 1.0
 */
typedef enum
{
  OVSTAGE_SEMANTIC_NONE = 0,
  OVSTAGE_SEMANTIC_ASSET_PATH_ID = 1,
  OVSTAGE_SEMANTIC_TOKEN_ID = 2,
  OVSTAGE_SEMANTIC_PATH_EXPRESSION_STRING = 3,
  OVSTAGE_SEMANTIC_RELATIONSHIP_PATH_ID = 4,
  OVSTAGE_SEMANTIC_POINT = 5,
  OVSTAGE_SEMANTIC_VECTOR = 6,
  OVSTAGE_SEMANTIC_NORMAL = 7,
  OVSTAGE_SEMANTIC_COLOR = 8,
  OVSTAGE_SEMANTIC_QUATERNION = 9,
  OVSTAGE_SEMANTIC_MATRIX = 10,
  OVSTAGE_SEMANTIC_TEXTURE_COORDINATE = 11,
  OVSTAGE_SEMANTIC_CONNECTION_PATH_ID = 12,
  OVSTAGE_SEMANTIC_STRING = 13,
  OVSTAGE_SEMANTIC_TIME_CODE = 14,
  OVSTAGE_SEMANTIC_FRAME = 15,
} OvstageSemantic;

/**
 * OvstageFilterOp:
 * @OVSTAGE_FILTER_OP_HAS: the prim has the attribute
 * @OVSTAGE_FILTER_OP_IN: the value is one of those given
 * @OVSTAGE_FILTER_OP_CONTAINS: an element of an array, or a part of a text, is the value given
 * @OVSTAGE_FILTER_OP_PREFIX: a text begins with the one given
 * @OVSTAGE_FILTER_OP_LT: the value is less than the one given
 * @OVSTAGE_FILTER_OP_LE: the value is less than the one given, or equal
 * @OVSTAGE_FILTER_OP_GT: the value is greater than the one given
 * @OVSTAGE_FILTER_OP_GE: the value is greater than the one given, or equal
 * @OVSTAGE_FILTER_OP_SUBTREE: a path is the one given or below it
 *
 * How a predicate of a filter looks at a value.
 *
 * Since: 1.0
 */
typedef enum
{
  OVSTAGE_FILTER_OP_HAS = 0,
  OVSTAGE_FILTER_OP_IN = 1,
  OVSTAGE_FILTER_OP_CONTAINS = 2,
  OVSTAGE_FILTER_OP_PREFIX = 3,
  OVSTAGE_FILTER_OP_LT = 4,
  OVSTAGE_FILTER_OP_LE = 5,
  OVSTAGE_FILTER_OP_GT = 6,
  OVSTAGE_FILTER_OP_GE = 7,
  OVSTAGE_FILTER_OP_SUBTREE = 8,
} OvstageFilterOp;

/**
 * OvstageMapFlags:
 * @OVSTAGE_MAP_FLAGS_NONE: the memory of a map holds nothing in particular
 * @OVSTAGE_MAP_FLAGS_INITIALIZE: it holds the current values, and zeroes where there are none
 *
 * How the memory of a map is made.
 *
 * Since: 1.0
 */
typedef enum
{
  OVSTAGE_MAP_FLAGS_NONE = 0,
  OVSTAGE_MAP_FLAGS_INITIALIZE = 1 << 0,
} OvstageMapFlags;

/**
 * OvstageError:
 * @OVSTAGE_ERROR_INVALID_ARGUMENT: an argument or a field of a payload is wrong
 * @OVSTAGE_ERROR_INVALID_HANDLE: an id or object that is unknown, released or of another stage
 * @OVSTAGE_ERROR_NOT_FOUND: what was named does not exist
 * @OVSTAGE_ERROR_ALREADY_EXISTS: a prim that must not exist does
 * @OVSTAGE_ERROR_PRIM_NOT_FOUND: the documented name of `ALREADY_EXISTS`
 * @OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION: a write at or below the floor, or a read of what is not sealed
 * @OVSTAGE_ERROR_NOT_SUPPORTED: no backend, device or form for this
 * @OVSTAGE_ERROR_QUEUE_FULL: too many unfinished operations
 * @OVSTAGE_ERROR_END_OF_ITERATION: nothing more to fetch (flat API)
 * @OVSTAGE_ERROR_OUT_OF_MEMORY: memory or a budget is used up
 * @OVSTAGE_ERROR_LAYOUT_CHANGED: reserved
 * @OVSTAGE_ERROR_TIMEOUT: not finished within the time given
 * @OVSTAGE_ERROR_OP_FAILED: an operation this one depends on failed
 * @OVSTAGE_ERROR_OUT_OF_RANGE: values at that ordinal are no longer kept
 * @OVSTAGE_ERROR_INTERNAL: a defect of the library
 *
 * Error codes of the `OVSTAGE_ERROR` domain. The numbers are ABI and the same
 * in the flat API, where 0 is success: `OVSTAGE_OK`. Later versions may add codes.
 *
 * Since: 1.0
 */
typedef enum
{
#ifndef __GI_SCANNER__
  OVSTAGE_OK = 0, /*< skip >*/
#endif
  OVSTAGE_ERROR_INVALID_ARGUMENT = 1,
  OVSTAGE_ERROR_INVALID_HANDLE = 2,
  OVSTAGE_ERROR_NOT_FOUND = 3,
  OVSTAGE_ERROR_ALREADY_EXISTS = 4,
  OVSTAGE_ERROR_PRIM_NOT_FOUND = 4,
  OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION = 5,
  OVSTAGE_ERROR_NOT_SUPPORTED = 6,
  OVSTAGE_ERROR_QUEUE_FULL = 7,
  OVSTAGE_ERROR_END_OF_ITERATION = 8,
  OVSTAGE_ERROR_OUT_OF_MEMORY = 9,
  OVSTAGE_ERROR_LAYOUT_CHANGED = 10,
  OVSTAGE_ERROR_TIMEOUT = 11,
  OVSTAGE_ERROR_OP_FAILED = 12,
  OVSTAGE_ERROR_OUT_OF_RANGE = 13,
  OVSTAGE_ERROR_INTERNAL = 99,
} OvstageError;
