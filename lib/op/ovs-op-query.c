/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Queries that evaluate a filter. Under the stage lock one takes all that it is going
 * to look at: the values of attributes by peeks, which may have to wait for bytes in
 * flight, and which rows live of those that it only asks for. What is submitted later
 * does not reach it. Then it works on sets of prims, one bit for each path. */

#include "config.h"

#include "op/ovs-op-private.h"

#include <string.h>

#include "base/ovs-debug.h"
#include "query/ovs-match.h"

/* The rows of a column, and where their prims stand. */
typedef struct
{
  OvsLayout *layout; /* (owned) */
  guint32 n_rows;
  OvsBits *live;  /* (owned) (nullable) NULL: every row */
  guint32 *more;  /* (owned) (nullable) prims of the rows that are not in the layout's list: those may move as it grows */
  OvsVersion *version; /* (owned) (nullable) where the values count */
} Source;

/* One attribute, as the filter took it. */
typedef struct
{
  guint32 token;
  GArray *heads;  /* (owned) (nullable) Source: on which prims it lives */
  OvsPeek *peek;  /* (owned) (nullable) */
  GArray *values; /* (owned) (nullable) Source, one for each version of the peek */
} Taken;

/* One predicate and its matchers: one for each of the versions, or one for built-in attributes. */
typedef struct
{
  const OvstageFilter *filter; /* lent */
  OvsBuiltinKind builtin;
  guint taken;        /* index of its attribute */
  GPtrArray *matchers; /* (owned) (nullable) OvsMatcher */
} Predicate;

struct _OvsSelect
{
  OvstageFilter *filter; /* (owned) (nullable) */
  GArray *predicates;    /* (owned) Predicate, in their order */
  GArray *taken;         /* (owned) Taken */
  GArray *wanted;        /* (owned) guint32, of taken: attributes to be discovered */
  gboolean discover_all;
  guint32 n_paths;       /* bits of a set */
  OvsBits *existing;     /* (owned) (nullable) NULL: the filter does not ask */
  gsize work;            /* bytes */
  guint next;            /* predicate, while the tree is walked */
};

static void
clear_source (Source *source)
{
  ovs_layout_unref (source->layout);
  g_clear_pointer (&source->live, ovs_bits_unref);
  g_clear_pointer (&source->version, ovs_version_unref);
  g_free (source->more);
}

static GArray *
new_sources (void)
{
  GArray *sources = g_array_new (FALSE, FALSE, sizeof (Source));

  g_array_set_clear_func (sources, (GDestroyNotify) clear_source);
  return sources;
}

static void
clear_taken (Taken *taken)
{
  g_clear_pointer (&taken->heads, g_array_unref);
  g_clear_pointer (&taken->values, g_array_unref);
  g_clear_pointer (&taken->peek, ovs_peek_free);
}

static void
clear_predicate (Predicate *predicate)
{
  g_clear_pointer (&predicate->matchers, g_ptr_array_unref);
}

static OvsSelect *
new_select (OvstageFilter *filter)
{
  OvsSelect *select = g_new0 (OvsSelect, 1);

  select->filter = filter != NULL ? ovs_filter_ref (filter) : NULL;
  select->predicates = g_array_new (FALSE, FALSE, sizeof (Predicate));
  g_array_set_clear_func (select->predicates, (GDestroyNotify) clear_predicate);
  select->taken = g_array_new (FALSE, FALSE, sizeof (Taken));
  g_array_set_clear_func (select->taken, (GDestroyNotify) clear_taken);
  select->wanted = g_array_new (FALSE, FALSE, sizeof (guint32));
  return select;
}

static void
free_select (OvsSelect *select)
{
  g_array_unref (select->predicates);
  g_array_unref (select->taken);
  g_array_unref (select->wanted);
  g_clear_pointer (&select->existing, ovs_bits_unref);
  g_clear_pointer (&select->filter, ovs_filter_unref);
  g_free (select);
}

void
ovs_query_drop_select (OvsOp *op)
{
  g_clear_pointer (&((OvsQuery *) op)->select, free_select);
}

void
ovs_query_clear (OvsQuery *query)
{
  ovs_query_drop_select (&query->op);
  g_clear_pointer (&query->binding, ovs_binding_unref);
  g_clear_pointer (&query->list, ovs_path_list_unref);
  g_free (query->attributes);
}

