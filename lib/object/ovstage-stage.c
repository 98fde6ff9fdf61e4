/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include <ovstage/ovstage-stage.h>

#include "base/ovs-error.h"
#include "object/ovstage-emitter-private.h"
#include "object/ovstage-operation-private.h"
#include "object/ovstage-path-dictionary-private.h"
#include "object/ovstage-watch-private.h"
#include "op/ovs-stage.h"

/**
 * OvstageStage:
 *
 * A store of scene data: attributes of prims, written, sealed and read at ordinals
 * that the caller chooses.
 *
 * A write brings one row of a tensor for each prim of a query and becomes readable
 * once the write floor has risen to its ordinal: it is then sealed and never
 * changes. A read gives groups whose tensors point into the stage, without a copy.
 * Writers do not wait for readers, nor readers for writers.
 *
 * Each request returns an [class@Ovstage.Operation] at once. What is wrong with it
 * is told by the operation, not by the call.
 *
 * ```c
 * const char *paths[] = { "/World/A", "/World/B", NULL };
 * g_autoptr (OvstageStage) stage = ovstage_stage_new ("example");
 * OvstagePathDictionary *dictionary = ovstage_stage_get_path_dictionary (stage);
 * OvstageToken mass = ovstage_path_dictionary_intern_token (dictionary, "mass", NULL);
 * g_autoptr (OvstagePathList) prims = ovstage_path_dictionary_create_path_list (dictionary, paths, NULL);
 * g_autoptr (OvstageQuery) query = ovstage_stage_query_path_list (stage, prims);
 * g_autoptr (OvstageOperation) write = NULL;
 * g_autoptr (OvstageOperation) seal = NULL;
 *
 * write = ovstage_stage_write_attribute (stage, query, mass, 1, data, OVSTAGE_PRIM_MODE_UPSERT, NULL);
 * seal = ovstage_stage_advance_write_floor (stage, 1, OVSTAGE_SCOPE_ALL, NULL, 0);
 * ```
 *
 * All methods may be called from any thread. Signals are emitted in the main
 * context that was thread-default when the stage was made, and only there.
 * Destroy notifies of tensors may run in any thread, also in a thread of the stage;
 * they may submit requests but not wait for them.
 *
 * Dropping the last reference closes the stage: work that has not begun is
 * withdrawn, running work ends, and every wait gets its result. Groups and tensors
 * that are held stay valid.
 *
 * After fork() the child has a stage of its own, with threads of its own, if nothing
 * was in flight and no other thread was in a call just then. What was never ends there.
 *
 * Since: 1.0
 */

struct _OvstageStage
{
  GObject parent_instance;
  OvsStage *core; /* (owned) */
  OvstagePathDictionary *dictionary; /* (owned) */
  OvstageEmitter *emitter; /* (owned) */
  OvsStageConfig config;
  char *name; /* (owned) (nullable) */
};

enum
{
  PROP_NAME = 1,
  PROP_HISTORY_DEPTH,
  PROP_QUEUE_CAPACITY,
  PROP_CHANGE_BUDGET,
  PROP_STAGING_BUDGET,
  PROP_WRITE_FLOOR,
  N_PROPS
};

enum
{
  SIGNAL_SEALED,
  N_SIGNALS
};

static GParamSpec *props[N_PROPS];
static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE (OvstageStage, ovstage_stage, G_TYPE_OBJECT)

static void
ovstage_stage_constructed (GObject *object)
{
  OvstageStage *self = OVSTAGE_STAGE (object);

  G_OBJECT_CLASS (ovstage_stage_parent_class)->constructed (object);

  self->core = ovs_stage_new (&self->config);
  self->dictionary = _ovstage_path_dictionary_new (ovs_stage_get_dict (self->core));
  self->emitter = _ovstage_emitter_new (self, self->core, props[PROP_WRITE_FLOOR], signals[SIGNAL_SEALED]);
}

static void
ovstage_stage_dispose (GObject *object)
{
  OvstageStage *self = OVSTAGE_STAGE (object);

  _ovstage_emitter_close (self->emitter);
  ovs_stage_close (self->core);
  G_OBJECT_CLASS (ovstage_stage_parent_class)->dispose (object);
}

static void
ovstage_stage_finalize (GObject *object)
{
  OvstageStage *self = OVSTAGE_STAGE (object);

  g_clear_object (&self->dictionary);
  g_clear_pointer (&self->core, ovs_stage_unref);
  g_clear_pointer (&self->emitter, _ovstage_emitter_unref);
  g_clear_pointer (&self->name, g_free);
  G_OBJECT_CLASS (ovstage_stage_parent_class)->finalize (object);
}

