/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "op/ovs-selection.h"

#include "path/ovs-path-text.h"
#include "query/ovs-carriers.h"
#include "query/ovs-match.h"

/* One attribute, as the filter took it. */
typedef struct
{
  guint32 token;
  GArray *heads;  /* (owned) (nullable) OvsCarriers: on which prims it lives */
  OvsPeek *peek;  /* (owned) (nullable) */
  GArray *values; /* (owned) (nullable) OvsCarriers, one for each version of the peek */
} Taken;

/* One predicate and its matchers: one for each of the versions, or one for built-in attributes. */
typedef struct
{
  const OvstageFilter *filter; /* lent */
  OvsBuiltinKind builtin;
  guint taken;        /* index of its attribute */
  GPtrArray *matchers; /* (owned) (nullable) OvsMatcher */
} Predicate;

struct _OvsSelection
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

OvsSelection *
ovs_selection_new (OvstageFilter *filter)
{
  OvsSelection *selection = g_new0 (OvsSelection, 1);

  selection->filter = filter != NULL ? ovs_filter_ref (filter) : NULL;
  selection->predicates = g_array_new (FALSE, FALSE, sizeof (Predicate));
  g_array_set_clear_func (selection->predicates, (GDestroyNotify) clear_predicate);
  selection->taken = g_array_new (FALSE, FALSE, sizeof (Taken));
  g_array_set_clear_func (selection->taken, (GDestroyNotify) clear_taken);
  selection->wanted = g_array_new (FALSE, FALSE, sizeof (guint32));
  return selection;
}

void
ovs_selection_free (OvsSelection *selection)
{
  g_array_unref (selection->predicates);
  g_array_unref (selection->taken);
  g_array_unref (selection->wanted);
  g_clear_pointer (&selection->existing, ovs_bits_unref);
  g_clear_pointer (&selection->filter, ovs_filter_unref);
  g_free (selection);
}

gsize
ovs_selection_get_work (const OvsSelection *selection)
{
  return selection->work;
}

/* --- what is asked for --- */

static gboolean
is_own_path (const OvstageFilter *filter)
{
  return filter->attribute == 0 && filter->op == OVSTAGE_FILTER_OP_SUBTREE;
}

/* What SUBTREE compares with is a path: a text that is none, such as one without the slash, would quietly match nothing. */
static gboolean
check_path (const OvstageFilter *predicate, GError **error)
{
  const OvsValue *value = predicate->values;

  if (predicate->op != OVSTAGE_FILTER_OP_SUBTREE || (value->kind != OVS_VALUE_TEXT && value->kind != OVS_VALUE_LITERAL) ||
      ovs_check_path_text (value->text, value->length, error))
    return TRUE;
  g_prefix_error (error, "SUBTREE: ");
  return FALSE;
}