const guint32 *
ovs_query_get_attributes (OvsOp *op, gsize *n)
{
  *n = ((OvsQuery *) op)->n_attributes;
  return ((OvsQuery *) op)->attributes;
}

/* --- what is taken under the lock --- */

/* Takes @live (nullable) and @version (nullable). */
static void
add_source (OvsSelect *select, GArray *sources, OvsLayout *layout, guint32 n_rows, OvsBits *live, OvsVersion *version)
{
  Source source = { ovs_layout_ref (layout), n_rows, live, NULL, version };

  if (n_rows > layout->n_base)
    source.more = g_memdup2 (layout->more, sizeof (guint32) * (n_rows - layout->n_base));
  g_array_append_val (sources, source);
  select->work += n_rows / 8;
}

static void
take_heads (OvsSelect *select, Taken *taken, OvsAttr *attr)
{
  if (taken->heads != NULL)
    return;
  taken->heads = new_sources ();
  for (guint c = 0; attr != NULL && c < attr->columns->len; c++)
    {
      const OvsColumn *column = attr->columns->pdata[c];
      OvsBits *live = NULL;

      if (column->n_head_live == 0)
        continue;
      if (column->head_live != NULL)
        {
          live = ovs_bits_new_from (column->head_live, column->n_head_rows, column->n_head_rows);
          if (live == NULL)
            g_error ("out of memory for %u rows", column->n_head_rows);
        }
      add_source (select, taken->heads, column->layout, column->n_head_rows, live, NULL);
    }
}

static gboolean
take_values (OvsOp *query, OvsSelect *select, Taken *taken, OvsAttr *attr, GError **error)
{
  if (taken->values != NULL)
    return TRUE;
  taken->values = new_sources ();
  if (attr == NULL)
    return TRUE;
  taken->peek = ovs_stage_peek (query->stage, attr, OVSTAGE_ORDINAL_NEWEST, error);
  if (taken->peek == NULL)
    return FALSE;
  for (guint v = 0; v < ovs_peek_get_n_versions (taken->peek); v++)
    {
      OvsVersion *version = ovs_peek_get_version (taken->peek, v);

      add_source (select, taken->values, version->layout, version->n_rows, version->live != NULL ? ovs_bits_ref (version->live) : NULL,
                  ovs_version_ref (version));
      select->work += (gsize) version->n_rows * version->row_size;
    }
  select->work += ovs_peek_get_work (taken->peek);
  ovs_op_add_peek_deps (query, taken->token, OVSTAGE_ORDINAL_NEWEST);
  return TRUE;
}

/* The index of an attribute among those taken; it may be one of the first @n_known. */
static guint
get_taken (OvsSelect *select, guint32 token, guint n_known)
{
  Taken taken = { .token = token };

  for (guint i = 0; i < n_known; i++)
    if (g_array_index (select->taken, Taken, i).token == token)
      return i;
  g_array_append_val (select->taken, taken);
  return select->taken->len - 1;
}

static guint32
get_prim (const Source *source, guint32 row)
{
  return row < source->layout->n_base ? source->layout->base->ids[row] : source->more[row - source->layout->n_base];
}

static guint32
find_lowest_prim (const Source *source)
{
  guint32 lowest = G_MAXUINT32;

  for (guint32 row = 0; row < source->n_rows; row++)
    if (source->live == NULL || ovs_bits_get (source->live, row))
      lowest = MIN (lowest, get_prim (source, row));
  return lowest;
}

/* A matcher for each schema that is there. Of several faults, that of the lowest path id is told. */
static gboolean
make_matchers (OvsStage *stage, Predicate *predicate, const Taken *taken, GError **error)
{
  guint32 lowest = G_MAXUINT32;
  GError *fault = NULL;

  predicate->matchers = g_ptr_array_new_with_free_func ((GDestroyNotify) ovs_matcher_free);
  for (guint i = 0; i < taken->values->len; i++)
    {
      const Source *source = &g_array_index (taken->values, Source, i);
      GError *local = NULL;
      OvsMatcher *matcher = ovs_matcher_new (stage->dict, predicate->filter, &source->version->schema, ovs_stage_name (stage, taken->token),
                                             &local);

      if (matcher != NULL)
        g_ptr_array_add (predicate->matchers, matcher);
      else if (find_lowest_prim (source) < lowest)
        {
          lowest = find_lowest_prim (source);
          g_clear_error (&fault);
          fault = local;
        }
      else
        g_error_free (local);
    }
  if (fault == NULL)
    return TRUE;
  g_propagate_error (error, fault);
  return FALSE;
}

