/* A producer at 240 Hz and two consumers at 60 and 7 Hz in one main loop.
 *
 * The producer writes some prims each step, deletes one now and then, and new ones join
 * on the way. A consumer keeps a cursor, reads what changed after it, whatever that was,
 * and applies it to a copy; the slow one joins late, with a snapshot. The program knows
 * what was produced and checks that nobody missed a change or was told one twice.
 *
 * Build: cc $(pkg-config --cflags ovstage) producer-consumer.c $(pkg-config --libs ovstage)
 * Prints:  60 Hz: <N> reads told of <N> changes
 *          7 Hz: <N> reads told of <N> changes
 *          each consumer saw every change of 480 steps once
 */
#include <stdlib.h>

#include <ovstage/ovstage.h>

#define RATE 240
#define N_STEPS 480
#define N_PRIMS 60 /* in the end */
#define N_FIRST 40

typedef enum
{
  NOTHING,
  WRITTEN,
  DELETED,
} Event;

typedef struct
{
  GMainLoop *loop;
  OvstageStage *stage;
  OvstageQuery *query; /* of all prims that will ever be */
  OvstageQuery *single[N_PRIMS];
  OvstageToken position;
  gint64 started;
  guint64 step;
  guint n_consuming;

  /* What was produced: */
  Event events[N_STEPS + 1][N_PRIMS];
  guint64 rests_until[N_PRIMS]; /* a prim that was deleted */
  float values[N_PRIMS];        /* 0: not there */
} App;

typedef struct
{
  App *app;
  guint rate;
  guint64 joins; /* at this step */
  guint64 cursor; /* 0: has read nothing yet */
  gboolean reading;
  Event told[N_PRIMS]; /* by the present read */
  float values[N_PRIMS];
  guint n_reads;
  guint n_told;
} Consumer;

/* Takes @operation. Nobody waits for it: what follows is decided after it. */
static void
submit (OvstageOperation *operation)
{
  if (ovstage_operation_get_error (operation) != NULL)
    g_error ("%s", ovstage_operation_get_error (operation)->message);
  g_object_unref (operation);
}

static void
produce (App *app)
{
  guint64 step = ++app->step;
  guint n_joined = MIN (N_FIRST + step / 20, N_PRIMS), victim = (step * 7) % n_joined;
  float values[N_PRIMS];
  gint64 shape[] = { N_PRIMS };
  guint64 mask = 0;
  g_autoptr (GBytes) bytes = NULL;
  g_autoptr (OvstageTensor) tensor = NULL;
  g_autoptr (OvstageWriteData) data = NULL;

  for (guint i = 0; i < N_PRIMS; i++)
    {
      values[i] = (float) step;
      if (i >= n_joined || (i * 7 + step) % 12 != 0 || step < app->rests_until[i])
        continue;
      mask |= G_GUINT64_CONSTANT (1) << i;
      app->events[step][i] = WRITTEN;
      app->values[i] = (float) step;
    }
  bytes = g_bytes_new (values, sizeof values);
  tensor = ovstage_tensor_new_for_bytes (bytes, &OVSTAGE_DATA_TYPE_FLOAT32, shape, 1, NULL);
  data = ovstage_write_data_new (tensor);
  ovstage_write_data_set_count (data, N_PRIMS);
  ovstage_write_data_set_mask (data, &mask, 1);
  submit (ovstage_stage_write_attribute (app->stage, app->query, app->position, step, data, OVSTAGE_PRIM_MODE_UPSERT, NULL));

  if (step % 8 == 0 && app->values[victim] != 0)
    {
      submit (ovstage_stage_delete_attributes (app->stage, app->single[victim], &app->position, 1, step));
      app->events[step][victim] = DELETED;
      app->values[victim] = 0;
      app->rests_until[victim] = step + 100;
    }
  submit (ovstage_stage_advance_write_floor (app->stage, step, OVSTAGE_SCOPE_ALL, NULL, 0));
}

static gboolean
produce_cb (gpointer user_data)
{
  App *app = user_data;
  gint64 due = (g_get_monotonic_time () - app->started) * RATE / G_USEC_PER_SEC;

  while (app->step < N_STEPS && (gint64) app->step < due)
    produce (app);
  return app->step < N_STEPS ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}

static void
apply (Consumer *consumer, OvstageReadGroup *group)
{
  gboolean is_delete = ovstage_read_group_is_delete (group);
  g_autoptr (OvstageTensor) tensor = is_delete ? NULL : ovstage_read_group_ref_tensor (group, 0);
  g_autoptr (GBytes) bytes = is_delete ? NULL : ovstage_tensor_ref_bytes (tensor, NULL);
  const float *values = is_delete ? NULL : g_bytes_get_data (bytes, NULL);

  for (guint32 i = 0; i < ovstage_read_group_get_prim_count (group); i++)
    {
      guint32 prim = ovstage_read_group_prim_index (group, i);

      if (consumer->told[prim] != NOTHING)
        g_error ("%u Hz: prim %u is told twice", consumer->rate, prim);
      consumer->told[prim] = is_delete ? DELETED : WRITTEN;
      consumer->values[prim] = is_delete ? 0 : values[ovstage_read_group_data_row_index (group, i)];
      consumer->n_told++;
    }
}

/* What happened to a prim after step @from, up to @to: the last counts. */
static Event
find_last (App *app, guint32 prim, guint64 from, guint64 to)
{
  for (guint64 step = to; step > from; step--)
    if (app->events[step][prim] != NOTHING)
      return app->events[step][prim];
  return NOTHING;
}