/* Handles, paths, and what is never supported. */
static gboolean
check_query (OvsStage *stage, OvsSelection *selection, const guint64 *attributes, gsize n_attributes, GError **error)
{
  for (guint i = 0; i < selection->predicates->len; i++)
    {
      const Predicate *predicate = &g_array_index (selection->predicates, Predicate, i);

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
  for (guint i = 0; i < selection->predicates->len; i++)
    if (!check_path (g_array_index (selection->predicates, Predicate, i).filter, error))
      {
        g_prefix_error (error, "predicates[%u]: ", i);
        return FALSE;
      }
  for (guint i = 0; i < selection->predicates->len; i++)
    {
      Predicate *predicate = &g_array_index (selection->predicates, Predicate, i);

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

gboolean
ovs_selection_prepare (OvsSelection *selection, OvsStage *stage, const guint64 *attributes, gsize n_attributes, GError **error)
{
  g_autoptr (GPtrArray) predicates = NULL;

  if (n_attributes > 0 && attributes == NULL)
    return ovs_fail (error, OVSTAGE_ERROR_INVALID_ARGUMENT, "attributes is NULL, expected %" G_GSIZE_FORMAT " tokens", n_attributes);
  if (!ovs_filter_check_form (selection->filter, error))
    return FALSE;
  predicates = ovs_filter_list_predicates (selection->filter);
  for (guint i = 0; i < predicates->len; i++)
    g_array_append_val (selection->predicates, ((Predicate){ .filter = predicates->pdata[i] }));
  if (!check_query (stage, selection, attributes, n_attributes, error))
    return FALSE;

  selection->discover_all = n_attributes == 0;
  g_array_set_size (selection->wanted, (guint) n_attributes);
  g_array_set_size (selection->wanted, (guint) ovs_list_tokens (attributes, n_attributes, (guint32 *) selection->wanted->data));
  return TRUE;
}

/* --- what is taken under the lock --- */

static GArray *
new_carriers (void)
{
  GArray *carriers = g_array_new (FALSE, FALSE, sizeof (OvsCarriers));

  g_array_set_clear_func (carriers, (GDestroyNotify) ovs_carriers_clear);
  return carriers;
}

/* Takes @live (nullable) and @version (nullable). */
static void
add_carriers (OvsSelection *selection, GArray *all, OvsLayout *layout, guint32 n_rows, OvsBits *live, OvsVersion *version)
{
  OvsCarriers carriers;

  ovs_carriers_init (&carriers, layout, n_rows, live, version);
  g_array_append_val (all, carriers);
  selection->work += n_rows / 8;
}

static void
take_heads (OvsSelection *selection, Taken *taken, OvsAttr *attr)
{
  if (taken->heads != NULL)
    return;
  taken->heads = new_carriers ();
  for (guint c = 0; attr != NULL && c < attr->columns->len; c++)
    {
      const OvsColumn *column = attr->columns->pdata[c];
      OvsBits *live = NULL;

      if (column->n_head_live == 0)
        continue;
      if (column->head_live != NULL)
        live = ovs_bits_new_from (column->head_live, column->n_head_rows, column->n_head_rows);
      add_carriers (selection, taken->heads, column->layout, column->n_head_rows, live, NULL);
    }
}

static gboolean
take_values (OvsOp *query, OvsSelection *selection, Taken *taken, OvsAttr *attr, GError **error)
{
  if (taken->values != NULL)
    return TRUE;
  taken->values = new_carriers ();
  if (attr == NULL)
    return TRUE;
  taken->peek = ovs_stage_peek (query->stage, attr, OVSTAGE_ORDINAL_NEWEST, error);
  if (taken->peek == NULL)
    return FALSE;
  for (guint v = 0; v < ovs_peek_get_n_versions (taken->peek); v++)
    {
      OvsVersion *version = ovs_peek_get_version (taken->peek, v);

      add_carriers (selection, taken->values, version->layout, version->n_rows, version->live != NULL ? ovs_bits_ref (version->live) : NULL,
                    ovs_version_ref (version));
      selection->work += (gsize) version->n_rows * version->row_size;
    }
  selection->work += ovs_peek_get_work (taken->peek);
  ovs_op_add_peek_deps (query, taken->token, OVSTAGE_ORDINAL_NEWEST);
  return TRUE;
}

/* The index of an attribute among those taken; it may be one of the first @n_known. */
static guint
get_taken (OvsSelection *selection, guint32 token, guint n_known)
{
  Taken taken = { .token = token };

  for (guint i = 0; i < n_known; i++)
    if (g_array_index (selection->taken, Taken, i).token == token)
      return i;
  g_array_append_val (selection->taken, taken);
  return selection->taken->len - 1;
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
      const OvsCarriers *carriers = &g_array_index (taken->values, OvsCarriers, i);
      GError *local = NULL;
      OvsMatcher *matcher = ovs_matcher_new (stage->dict, predicate->filter, &carriers->version->schema, ovs_stage_name (stage, taken->token),
                                             &local);

      if (matcher != NULL)
        g_ptr_array_add (predicate->matchers, matcher);
      else if (ovs_carriers_find_lowest (carriers) < lowest)
        {
          lowest = ovs_carriers_find_lowest (carriers);
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
make_builtin_matcher (OvsStage *stage, OvsSelection *selection, Predicate *predicate, GError **error)
{
  OvsSchema schema = { { OVS_CODE_UINT, 64, 1 }, predicate->builtin == OVS_BUILTIN_CHILDREN, OVSTAGE_SEMANTIC_RELATIONSHIP_PATH_ID };
  guint32 root = ovs_path_dict_get_root (stage->dict);
  guint32 n_rows = ovs_bits_count (selection->existing);
  OvsMatcher *matcher;

  if (predicate->filter->op == OVSTAGE_FILTER_OP_HAS)
    return TRUE;
  if (predicate->builtin == OVS_BUILTIN_PARENT && root < selection->n_paths && ovs_bits_get (selection->existing, root))
    n_rows--;
  if (n_rows == 0)
    return TRUE;
  matcher = ovs_matcher_new (stage->dict, predicate->filter, &schema, ovs_stage_name (stage, stage->reserved[predicate->builtin - 1]), error);
  if (matcher == NULL)
    return FALSE;
  predicate->matchers = g_ptr_array_new_with_free_func ((GDestroyNotify) ovs_matcher_free);
  g_ptr_array_add (predicate->matchers, matcher);
  selection->work += n_rows * sizeof (guint32);
  return TRUE;
}

static void
take_existing (OvsStage *stage, OvsSelection *selection)
{
  const guint32 *live = stage->live;

  selection->existing = ovs_bits_new (selection->n_paths, FALSE);
  for (gsize first = 0; first < MIN (stage->n_live, selection->n_paths); first += 64)
    {
      guint n = (guint) MIN (64, MIN (stage->n_live, selection->n_paths) - first);
      guint64 word = 0;

      for (guint i = 0; i < n; i++)
        word |= (guint64) (live[first + i] != 0) << i;
      selection->existing->words[first / 64] = word;
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
looks_at_builtins (const OvsSelection *selection)
{
  for (guint i = 0; i < selection->predicates->len; i++)
    if (g_array_index (selection->predicates, Predicate, i).builtin != OVS_BUILTIN_NONE)
      return TRUE;
  return FALSE;
}

gboolean
ovs_selection_take (OvsSelection *selection, OvsOp *query, GError **error)
{
  OvsStage *stage = query->stage;
  guint n_known;

  selection->n_paths = ovs_path_dict_get_last_path (stage->dict) + 1;
  if (selection->filter == NULL || asks_what_exists (selection->filter) || looks_at_builtins (selection))
    take_existing (stage, selection);
  for (guint i = 0; i < selection->predicates->len; i++)
    {
      Predicate *predicate = &g_array_index (selection->predicates, Predicate, i);
      guint32 token = (guint32) predicate->filter->attribute;
      gboolean ok = TRUE;

      if (predicate->builtin != OVS_BUILTIN_NONE)
        ok = make_builtin_matcher (stage, selection, predicate, error);
      else
        {
          Taken *taken;

          predicate->taken = get_taken (selection, token, selection->taken->len);
          taken = &g_array_index (selection->taken, Taken, predicate->taken);
          if (predicate->filter->op == OVSTAGE_FILTER_OP_HAS)
            take_heads (selection, taken, ovs_stage_get_attr (stage, token));
          else
            ok = take_values (query, selection, taken, ovs_stage_get_attr (stage, token), error) &&
                 make_matchers (stage, predicate, taken, error);
        }
      if (!ok)
        {
          g_prefix_error (error, "predicates[%u]: ", i);
          return FALSE;
        }
    }

  /* Those that are wanted differ from one another. */
  n_known = selection->taken->len;
  for (guint i = 0; selection->discover_all && i < stage->known->len; i++)
    g_array_append_val (selection->wanted, ((OvsAttr *) stage->known->pdata[i])->token);
  for (guint i = 0; i < selection->wanted->len; i++)
    {
      guint32 *wanted = &g_array_index (selection->wanted, guint32, i);
      guint32 token = *wanted;

      *wanted = get_taken (selection, token, n_known);
      take_heads (selection, &g_array_index (selection->taken, Taken, *wanted), ovs_stage_get_attr (stage, token));
    }
  return TRUE;
}

/* --- sets of prims --- */

static gsize
n_words (const OvsBits *bits)
{
  return ((gsize) bits->n + 63) / 64;
}

static void
match_builtin (const OvsSelection *selection, OvsPathDict *dict, const Predicate *predicate, OvsBits *set)
{
  OvsMatcher *matcher = predicate->matchers != NULL ? predicate->matchers->pdata[0] : NULL;
  guint32 root = ovs_path_dict_get_root (dict);

  if (matcher == NULL && predicate->filter->op != OVSTAGE_FILTER_OP_HAS)
    return;
  for (gsize word = 0; word < n_words (set); word++)
    for (guint64 bits = selection->existing->words[word]; bits != 0; bits &= bits - 1)
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
            else if (prim != root && ovs_bits_get (selection->existing, parent) && ovs_matcher_test_path (matcher, prim))
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
match_values (const OvsSelection *selection, const Predicate *predicate, OvsBits *set)
{
  const Taken *taken = &g_array_index (selection->taken, Taken, predicate->taken);

  for (guint i = 0; i < taken->values->len; i++)
    {
      const OvsCarriers *carriers = &g_array_index (taken->values, OvsCarriers, i);
      OvsBits *rows = ovs_bits_new (carriers->n_rows, FALSE);

      ovs_matcher_run (predicate->matchers->pdata[i], carriers->version, rows);
      ovs_carriers_add_to (carriers, rows, set);
      ovs_bits_unref (rows);
    }
}

static OvsBits *
match_predicate (OvsSelection *selection, OvsPathDict *dict)
{
  const Predicate *predicate = &g_array_index (selection->predicates, Predicate, selection->next++);
  OvsBits *set = ovs_bits_new (selection->n_paths, FALSE);

  if (predicate->builtin != OVS_BUILTIN_NONE)
    match_builtin (selection, dict, predicate, set);
  else if (predicate->filter->op == OVSTAGE_FILTER_OP_HAS)
    {
      const GArray *heads = g_array_index (selection->taken, Taken, predicate->taken).heads;

      for (guint i = 0; i < heads->len; i++)
        ovs_carriers_add_to (&g_array_index (heads, OvsCarriers, i), NULL, set);
    }
  else
    match_values (selection, predicate, set);
  return set;
}

/* The predicates are met in the order in which they were listed. */
static OvsBits *
match (OvsSelection *selection, OvsPathDict *dict, const OvstageFilter *filter)
{
  gsize first = 0;
  OvsBits *set;

  if (filter->kind == OVS_FILTER_PREDICATE)
    return match_predicate (selection, dict);
  if (filter->kind == OVS_FILTER_ANY)
    set = ovs_bits_new (selection->n_paths, FALSE);
  else if (filter->kind == OVS_FILTER_ALL && filter->n_parts > 0)
    set = match (selection, dict, filter->parts[first++]);
  else
    set = ovs_bits_new_from (selection->existing, selection->n_paths, selection->n_paths);
  for (gsize i = first; i < filter->n_parts; i++)
    {
      g_autoptr (OvsBits) part = match (selection, dict, filter->parts[i]);

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
meets (const GArray *heads, const OvsBits *set)
{
  for (guint i = 0; i < heads->len; i++)
    if (ovs_carriers_meet (&g_array_index (heads, OvsCarriers, i), set))
      return TRUE;
  return FALSE;
}

static gint
compare_tokens (gconstpointer a, gconstpointer b)
{
  guint32 x = *(const guint32 *) a, y = *(const guint32 *) b;

  return x < y ? -1 : x > y;
}

/* Which of the attributes that are wanted live on prims of the set. */
static guint32 *
discover (const OvsSelection *selection, const OvsBits *set, gsize *n)
{
  GArray *found = g_array_new (FALSE, FALSE, sizeof (guint32));

  for (guint i = 0; i < selection->wanted->len; i++)
    {
      const Taken *taken = &g_array_index (selection->taken, Taken, g_array_index (selection->wanted, guint32, i));

      if (meets (taken->heads, set))
        g_array_append_val (found, taken->token);
    }
  g_array_sort (found, compare_tokens);
  *n = found->len;
  return (guint32 *) g_array_free (found, FALSE);
}

gboolean
ovs_selection_run (OvsSelection *selection, OvsQuery *query, GError **error)
{
  OvsPathDict *dict = query->op.stage->dict;
  g_autoptr (OvsBits) set = NULL;

  for (guint i = 0; i < selection->taken->len; i++)
    {
      OvsPeek *peek = g_array_index (selection->taken, Taken, i).peek;

      if (peek != NULL && ovs_peek_get_work (peek) > 0)
        ovs_peek_run (peek);
    }
  set = selection->filter != NULL ? match (selection, dict, selection->filter) : ovs_bits_ref (selection->existing);
  query->list = ovs_path_list_new_for_bits (dict, set->words, n_words (set), ovs_bits_count (set), error);
  if (query->list == NULL)
    return FALSE;
  if (query->list->n > 0)
    query->attributes = discover (selection, set, &query->n_attributes);
  return TRUE;
}