/* Built-in attributes hold paths, where a prim exists to hold one. */
static gboolean
make_builtin_matcher (OvsStage *stage, OvsSelect *select, Predicate *predicate, GError **error)
{
  OvsSchema schema = { { OVS_CODE_UINT, 64, 1 }, predicate->builtin == OVS_BUILTIN_CHILDREN, OVSTAGE_SEMANTIC_RELATIONSHIP_PATH_ID };
  guint32 root = ovs_path_dict_get_root (stage->dict);
  guint32 n_rows = ovs_bits_count (select->existing);
  OvsMatcher *matcher;

  if (predicate->filter->op == OVSTAGE_FILTER_OP_HAS)
    return TRUE;
  if (predicate->builtin == OVS_BUILTIN_PARENT && root < select->n_paths && ovs_bits_get (select->existing, root))
    n_rows--;
  if (n_rows == 0)
    return TRUE;
  matcher = ovs_matcher_new (stage->dict, predicate->filter, &schema, ovs_stage_name (stage, stage->reserved[predicate->builtin - 1]), error);
  if (matcher == NULL)
    return FALSE;
  predicate->matchers = g_ptr_array_new_with_free_func ((GDestroyNotify) ovs_matcher_free);
  g_ptr_array_add (predicate->matchers, matcher);
  select->work += n_rows * sizeof (guint32);
  return TRUE;
}

static void
take_existing (OvsStage *stage, OvsSelect *select)
{
  const guint32 *live = stage->live;

  select->existing = ovs_bits_new (select->n_paths, FALSE);
  if (select->existing == NULL)
    g_error ("out of memory for %u paths", select->n_paths);
  for (gsize first = 0; first < MIN (stage->n_live, select->n_paths); first += 64)
    {
      guint n = (guint) MIN (64, MIN (stage->n_live, select->n_paths) - first);
      guint64 word = 0;

      for (guint i = 0; i < n; i++)
        word |= (guint64) (live[first + i] != 0) << i;
      select->existing->words[first / 64] = word;
    }
}

/* Prims that do not carry what a predicate looks at can match. */
static gboolean
asks_what_exists (const OvstageFilter *filter)
{
  if (filter->kind == OVS_FILTER_NOT || (filter->kind == OVS_FILTER_ALL && filter->n_parts == 0))
    return TRUE;
  for (gsize i = 0; i < filter->n_parts; i++)
    if (asks_what_exists (filter->parts[i]))
      return TRUE;
  return FALSE;
}

static gboolean
looks_at_builtins (const OvsSelect *select)
{
  for (guint i = 0; i < select->predicates->len; i++)
    if (g_array_index (select->predicates, Predicate, i).builtin != OVS_BUILTIN_NONE)
      return TRUE;
  return FALSE;
}

/* Stage lock held. */
static gboolean
take (OvsOp *query, OvsSelect *select, GError **error)
{
  OvsStage *stage = query->stage;
  guint n_known;

  select->n_paths = ovs_path_dict_get_last_path (stage->dict) + 1;
  if (select->filter == NULL || asks_what_exists (select->filter) || looks_at_builtins (select))
    take_existing (stage, select);
  for (guint i = 0; i < select->predicates->len; i++)
    {
      Predicate *predicate = &g_array_index (select->predicates, Predicate, i);
      guint32 token = (guint32) predicate->filter->attribute;
      gboolean ok = TRUE;

      if (predicate->builtin != OVS_BUILTIN_NONE)
        ok = make_builtin_matcher (stage, select, predicate, error);
      else
        {
          Taken *taken;

          predicate->taken = get_taken (select, token, select->taken->len);
          taken = &g_array_index (select->taken, Taken, predicate->taken);
          if (predicate->filter->op == OVSTAGE_FILTER_OP_HAS)
            take_heads (select, taken, ovs_stage_get_attr (stage, token));
          else
            ok = take_values (query, select, taken, ovs_stage_get_attr (stage, token), error) &&
                 make_matchers (stage, predicate, taken, error);
        }
      if (!ok)
        {
          g_prefix_error (error, "predicates[%u]: ", i);
          return FALSE;
        }
    }

  /* Those that are wanted differ from one another. */
  n_known = select->taken->len;
  for (guint i = 0; select->discover_all && i < stage->known->len; i++)
    g_array_append_val (select->wanted, ((OvsAttr *) stage->known->pdata[i])->token);
  for (guint i = 0; i < select->wanted->len; i++)
    {
      guint32 *wanted = &g_array_index (select->wanted, guint32, i);
      guint32 token = *wanted;

      *wanted = get_taken (select, token, n_known);
      take_heads (select, &g_array_index (select->taken, Taken, *wanted), ovs_stage_get_attr (stage, token));
    }
  return TRUE;
}