static void
ovstage_stage_get_property (GObject *object, guint prop_id, GValue *value, GParamSpec *pspec)
{
  OvstageStage *self = OVSTAGE_STAGE (object);

  switch (prop_id)
    {
    case PROP_NAME:
      g_value_set_string (value, self->name);
      break;
    case PROP_HISTORY_DEPTH:
      g_value_set_uint (value, self->config.history_depth);
      break;
    case PROP_QUEUE_CAPACITY:
      g_value_set_uint (value, self->config.queue_capacity);
      break;
    case PROP_CHANGE_BUDGET:
      g_value_set_uint64 (value, self->config.change_budget);
      break;
    case PROP_STAGING_BUDGET:
      g_value_set_uint64 (value, self->config.staging_budget);
      break;
    case PROP_WRITE_FLOOR:
      g_value_set_uint64 (value, ovs_stage_get_floor (self->core));
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
ovstage_stage_set_property (GObject *object, guint prop_id, const GValue *value, GParamSpec *pspec)
{
  OvstageStage *self = OVSTAGE_STAGE (object);

  switch (prop_id)
    {
    case PROP_NAME:
      self->name = g_value_dup_string (value);
      break;
    case PROP_HISTORY_DEPTH:
      self->config.history_depth = g_value_get_uint (value);
      break;
    case PROP_QUEUE_CAPACITY:
      self->config.queue_capacity = g_value_get_uint (value);
      break;
    case PROP_CHANGE_BUDGET:
      self->config.change_budget = g_value_get_uint64 (value);
      break;
    case PROP_STAGING_BUDGET:
      self->config.staging_budget = g_value_get_uint64 (value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
ovstage_stage_class_init (OvstageStageClass *klass)
{
  const GParamFlags construct = G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS;
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->constructed = ovstage_stage_constructed;
  object_class->dispose = ovstage_stage_dispose;
  object_class->finalize = ovstage_stage_finalize;
  object_class->get_property = ovstage_stage_get_property;
  object_class->set_property = ovstage_stage_set_property;

  /**
   * OvstageStage:name:
   *
   * A name for messages and debuggers. Need not be unique. `NULL` by default.
   *
   * Since: 1.0
   */
  props[PROP_NAME] = g_param_spec_string ("name", NULL, NULL, NULL, construct);

  /**
   * OvstageStage:history-depth:
   *
   * How many sealed versions of a column are kept, counted in ordinals at which it
   * changed. With 1, the default, only the newest; reads at older ordinals then give
   * `OVSTAGE_ERROR_OUT_OF_RANGE`. At least 1.
   *
   * Since: 1.0
   */
  props[PROP_HISTORY_DEPTH] = g_param_spec_uint ("history-depth", NULL, NULL, 1, G_MAXUINT, 1, construct);

  /**
   * OvstageStage:queue-capacity:
   *
   * How many operations may be unfinished at a time. A request past it is refused
   * with `OVSTAGE_ERROR_QUEUE_FULL`. At least 1; 4096 by default.
   *
   * Since: 1.0
   */
  props[PROP_QUEUE_CAPACITY] = g_param_spec_uint ("queue-capacity", NULL, NULL, 1, G_MAXUINT, OVS_QUEUE_CAPACITY, construct);

  /**
   * OvstageStage:change-budget:
   *
   * How many bytes are spent, for each attribute, on what changed at which ordinal.
   * 0, the default, lets the stage choose: a share of what the attribute holds, and at
   * least enough for some thousand frames of a loop through one path list. Beyond it the
   * oldest changes are forgotten, see [method@Ovstage.Stage.get_oldest_preserved_ordinal].
   *
   * Since: 1.0
   */
  props[PROP_CHANGE_BUDGET] = g_param_spec_uint64 ("change-budget", NULL, NULL, 0, G_MAXUINT64, 0, construct);

  /**
   * OvstageStage:staging-budget:
   *
   * How many bytes of values may be written and not yet sealed. A write past it is
   * refused with `OVSTAGE_ERROR_OUT_OF_MEMORY`. 0, the default, is half of the
   * machine's memory.
   *
   * Since: 1.0
   */
  props[PROP_STAGING_BUDGET] = g_param_spec_uint64 ("staging-budget", NULL, NULL, 0, G_MAXUINT64, 0, construct);

  /**
   * OvstageStage:write-floor: (getter get_write_floor)
   *
   * The ordinal up to which every attribute is sealed. Only rises.
   *
   * Notifications come in the main context that was thread-default when the stage
   * was made, one for several rises if they come faster than it turns.
   *
   * Since: 1.0
   */
  props[PROP_WRITE_FLOOR] = g_param_spec_uint64 ("write-floor", NULL, NULL, 0, G_MAXUINT64, 0,
                                                 G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);

  g_object_class_install_properties (object_class, N_PROPS, props);

  /**
   * OvstageStage::sealed:
   * @self: the stage
   * @ordinal: the write floor that was reached
   *
   * Emitted when the write floor of all attributes has risen, in the main context
   * that was thread-default when the stage was made.
   *
   * Rises that come faster than that context turns are folded into one emission,
   * with the newest ordinal. Values at @ordinal stay readable until the handlers
   * have returned, whatever is written and sealed in the meantime. Handlers that turn
   * the context meet no further emission until they return. Advances of some
   * attributes only are seen here once the lowest floor has risen.
   *
   * Since: 1.0
   */
  signals[SIGNAL_SEALED] = g_signal_new ("sealed", G_TYPE_FROM_CLASS (klass), G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                                         G_TYPE_NONE, 1, G_TYPE_UINT64);
}

static void
ovstage_stage_init (OvstageStage *self)
{
}

/**
 * ovstage_stage_new:
 * @name: (nullable): a name for messages and debuggers
 *
 * Makes an empty stage with the default settings. Its write floor is 0.
 *
 * Returns: (transfer full): the new stage
 *
 * Since: 1.0
 */
OvstageStage *
ovstage_stage_new (const char *name)
{
  return g_object_new (OVSTAGE_TYPE_STAGE, "name", name, NULL);
}

/**
 * ovstage_stage_get_path_dictionary:
 * @self: a stage
 *
 * Gets the dictionary of the stage's tokens and prim paths.
 *
 * Returns: (transfer none): the dictionary
 *
 * Since: 1.0
 */
OvstagePathDictionary *
ovstage_stage_get_path_dictionary (OvstageStage *self)
{
  g_return_val_if_fail (OVSTAGE_IS_STAGE (self), NULL);

  return self->dictionary;
}

/**
 * ovstage_stage_get_write_floor:
 * @self: a stage
 *
 * Gets the ordinal up to which every attribute is sealed: immutable and readable.
 * It only rises.
 *
 * Returns: the write floor, 0 at first
 *
 * Since: 1.0
 */
guint64
ovstage_stage_get_write_floor (OvstageStage *self)
{
  g_return_val_if_fail (OVSTAGE_IS_STAGE (self), 0);

  return ovs_stage_get_floor (self->core);
}

/**
 * ovstage_stage_get_attribute_write_floor:
 * @self: a stage
 * @attribute: the token of an attribute's name
 *
 * Gets the ordinal up to which one attribute is sealed. It differs from the floor
 * of the others once an advance named some attributes only.
 *
 * Returns: the write floor of @attribute
 *
 * Since: 1.0
 */
guint64
ovstage_stage_get_attribute_write_floor (OvstageStage *self, OvstageToken attribute)
{
  g_return_val_if_fail (OVSTAGE_IS_STAGE (self), 0);

  return ovs_stage_get_attribute_floor (self->core, attribute);
}

/**
 * ovstage_stage_get_oldest_preserved_ordinal:
 * @self: a stage
 *
 * Gets the ordinal from which on the stage knows what changed: of every attribute,
 * each range of ordinals above it can be told apart, see
 * [func@Ovstage.OrdinalRange.between]. Changes are remembered within
 * [property@Ovstage.Stage:change-budget]. What a watch that is slow keeps beyond that can
 * be told up to the newest ordinal, but not up to an older one.
 *
 * Returns: the ordinal, 0 while nothing was forgotten
 *
 * Since: 1.0
 */
guint64
ovstage_stage_get_oldest_preserved_ordinal (OvstageStage *self)
{
  g_return_val_if_fail (OVSTAGE_IS_STAGE (self), 0);

  return ovs_stage_get_oldest_preserved (self->core);
}

/**
 * ovstage_stage_get_value_frontier:
 * @self: a stage
 *
 * Gets the ordinal from which on every attribute can be read exactly. Below it some
 * values are gone, and reads of them give `OVSTAGE_ERROR_OUT_OF_RANGE`.
 *
 * Returns: the ordinal, 0 while nothing is gone
 *
 * Since: 1.0
 */
guint64
ovstage_stage_get_value_frontier (OvstageStage *self)
{
  g_return_val_if_fail (OVSTAGE_IS_STAGE (self), 0);

  return ovs_stage_get_value_frontier (self->core);
}

/**
 * ovstage_stage_query_path_list:
 * @self: a stage
 * @list: a list of the stage's dictionary
 *
 * Makes a query over the prims of a path list, in the order of the list. The prims
 * need not exist. The query is done when it is made; a list of another dictionary
 * gives `OVSTAGE_ERROR_INVALID_HANDLE`.
 *
 * Returns: (transfer full): the query
 *
 * Since: 1.0
 */
OvstageQuery *
ovstage_stage_query_path_list (OvstageStage *self, OvstagePathList *list)
{
  g_return_val_if_fail (OVSTAGE_IS_STAGE (self), NULL);
  g_return_val_if_fail (list != NULL, NULL);

  return _ovstage_operation_take (OVSTAGE_TYPE_QUERY, ovs_stage_query_list (self->core, list));
}

/**
 * ovstage_stage_query_filter:
 * @self: a stage
 * @filter: (nullable): what the prims have in common; `NULL` for all that exist
 * @attributes: (array length=n_attributes) (nullable): attributes to look for on the prims
 * @n_attributes: the number of @attributes; 0 for all attributes
 *
 * Makes a query over the prims that match a filter, in the order of their path ids.
 *
 * It sees the state after everything that was submitted before, sealed or not, and
 * nothing that is submitted later. It does not follow the stage: a prim
 * that comes to match later is not in it.
 *
 * Where the values are still on their way the query is not done at once. It may be
 * used nevertheless, and withdrawn while it waits. See
 * [method@Ovstage.Query.dup_attributes] for what it tells besides the prims.
 *
 * Returns: (transfer full): the query
 *
 * Since: 1.0
 */
OvstageQuery *
ovstage_stage_query_filter (OvstageStage *self, OvstageFilter *filter, const OvstageToken *attributes, gsize n_attributes)
{
  g_return_val_if_fail (OVSTAGE_IS_STAGE (self), NULL);

  return _ovstage_operation_take (OVSTAGE_TYPE_QUERY, ovs_stage_query_filter (self->core, filter, attributes, n_attributes));
}

/**
 * ovstage_stage_write_attribute:
 * @self: a stage
 * @query: the prims to write, of this stage
 * @attribute: the token of the attribute's name
 * @ordinal: the ordinal of the values, above the write floor of @attribute
 * @data: the rows, and which of them go where
 * @prim_mode: what is expected of the prims
 * @placement: (nullable): where the write works; `NULL` for the default
 *
 * Writes one row for each prim of @query. The values can be read once the write
 * floor of @attribute has risen to @ordinal.
 *
 * Shape, strides, index map and mask of @data are read during the call. The memory
 * of its tensor is held until the operation is done, at which time it may be used
 * again. At one ordinal the write submitted last wins, across ordinals the highest.
 *
 * The operation fails, and nothing is written, with
 * `OVSTAGE_ERROR_INVALID_ARGUMENT` for a payload that is malformed or does not
 * fit the query or the attribute, `OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION` for an
 * ordinal that is sealed, `OVSTAGE_ERROR_ALREADY_EXISTS` or
 * `OVSTAGE_ERROR_NOT_FOUND` by @prim_mode, `OVSTAGE_ERROR_NOT_SUPPORTED`
 * for a device without a backend and for an attribute that is built in,
 * `OVSTAGE_ERROR_INVALID_HANDLE` for a query of another stage or an unknown token,
 * `OVSTAGE_ERROR_QUEUE_FULL`, and `OVSTAGE_ERROR_OUT_OF_MEMORY`.
 *
 * Returns: (transfer full): the operation
 *
 * Since: 1.0
 */
OvstageOperation *
ovstage_stage_write_attribute (OvstageStage *self,
                               OvstageQuery *query,
                               OvstageToken attribute,
                               guint64 ordinal,
                               OvstageWriteData *data,
                               OvstagePrimMode prim_mode,
                               const OvstagePlacement *placement)
{
  OvsOp *prims;

  g_return_val_if_fail (OVSTAGE_IS_STAGE (self), NULL);
  g_return_val_if_fail (OVSTAGE_IS_QUERY (query), NULL);
  g_return_val_if_fail (data != NULL, NULL);

  prims = _ovstage_operation_get_op ((OvstageOperation *) query);
  return _ovstage_operation_take (OVSTAGE_TYPE_OPERATION,
                                  prims != NULL ? ovs_stage_write (self->core, prims, attribute, ordinal, data, prim_mode,
                                                                   placement)
                                                : NULL);
}

/**
 * ovstage_stage_delete_attributes:
 * @self: a stage
 * @query: the prims to delete from, of this stage
 * @attributes: (array length=n_attributes) (nullable): the attributes to delete
 * @n_attributes: the number of @attributes, 0 to delete whole prims
 * @ordinal: the ordinal of the delete, above the write floor
 *
 * Takes attributes off the prims of @query, or with no @attributes everything that
 * the prims have, at an ordinal. A prim exists while it has an attribute.
 *
 * A delete is staged like a write, and readers see it once the write floor has risen
 * to @ordinal. It takes away what was written at lower ordinals, also by calls that
 * come later, and at @ordinal what was written by calls before it. Deleting what is
 * not there is fine. A prim may be given the attribute again, with another data type
 * or semantic, at @ordinal or above.
 *
 * A delete of whole prims leaves an attribute alone that is sealed at @ordinal
 * already.
 *
 * The operation fails, and nothing is deleted, with
 * `OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION` for an @ordinal at or below the write
 * floor of an attribute of @attributes or, when whole prims are deleted, at or below
 * the write floor of attributes at large or of one that a prim of @query has, and
 * with `OVSTAGE_ERROR_NOT_SUPPORTED` for an attribute that is built in.
 *
 * Returns: (transfer full): the operation
 *
 * Since: 1.0
 */
OvstageOperation *
ovstage_stage_delete_attributes (OvstageStage *self,
                                 OvstageQuery *query,
                                 const OvstageToken *attributes,
                                 gsize n_attributes,
                                 guint64 ordinal)
{
  OvsOp *prims;

  g_return_val_if_fail (OVSTAGE_IS_STAGE (self), NULL);
  g_return_val_if_fail (OVSTAGE_IS_QUERY (query), NULL);
  g_return_val_if_fail (attributes != NULL || n_attributes == 0, NULL);

  prims = _ovstage_operation_get_op ((OvstageOperation *) query);
  return _ovstage_operation_take (OVSTAGE_TYPE_OPERATION,
                                  prims != NULL ? ovs_stage_delete (self->core, prims, attributes, n_attributes, ordinal) : NULL);
}

/**
 * ovstage_stage_clone:
 * @self: a stage
 * @source: the path of a prim
 * @targets: (array zero-terminated=1): the paths to copy it to
 * @ordinal: the ordinal of the copies, above the write floor of each attribute
 *
 * Copies everything that @source and the prims below it have, to each of @targets, at
 * one ordinal: `/Robot/Arm` to `/Robots/1/Arm` for the target `/Robots/1`.
 *
 * What is copied are the values as of @ordinal and of the call, sealed or not; later
 * writes at or below @ordinal do not reach the copies. A target may be inside
 * @source. The clone is a write of each attribute that it copies: staged, seen once
 * the write floor has risen to @ordinal, and told as a change.
 *
 * Path ids that are values, of the semantics `OVSTAGE_SEMANTIC_RELATIONSHIP_PATH_ID`
 * and `OVSTAGE_SEMANTIC_CONNECTION_PATH_ID`, and name @source or something below it
 * name in the copy what is at that place below the target. All others stay.
 *
 * Finding what is below @source takes a look at each path that the dictionary came to
 * know after it.
 *
 * The operation fails, and nothing is copied, with `OVSTAGE_ERROR_INVALID_ARGUMENT`
 * for a malformed path and for targets that repeat or contain one another, with
 * `OVSTAGE_ERROR_NOT_FOUND` if nothing exists at or below @source,
 * with `OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION` for an @ordinal at or below the write
 * floor of an attribute that is there, and with `OVSTAGE_ERROR_ALREADY_EXISTS` if
 * a target, or a prim that would be written, exists.
 *
 * Returns: (transfer full): the operation
 *
 * Since: 1.0
 */
OvstageOperation *
ovstage_stage_clone (OvstageStage *self, const char *source, const char *const *targets, guint64 ordinal)
{
  g_return_val_if_fail (OVSTAGE_IS_STAGE (self), NULL);
  g_return_val_if_fail (source != NULL, NULL);
  g_return_val_if_fail (targets != NULL, NULL);

  return _ovstage_operation_take (OVSTAGE_TYPE_OPERATION,
                                  ovs_stage_clone (self->core, source, targets, g_strv_length ((char **) targets), ordinal));
}

/**
 * ovstage_stage_watch:
 * @self: a stage
 * @query: the prims to watch, of this stage
 * @attributes: (array length=n_attributes) (nullable): the attributes to watch
 * @n_attributes: the number of @attributes
 * @callback: (nullable) (scope notified) (closure user_data) (destroy destroy): called with what changed; `NULL` for a
 *   watch that is asked with [method@Ovstage.Watch.next_async]
 * @user_data: data for @callback
 * @destroy: (nullable): frees @user_data once the watch has ended
 * @error: return location for a [error@Ovstage.Error]
 *
 * Watches attributes on the prims of @query: after each advance that seals a change of
 * one of them, @callback runs with what changed, in the main context that is
 * thread-default for the caller. See [class@Ovstage.Watch].
 *
 * What is sealed already, and the built-in attributes that follow from what exists, are
 * not told.
 *
 * Returns: (transfer full): the watch, which ends when it is dropped; `NULL` with
 *   @error set for a query that failed or is of another stage, and for an attribute
 *   that is unknown to the dictionary or cannot be read; @user_data is the caller's then
 *
 * Since: 1.0
 */
OvstageWatch *
ovstage_stage_watch (OvstageStage *self,
                     OvstageQuery *query,
                     const OvstageToken *attributes,
                     gsize n_attributes,
                     OvstageWatchFunc callback,
                     gpointer user_data,
                     GDestroyNotify destroy,
                     GError **error)
{
  g_return_val_if_fail (OVSTAGE_IS_STAGE (self), NULL);
  g_return_val_if_fail (OVSTAGE_IS_QUERY (query), NULL);
  g_return_val_if_fail (attributes != NULL || n_attributes == 0, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  return _ovstage_watch_new (self->core, _ovstage_operation_get_op ((OvstageOperation *) query), attributes, n_attributes, callback,
                             user_data, destroy, error);
}

static gboolean
check_lengths (gsize n_attributes, gsize n_datas, GError **error)
{
  return n_attributes == n_datas ||
         ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "datas has %" G_GSIZE_FORMAT " entries, expected %" G_GSIZE_FORMAT
                   " (attributes)", n_datas, n_attributes);
}

/**
 * ovstage_stage_write_attributes:
 * @self: a stage
 * @query: the prims to write, of this stage
 * @attributes: (array length=n_attributes) (nullable): the tokens of the attributes' names, each once
 * @n_attributes: the number of @attributes
 * @datas: (array length=n_datas) (nullable) (transfer none): what is written to each of them
 * @n_datas: the number of @datas, the same
 * @ordinal: the ordinal of the values, above the write floor of each attribute
 * @prim_mode: what is expected of the prims
 * @placement: (nullable): where the write works; `NULL` for the default
 *
 * Writes several attributes of the same prims as one: all of them or none.
 *
 * Each entry is as in [method@Ovstage.Stage.write_attribute], with a count, an index
 * map, a mask and a semantic of its own. They are accepted or refused together, and
 * what is expected of prims and attributes is looked up before any of them is
 * written. Sealed together they appear at once; sealed attribute by attribute, they
 * appear so.
 *
 * The operation fails, and nothing is written, as one write of an entry would.
 * `OVSTAGE_ERROR_INVALID_ARGUMENT` it is too if the numbers of attributes and data
 * differ, an entry is `NULL`, an attribute comes twice, or two entries hand over the
 * same tensor. The message tells which entry is at fault.
 *
 * Returns: (transfer full): the operation
 *
 * Since: 1.0
 */
OvstageOperation *
ovstage_stage_write_attributes (OvstageStage *self,
                                OvstageQuery *query,
                                const OvstageToken *attributes,
                                gsize n_attributes,
                                OvstageWriteData **datas,
                                gsize n_datas,
                                guint64 ordinal,
                                OvstagePrimMode prim_mode,
                                const OvstagePlacement *placement)
{
  g_autofree OvsAttributeWrite *entries = NULL;
  GError *error = NULL;
  OvsOp *prims;

  g_return_val_if_fail (OVSTAGE_IS_STAGE (self), NULL);
  g_return_val_if_fail (OVSTAGE_IS_QUERY (query), NULL);
  g_return_val_if_fail (attributes != NULL || n_attributes == 0, NULL);
  g_return_val_if_fail (datas != NULL || n_datas == 0, NULL);

  if (!check_lengths (n_attributes, n_datas, &error))
    return _ovstage_operation_take (OVSTAGE_TYPE_OPERATION, ovs_stage_refuse (self->core, error));
  entries = g_new (OvsAttributeWrite, n_attributes);
  for (gsize i = 0; i < n_attributes; i++)
    {
      entries[i].attribute = attributes[i];
      entries[i].data = datas[i];
    }
  prims = _ovstage_operation_get_op ((OvstageOperation *) query);
  return _ovstage_operation_take (OVSTAGE_TYPE_OPERATION,
                                  prims != NULL ? ovs_stage_write_batch (self->core, prims, entries, n_attributes, ordinal,
                                                                         prim_mode, placement)
                                                : NULL);
}

/**
 * ovstage_stage_advance_write_floor:
 * @self: a stage
 * @ordinal: the ordinal to seal up to
 * @scope: which attributes the advance is about
 * @attributes: (array length=n_attributes) (nullable): the attributes that @scope includes or excludes
 * @n_attributes: the number of @attributes
 *
 * Raises the write floor: everything in scope at or below @ordinal is sealed and
 * published together, once the writes submitted before it are done.
 *
 * From this call on, later writes in scope at or below @ordinal are refused. An
 * advance to where the floor is already does nothing.
 * `OVSTAGE_SCOPE_INCLUDE` with no attributes does nothing either,
 * `OVSTAGE_SCOPE_EXCLUDE` with none is `OVSTAGE_SCOPE_ALL`, which takes no
 * notice of @attributes.
 *
 * An advance that fails with `OVSTAGE_ERROR_OUT_OF_MEMORY` leaves everything as
 * it was and may be submitted again.
 *
 * Returns: (transfer full): the operation
 *
 * Since: 1.0
 */
OvstageOperation *
ovstage_stage_advance_write_floor (OvstageStage *self,
                                   guint64 ordinal,
                                   OvstageScope scope,
                                   const OvstageToken *attributes,
                                   gsize n_attributes)
{
  g_return_val_if_fail (OVSTAGE_IS_STAGE (self), NULL);
  g_return_val_if_fail (attributes != NULL || n_attributes == 0, NULL);

  return _ovstage_operation_take (OVSTAGE_TYPE_OPERATION,
                                  ovs_stage_advance (self->core, ordinal, scope, attributes, n_attributes));
}

/**
 * ovstage_stage_map_attribute:
 * @self: a stage
 * @query: the prims to write, of this stage
 * @attribute: the token of the attribute's name
 * @dtype: (nullable): the type of a row; `NULL`, or one that is all zero, for that of what is there
 * @semantic: what the values mean; `OVSTAGE_SEMANTIC_NONE` keeps what the prims have
 * @element_counts: (array length=n_element_counts) (nullable): the number of elements of each
 *   prim's array; `NULL` for an attribute that is not one of arrays
 * @n_element_counts: the number of @element_counts
 * @ordinal: the ordinal of the values, above the write floor of @attribute
 * @prim_mode: what is expected of the prims
 * @flags: how the memory is made
 * @placement: (nullable): where the memory is wanted; `NULL` for the CPU
 *
 * Asks for memory to fill with the values of an attribute, as
 * [class@Ovstage.Map] tells.
 *
 * Without @dtype, data type and semantic are those that the prims of @query have, or
 * if they have none, those that any prim has, as of @ordinal and all that was
 * submitted. It is an error if there are several.
 *
 * With `OVSTAGE_MAP_FLAGS_INITIALIZE` the memory holds the values as of @ordinal and
 * all that was submitted, sealed or not, and zeroes where there are none. Without, it
 * holds nothing in particular.
 *
 * The memory counts against the stage's budget of unsealed bytes.
 *
 * The operation fails as a write would, which
 * [method@Ovstage.Stage.write_attribute] describes, and so does each commit, which is
 * checked anew. `OVSTAGE_ERROR_INVALID_ARGUMENT` it is also for a data type that was
 * left open and is not clear, for counts of an attribute that is not one of arrays or
 * none for one that is, and for another number of counts than of prims.
 *
 * Returns: (transfer full): the map
 *
 * Since: 1.0
 */
OvstageMap *
ovstage_stage_map_attribute (OvstageStage *self,
                             OvstageQuery *query,
                             OvstageToken attribute,
                             const OvstageDataType *dtype,
                             OvstageSemantic semantic,
                             const gsize *element_counts,
                             gsize n_element_counts,
                             guint64 ordinal,
                             OvstagePrimMode prim_mode,
                             OvstageMapFlags flags,
                             const OvstagePlacement *placement)
{
  OvsMapRequest request = { { 0, 0, 0 }, semantic, element_counts, n_element_counts, flags };
  OvsOp *prims;

  g_return_val_if_fail (OVSTAGE_IS_STAGE (self), NULL);
  g_return_val_if_fail (OVSTAGE_IS_QUERY (query), NULL);
  g_return_val_if_fail (element_counts != NULL || n_element_counts == 0, NULL);

  if (dtype != NULL)
    request.dtype = *dtype;
  prims = _ovstage_operation_get_op ((OvstageOperation *) query);
  return _ovstage_operation_take (OVSTAGE_TYPE_MAP,
                                  prims != NULL ? ovs_stage_map (self->core, prims, attribute, &request, ordinal, prim_mode,
                                                                 placement)
                                                : NULL);
}

/**
 * ovstage_stage_read_attributes:
 * @self: a stage
 * @query: the prims to read, of this stage
 * @attributes: (array length=n_attributes) (nullable): the attributes to read
 * @n_attributes: the number of @attributes
 * @range: what to read: a snapshot as of an ordinal, or what changed in a range
 * @placement: (nullable): where the values are wanted; `NULL` for the CPU
 *
 * Reads attributes: for each prim of @query that has one, its value as of the ordinal
 * of @range or of the attribute's own floor, whichever is lower.
 *
 * With a range that has a start, only what changed from there on is read: a group with
 * values for each attribute and data type, of the prims that were written, also if with
 * the same values; then a group for each attribute, without values, of the prims that
 * had it at some time in the range and do not at its end
 * ([method@Ovstage.ReadGroup.is_delete]).
 *
 * The read is decided after the advances submitted before it and before those
 * submitted later, so that it need not be preceded by a wait. Unknown attributes and
 * attributes that no prim has give no group and no error.
 *
 * The built-in attributes `usd-path`, `usd-parent` and `usd-children` tell the path of
 * each prim of @query that exists, the one above it, and an array of those below it that
 * exist, as path ids of type `uint64`. They tell of the newest structure, sealed or not,
 * whatever the ordinal.
 *
 * The operation fails with `OVSTAGE_ERROR_WRITE_FLOOR_VIOLATION` if a value
 * asked for is written but not sealed, with `OVSTAGE_ERROR_OUT_OF_RANGE` if
 * it is no longer kept or the range begins before what is remembered, with
 * `OVSTAGE_ERROR_INVALID_ARGUMENT` for a range that ends before it starts, with
 * `OVSTAGE_ERROR_NOT_SUPPORTED` for the attribute `usd-active`, and with
 * `OVSTAGE_ERROR_INVALID_HANDLE` for a query of another stage or an unknown token.
 *
 * Returns: (transfer full): the read
 *
 * Since: 1.0
 */
OvstageRead *
ovstage_stage_read_attributes (OvstageStage *self,
                               OvstageQuery *query,
                               const OvstageToken *attributes,
                               gsize n_attributes,
                               const OvstageOrdinalRange *range,
                               const OvstagePlacement *placement)
{
  OvsOp *prims;

  g_return_val_if_fail (OVSTAGE_IS_STAGE (self), NULL);
  g_return_val_if_fail (OVSTAGE_IS_QUERY (query), NULL);
  g_return_val_if_fail (attributes != NULL || n_attributes == 0, NULL);
  g_return_val_if_fail (range != NULL, NULL);

  prims = _ovstage_operation_get_op ((OvstageOperation *) query);
  return _ovstage_operation_take (OVSTAGE_TYPE_READ,
                                  prims != NULL ? ovs_stage_read (self->core, prims, attributes, n_attributes, range,
                                                                  placement)
                                                : NULL);
}

/**
 * ovstage_stage_trim:
 * @self: a stage
 *
 * Gives memory that the stage keeps for later use back to the system. Values stay.
 *
 * Since: 1.0
 */
void
ovstage_stage_trim (OvstageStage *self)
{
  g_return_if_fail (OVSTAGE_IS_STAGE (self));

  ovs_stage_trim (self->core);
}
