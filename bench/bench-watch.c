/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* A change on its way to the callback of a watch, next to the same change in a stage
 * that nobody watches and an idle source that says so: what watching adds to waking
 * the main context. */

#include "config.h"

#include "bench-column.h"

#define N_PRIMS 100

typedef struct
{
  OvstageStage *stage; /* (owned) */
  OvstageQuery *query; /* (owned) */
  OvstageToken token;
  OvstageWriteData *data; /* (owned) */
  guint64 ordinal;
} Column;

typedef struct
{
  Float3 *values; /* (owned) */
  Column watched;
  Column alone;
  OvstageWatch *watch; /* (owned) */
  guint n_told;
} Watching;

static void
told_cb (OvstageWatch *watch, GPtrArray *groups, gpointer user_data)
{
  Watching *watching = user_data;

  BENCH_KEEP (groups->pdata[0]);
  watching->n_told++;
}

static gboolean
idle_cb (gpointer user_data)
{
  ((Watching *) user_data)->n_told++;
  return G_SOURCE_REMOVE;
}

static void
change (Column *column)
{
  column->ordinal++;
  bench_end (ovstage_stage_write_attribute (column->stage, column->query, column->token, column->ordinal, column->data,
                                            OVSTAGE_PRIM_MODE_UPSERT, NULL));
  bench_end (ovstage_stage_advance_write_floor (column->stage, column->ordinal, OVSTAGE_SCOPE_ALL, NULL, 0));
}

static void
turn_until_told (Watching *watching)
{
  while (watching->n_told == 0)
    g_main_context_iteration (NULL, TRUE);
  watching->n_told = 0;
}

static void
add_idle (Watching *watching)
{
  GSource *source = g_idle_source_new ();

  g_source_set_priority (source, G_PRIORITY_DEFAULT);
  g_source_set_callback (source, idle_cb, watching, NULL);
  g_source_attach (source, NULL);
  g_source_unref (source);
}

static void
change_watched (gpointer data)
{
  Watching *watching = data;

  change (&watching->watched);
  turn_until_told (watching);
}

static void
change_alone (gpointer data)
{
  Watching *watching = data;

  change (&watching->alone);
  add_idle (watching);
  turn_until_told (watching);
}

static void
idle_only (gpointer data)
{
  add_idle (data);
  turn_until_told (data);
}

static void
column_init (Column *column, Watching *watching)
{
  OvstagePathDictionary *dictionary;
  g_autofree OvstagePath *paths = NULL;

  column->stage = ovstage_stage_new ("bench");
  dictionary = ovstage_stage_get_path_dictionary (column->stage);
  column->token = ovstage_path_dictionary_intern_token (dictionary, "position", NULL);
  paths = bench_intern_prims (dictionary, N_PRIMS);
  column->query = bench_query (column->stage, paths, N_PRIMS);
  column->data = bench_write_data (watching->values, N_PRIMS);
  change (column);
}

static void
column_clear (Column *column)
{
  ovstage_write_data_unref (column->data);
  g_object_unref (column->query);
  g_object_unref (column->stage);
}

int
main (void)
{
  Watching watching = { .values = bench_new_values (N_PRIMS) };
  g_autoptr (GError) error = NULL;

  bench_noise ();
  column_init (&watching.watched, &watching);
  column_init (&watching.alone, &watching);
  watching.watch = ovstage_stage_watch (watching.watched.stage, watching.watched.query, &watching.watched.token, 1, told_cb, &watching,
                                        NULL, &error);
  if (watching.watch == NULL)
    g_error ("no watch: %s", error->message);

  bench_ratio ("100 float3 written, sealed, told to a watch / written, sealed, told by an idle source", 100, change_watched, change_alone,
               &watching);
  bench_ratio ("(the former / an idle source alone)", 100, change_watched, idle_only, &watching);

  ovstage_watch_cancel (watching.watch);
  g_object_unref (watching.watch);
  column_clear (&watching.watched);
  column_clear (&watching.alone);
  free (watching.values);
  return 0;
}