/* --- sets of prims --- */

static OvsBits *
new_set (const OvsSelect *select)
{
  OvsBits *set = ovs_bits_new (select->n_paths, FALSE);

  if (set == NULL)
    g_error ("out of memory for %u paths", select->n_paths);
  return set;
}

static gsize
n_words (const OvsBits *bits)
{
  return ((gsize) bits->n + 63) / 64;
}

static guint64
get_row_word (const Source *source, const OvsBits *rows, gsize word)
{
  guint64 bits = rows != NULL ? rows->words[word] : G_MAXUINT64;

  if (source->live != NULL)
    bits &= source->live->words[word];
  if ((word + 1) * 64 > source->n_rows)
    bits &= (G_GUINT64_CONSTANT (1) << (source->n_rows % 64)) - 1;
  return bits;
}

/* Adds the prims of the rows that live, and of @rows (nullable: all). Where row and path id go in step, words at a time. */
static void
add_rows (OvsBits *set, const Source *source, const OvsBits *rows)
{
  const OvstagePathList *base = source->layout->base;
  gsize n_in_step = base != NULL && base->consecutive && base->n > 0 ? MIN (source->n_rows, source->layout->n_base) : 0;
  guint32 first = n_in_step > 0 ? base->ids[0] : 0;

  for (gsize word = 0; word < ((gsize) source->n_rows + 63) / 64; word++)
    {
      guint64 bits = get_row_word (source, rows, word);
      gsize at = word * 64 + first;

      if (bits == 0)
        continue;
      if ((word + 1) * 64 <= n_in_step)
        {
          set->words[at / 64] |= bits << (at % 64);
          if (at % 64 != 0 && bits >> (64 - at % 64) != 0)
            set->words[at / 64 + 1] |= bits >> (64 - at % 64);
          continue;
        }
      for (; bits != 0; bits &= bits - 1)
        ovs_bits_set (set, get_prim (source, (guint32) (word * 64) + (guint32) __builtin_ctzll (bits)));
    }
}

static void
match_builtin (const OvsSelect *select, OvsPathDict *dict, const Predicate *predicate, OvsBits *set)
{
  OvsMatcher *matcher = predicate->matchers != NULL ? predicate->matchers->pdata[0] : NULL;
  guint32 root = ovs_path_dict_get_root (dict);

  if (matcher == NULL && predicate->filter->op != OVSTAGE_FILTER_OP_HAS)
    return;
  for (gsize word = 0; word < n_words (set); word++)
    for (guint64 bits = select->existing->words[word]; bits != 0; bits &= bits - 1)
      {
        guint32 prim = (guint32) (word * 64) + (guint32) __builtin_ctzll (bits);
        guint32 parent = ovs_path_dict_get_parent (dict, prim);

        switch (predicate->builtin)
          {
          case OVS_BUILTIN_PARENT:
            if (prim != root && (matcher == NULL || ovs_matcher_test_path (matcher, parent)))
              ovs_bits_set (set, prim);
            break;
          case OVS_BUILTIN_CHILDREN:
            if (matcher == NULL)
              ovs_bits_set (set, prim);
            else if (prim != root && ovs_bits_get (select->existing, parent) && ovs_matcher_test_path (matcher, prim))
              ovs_bits_set (set, parent);
            break;
          default:
            if (matcher == NULL || ovs_matcher_test_path (matcher, prim))
              ovs_bits_set (set, prim);
            break;
          }
      }
}