static void
check (Consumer *consumer, guint64 as_of)
{
  App *app = consumer->app;

  for (guint32 prim = 0; prim < N_PRIMS; prim++)
    {
      Event expected = find_last (app, prim, consumer->cursor, as_of);

      /* A snapshot tells what is there. */
      if (consumer->cursor == 0 && expected == DELETED)
        expected = NOTHING;
      if (consumer->told[prim] != expected)
        g_error ("%u Hz: prim %u after %" G_GUINT64_FORMAT ": told %d, expected %d", consumer->rate, prim, consumer->cursor,
                 consumer->told[prim], expected);
      consumer->told[prim] = NOTHING;
    }
  consumer->cursor = as_of;
  consumer->n_reads++;
}

static void
fetched_cb (GObject *source, GAsyncResult *result, gpointer user_data)
{
  Consumer *consumer = user_data;
  OvstageRead *read = OVSTAGE_READ (source);
  g_autoptr (GError) error = NULL;
  g_autoptr (OvstageReadGroup) group = ovstage_read_fetch_next_finish (read, result, &error);

  if (error != NULL)
    g_error ("%u Hz: %s", consumer->rate, error->message);
  if (group != NULL)
    {
      apply (consumer, group);
      ovstage_read_fetch_next_async (read, G_PRIORITY_DEFAULT, NULL, fetched_cb, consumer);
      return;
    }
  check (consumer, ovstage_read_get_as_of (read));
  consumer->reading = FALSE;
}

static gboolean
consume_cb (gpointer user_data)
{
  Consumer *consumer = user_data;
  App *app = consumer->app;
  OvstageOrdinalRange range = OVSTAGE_ORDINAL_RANGE_BETWEEN (consumer->cursor + 1, OVSTAGE_ORDINAL_NEWEST);
  g_autoptr (OvstageRead) read = NULL;

  if (consumer->cursor == N_STEPS)
    {
      if (--app->n_consuming == 0)
        g_main_loop_quit (app->loop);
      return G_SOURCE_REMOVE;
    }
  if (consumer->reading || app->step < consumer->joins)
    return G_SOURCE_CONTINUE;
  if (consumer->cursor == 0)
    range = OVSTAGE_ORDINAL_RANGE_LATEST (OVSTAGE_ORDINAL_NEWEST);
  read = ovstage_stage_read_attributes (app->stage, app->query, &app->position, 1, &range, NULL);
  consumer->reading = TRUE;
  ovstage_read_fetch_next_async (read, G_PRIORITY_DEFAULT, NULL, fetched_cb, consumer);
  return G_SOURCE_CONTINUE;
}

static void
report (Consumer *consumer)
{
  for (guint i = 0; i < N_PRIMS; i++)
    if (consumer->values[i] != consumer->app->values[i])
      g_error ("%u Hz: prim %u is %g, expected %g", consumer->rate, i, consumer->values[i], consumer->app->values[i]);
  g_print ("%u Hz: %u reads told of %u changes\n", consumer->rate, consumer->n_reads, consumer->n_told);
}

static gboolean
too_slow_cb (gpointer user_data)
{
  g_error ("it takes too long: only %" G_GUINT64_FORMAT " of %d steps", ((App *) user_data)->step, N_STEPS);
  return G_SOURCE_REMOVE;
}

int
main (void)
{
  g_autoptr (GMainLoop) loop = g_main_loop_new (NULL, FALSE);
  g_autoptr (OvstageStage) stage = ovstage_stage_new ("example.producer-consumer");
  OvstagePathDictionary *dictionary = ovstage_stage_get_path_dictionary (stage);
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();
  g_auto (GStrv) paths = NULL;
  g_autoptr (OvstagePathList) prims = NULL;
  App app = { .loop = loop, .stage = stage, .n_consuming = 2 };
  Consumer fast = { .app = &app, .rate = 60, .joins = 1 };
  Consumer slow = { .app = &app, .rate = 7, .joins = 100 };

  for (guint i = 0; i < N_PRIMS; i++)
    {
      g_autofree char *path = g_strdup_printf ("/World/Prim%u", i);
      g_autoptr (OvstagePathList) single =
        ovstage_path_dictionary_create_path_list (dictionary, (const char *const[]){ path, NULL }, NULL);

      g_strv_builder_add (builder, path);
      app.single[i] = ovstage_stage_query_path_list (stage, single);
    }
  paths = g_strv_builder_end (builder);
  prims = ovstage_path_dictionary_create_path_list (dictionary, (const char *const *) paths, NULL);
  app.query = ovstage_stage_query_path_list (stage, prims);
  app.position = ovstage_path_dictionary_intern_token (dictionary, "position", NULL);

  app.started = g_get_monotonic_time ();
  g_timeout_add (1000 / RATE, produce_cb, &app);
  g_timeout_add (1000 / fast.rate, consume_cb, &fast);
  g_timeout_add (1000 / slow.rate, consume_cb, &slow);
  g_timeout_add_seconds (60, too_slow_cb, &app);
  g_main_loop_run (loop);

  report (&fast);
  report (&slow);
  g_print ("each consumer saw every change of %d steps once\n", N_STEPS);
  for (guint i = 0; i < N_PRIMS; i++)
    g_object_unref (app.single[i]);
  g_object_unref (app.query);
  return EXIT_SUCCESS;
}
