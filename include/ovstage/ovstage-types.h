/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#pragma once

#if !defined(__OVSTAGE_H_INSIDE__) && !defined(OVSTAGE_COMPILATION)
#error "Only <ovstage/ovstage.h> can be included directly."
#endif

#include <glib.h>

#include <ovstage/ovstage-enums.h>

G_BEGIN_DECLS

/**
 * OvstageToken:
 *
 * The id of an interned string, such as the name of an attribute. Small, for
 * the life of its dictionary; 0 stands for the empty string.
 *
 * Since: 1.0
 */
typedef guint64 OvstageToken;

/**
 * OvstagePath:
 *
 * The id of an interned prim path. Small, never 0, for the life of its
 * dictionary.
 *
 * Since: 1.0
 */
typedef guint64 OvstagePath;

/**
 * OVSTAGE_ORDINAL_NEWEST:
 *
 * As the ordinal of a read: each attribute as of its own write floor when the
 * read runs. Not a valid ordinal for anything else. Bindings have no constant
 * for it: it is `0xffffffffffffffffn` in JavaScript and `uint64.MAX` in Vala.
 *
 * Since: 1.0
 */
#ifndef OVSTAGE_ORDINAL_NEWEST
#define OVSTAGE_ORDINAL_NEWEST G_MAXUINT64
#endif

/**
 * OVSTAGE_TIMEOUT_INFINITE:
 *
 * A timeout that never ends. Timeouts are in nanoseconds, 0 polls.
 *
 * Since: 1.0
 */
#ifndef OVSTAGE_TIMEOUT_INFINITE
#define OVSTAGE_TIMEOUT_INFINITE (-1)
#endif

typedef struct _OvstageDataType OvstageDataType;
typedef struct _OvstageTensor OvstageTensor;
typedef struct _OvstageWriteData OvstageWriteData;
typedef struct _OvstagePathList OvstagePathList;
typedef struct _OvstageOrdinalRange OvstageOrdinalRange;
typedef struct _OvstagePlacement OvstagePlacement;
typedef struct _OvstageReadGroup OvstageReadGroup;
typedef struct _OvstageFilter OvstageFilter;
typedef struct _OvstageMapGroup OvstageMapGroup;

G_END_DECLS