static void
match_values (const OvsSelect *select, const Predicate *predicate, OvsBits *set)
{
  const Taken *taken = &g_array_index (select->taken, Taken, predicate->taken);

  for (guint i = 0; i < taken->values->len; i++)
    {
      const Source *source = &g_array_index (taken->values, Source, i);
      OvsBits *rows = ovs_bits_new (source->n_rows, FALSE);

      if (rows == NULL)
        g_error ("out of memory for %u rows", source->n_rows);
      ovs_matcher_run (predicate->matchers->pdata[i], source->version, rows);
      add_rows (set, source, rows);
      ovs_bits_unref (rows);
    }
}

static OvsBits *
match_predicate (OvsSelect *select, OvsPathDict *dict)
{
  const Predicate *predicate = &g_array_index (select->predicates, Predicate, select->next++);
  OvsBits *set = new_set (select);

  if (predicate->builtin != OVS_BUILTIN_NONE)
    match_builtin (select, dict, predicate, set);
  else if (predicate->filter->op == OVSTAGE_FILTER_OP_HAS)
    {
      const GArray *heads = g_array_index (select->taken, Taken, predicate->taken).heads;

      for (guint i = 0; i < heads->len; i++)
        add_rows (set, &g_array_index (heads, Source, i), NULL);
    }
  else
    match_values (select, predicate, set);
  return set;
}

/* The predicates are met in the order in which they were listed. */
static OvsBits *
match (OvsSelect *select, OvsPathDict *dict, const OvstageFilter *filter)
{
  gsize first = 0;
  OvsBits *set;

  if (filter->kind == OVS_FILTER_PREDICATE)
    return match_predicate (select, dict);
  if (filter->kind == OVS_FILTER_ANY)
    set = new_set (select);
  else if (filter->kind == OVS_FILTER_ALL && filter->n_parts > 0)
    set = match (select, dict, filter->parts[first++]);
  else
    set = ovs_bits_new_from (select->existing, select->n_paths, select->n_paths);
  for (gsize i = first; i < filter->n_parts; i++)
    {
      g_autoptr (OvsBits) part = match (select, dict, filter->parts[i]);

      for (gsize word = 0; word < n_words (set); word++)
        switch (filter->kind)
          {
          case OVS_FILTER_ANY:
            set->words[word] |= part->words[word];
            break;
          case OVS_FILTER_NOT:
            set->words[word] &= ~part->words[word];
            break;
          default:
            set->words[word] &= part->words[word];
            break;
          }
    }
  return set;
}

static gboolean
meets (const OvsSelect *select, const OvsBits *set, guint32 taken)
{
  const GArray *heads = g_array_index (select->taken, Taken, taken).heads;

  for (guint i = 0; i < heads->len; i++)
    {
      const Source *source = &g_array_index (heads, Source, i);

      for (gsize word = 0; word < ((gsize) source->n_rows + 63) / 64; word++)
        for (guint64 bits = get_row_word (source, NULL, word); bits != 0; bits &= bits - 1)
          if (ovs_bits_get (set, get_prim (source, (guint32) (word * 64) + (guint32) __builtin_ctzll (bits))))
            return TRUE;
    }
  return FALSE;
}

static gint
compare_tokens (gconstpointer a, gconstpointer b)
{
  guint32 x = *(const guint32 *) a, y = *(const guint32 *) b;

  return x < y ? -1 : x > y;
}

static void
discover (OvsQuery *query, const OvsBits *set)
{
  const OvsSelect *select = query->select;
  GArray *found = g_array_new (FALSE, FALSE, sizeof (guint32));

  for (guint i = 0; i < select->wanted->len && query->list->n > 0; i++)
    {
      guint32 wanted = g_array_index (select->wanted, guint32, i);

      if (meets (select, set, wanted))
        g_array_append_val (found, g_array_index (select->taken, Taken, wanted).token);
    }
  g_array_sort (found, compare_tokens);
  query->n_attributes = found->len;
  query->attributes = (guint32 *) g_array_free (found, FALSE);
}

/* No lock held. Every byte it looks at is there. */
static gboolean
evaluate (OvsQuery *query, GError **error)
{
  OvsSelect *select = query->select;
  OvsPathDict *dict = query->op.stage->dict;
  g_autoptr (OvsBits) set = NULL;

  for (guint i = 0; i < select->taken->len; i++)
    {
      OvsPeek *peek = g_array_index (select->taken, Taken, i).peek;

      if (peek != NULL && ovs_peek_get_work (peek) > 0)
        ovs_peek_run (peek);
    }
  set = select->filter != NULL ? match (select, dict, select->filter) : ovs_bits_ref (select->existing);
  query->list = ovs_path_list_new_for_bits (dict, set->words, n_words (set), ovs_bits_count (set), error);
  if (query->list == NULL)
    return FALSE;
  discover (query, set);
  return TRUE;
}

/* --- as an operation --- */

void
ovs_query_run (OvsOp *op, GQueue *ready)
{
  GError *error = NULL;

  evaluate ((OvsQuery *) op, &error);
  ovs_query_drop_select (op);
  ovs_stage_lock (op->stage);
  ovs_op_unset_pending (op, error, ready);
  ovs_stage_unlock (op->stage);
  ovs_op_end (op);
}

/* In a thread of the stage. Takes @data. */
static void
run_job (gpointer data)
{
  OvsOp *op = data;
  GQueue ready = G_QUEUE_INIT;

  ovs_query_run (op, &ready);
  ovs_ops_run (&ready);
  ovs_op_unref (op);
}

typedef enum
{
  NEXT_WAIT, /* for bytes */
  NEXT_PUSH, /* it is much, or is to look so */
  NEXT_RUN,
} Next;

/* Stage lock held. All is taken. */
static Next
choose_next (OvsQuery *query)
{
  if (query->op.n_deps > 0)
    return NEXT_WAIT;
  if ((ovs_debug_flags () & OVS_DEBUG_ASYNC) != 0 || query->select->work > query->op.stage->config.caller_limit)
    return NEXT_PUSH;
  return NEXT_RUN;
}

static void
push (OvsOp *op)
{
  ovs_workers_push (op->stage->workers, run_job, ovs_op_ref (op));
}

static void
book_blocked (OvsOp *op, GQueue *ready)
{
  OvsQuery *query = (OvsQuery *) op;
  Next next = NEXT_RUN;
  OvsBlocked *blocked;
  GError *error = NULL;

  ovs_stage_lock (op->stage);
  if (ovs_op_check_blocked (op, &error) && take (op, query->select, &error))
    next = choose_next (query);
  else if (op->n_deps > 0)
    ovs_op_drop_deps (op);
  blocked = ovs_op_unblock (op, ready);
  if (error != NULL)
    ovs_op_unset_pending (op, error, ready);
  else if (next == NEXT_WAIT)
    op->begun = FALSE;
  ovs_stage_unlock (op->stage);

  if (error != NULL)
    {
      ovs_query_drop_select (op);
      ovs_op_end (op);
    }
  else if (next == NEXT_PUSH)
    push (op);
  else if (next == NEXT_RUN)
    ovs_query_run (op, ready);
  ovs_blocked_free (blocked);
}

static gboolean
is_own_path (const OvstageFilter *filter)
{
  return filter->attribute == 0 && filter->op == OVSTAGE_FILTER_OP_SUBTREE;
}

/* Handles, and what is never supported. */
static gboolean
check_query (OvsStage *stage, OvsSelect *select, const guint64 *attributes, gsize n_attributes, GError **error)
{
  for (guint i = 0; i < select->predicates->len; i++)
    {
      const Predicate *predicate = &g_array_index (select->predicates, Predicate, i);

      if (!is_own_path (predicate->filter) && !ovs_stage_check_attribute (stage, predicate->filter->attribute, error))
        {
          g_prefix_error (error, "predicates[%u]: ", i);
          return FALSE;
        }
    }
  for (gsize i = 0; i < n_attributes; i++)
    if (!ovs_stage_check_attribute (stage, attributes[i], error))
      {
        g_prefix_error (error, "attributes[%" G_GSIZE_FORMAT "]: ", i);
        return FALSE;
      }
  for (guint i = 0; i < select->predicates->len; i++)
    {
      Predicate *predicate = &g_array_index (select->predicates, Predicate, i);

      predicate->builtin = is_own_path (predicate->filter) ? OVS_BUILTIN_PATH
                                                            : ovs_stage_get_builtin (stage, (guint32) predicate->filter->attribute);
      if (predicate->builtin == OVS_BUILTIN_ACTIVE)
        return ovs_fail (error, OVSTAGE_ERROR_NOT_SUPPORTED, "predicates[%u]: '%s' cannot be looked at", i,
                         ovs_stage_name (stage, (guint32) predicate->filter->attribute));
    }
  for (gsize i = 0; i < n_attributes; i++)
    if (ovs_stage_get_builtin (stage, (guint32) attributes[i]) == OVS_BUILTIN_ACTIVE)
      return ovs_fail (error, OVSTAGE_ERROR_NOT_SUPPORTED, "attributes[%" G_GSIZE_FORMAT "]: '%s' cannot be looked at", i,
                       ovs_stage_name (stage, (guint32) attributes[i]));
  return TRUE;
}

static gboolean
prepare (OvsStage *stage, OvsSelect *select, const guint64 *attributes, gsize n_attributes, GError **error)
{
  g_autoptr (GPtrArray) predicates = NULL;

  if (n_attributes > 0 && attributes == NULL)
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "attributes is NULL, expected %" G_GSIZE_FORMAT " tokens", n_attributes);
  if (!ovs_filter_check_form (select->filter, error))
    return FALSE;
  predicates = ovs_filter_list_predicates (select->filter);
  for (guint i = 0; i < predicates->len; i++)
    g_array_append_val (select->predicates, ((Predicate){ .filter = predicates->pdata[i] }));
  if (!check_query (stage, select, attributes, n_attributes, error))
    return FALSE;

  select->discover_all = n_attributes == 0;
  for (gsize i = 0; i < n_attributes; i++)
    {
      guint32 token = (guint32) attributes[i];
      gboolean known = FALSE;

      for (guint j = 0; j < select->wanted->len && !known; j++)
        known = g_array_index (select->wanted, guint32, j) == token;
      if (!known)
        g_array_append_val (select->wanted, token);
    }
  return TRUE;
}

/* Stage lock held. */
static gboolean
book (OvsQuery *query, Next *next, GQueue *ready, GError **error)
{
  OvsStage *stage = query->op.stage;
  /* It looks at all that was submitted, and at what exists in any case. */
  OvsFootprint footprint = { .asks = TRUE, .asks_at = OVSTAGE_ORDINAL_NEWEST };

  if (!ovs_stage_check_open (stage, error))
    return FALSE;
  if (ovs_op_must_block (&query->op, NULL, &footprint))
    {
      *next = NEXT_WAIT;
      return ovs_op_block (&query->op, NULL, &footprint, book_blocked, NULL, NULL, ready, error);
    }
  if (take (&query->op, query->select, error))
    *next = choose_next (query);
  if (*error == NULL && *next != NEXT_RUN)
    ovs_stage_check_queue (stage, error);
  if (*error != NULL)
    {
      if (query->op.n_deps > 0)
        ovs_op_drop_deps (&query->op);
      return FALSE;
    }
  ovs_op_book (&query->op);
  query->op.begun = *next == NEXT_PUSH;
  if (*next != NEXT_RUN)
    ovs_op_set_pending (&query->op);
  return TRUE;
}

OvsOp *
ovs_stage_query_filter (OvsStage *stage, OvstageFilter *filter, const guint64 *attributes, gsize n_attributes)
{
  OvsQuery *query = ovs_op_new (stage, OVS_OP_QUERY, sizeof *query);
  GQueue ready = G_QUEUE_INIT;
  Next next = NEXT_RUN;
  GError *error = NULL;

  query->select = new_select (filter);
  if (prepare (stage, query->select, attributes, n_attributes, &error))
    {
      ovs_stage_lock (stage);
      book (query, &next, &ready, &error);
      ovs_stage_unlock (stage);
    }
  if (error != NULL)
    {
      ovs_query_drop_select (&query->op);
      return ovs_op_end_new (&query->op, error);
    }
  if (next == NEXT_PUSH)
    push (&query->op);
  ovs_ops_run (&ready);
  if (next != NEXT_RUN)
    return &query->op;
  evaluate (query, &error);
  ovs_query_drop_select (&query->op);
  return ovs_op_end_new (&query->op, error);
}
