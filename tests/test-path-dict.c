/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include <string.h>

#include "base/ovs-arena.h"
#include "path/ovs-path-list.h"

/* Small where a sanitizer makes everything slow. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define MANY 20000
#else
#define MANY 200000
#endif

#define N_THREADS 4

static guint32
intern_path_or_fail (OvsPathDict *dict, const char *path)
{
  g_autoptr (GError) error = NULL;
  guint32 id = ovs_path_dict_intern_path (dict, path, -1, &error);

  g_assert_no_error (error);
  g_assert_cmpuint (id, !=, OVS_ID_NONE);
  return id;
}

static guint32
intern_token_or_fail (OvsPathDict *dict, const char *text)
{
  g_autoptr (GError) error = NULL;
  guint32 id = ovs_path_dict_intern_token (dict, text, -1, &error);

  g_assert_no_error (error);
  g_assert_cmpuint (id, !=, OVS_ID_NONE);
  return id;
}

static OvstagePathList *
list_or_fail (OvsPathDict *dict, const guint64 *paths, gsize n)
{
  g_autoptr (GError) error = NULL;
  OvstagePathList *list = ovs_path_list_new (dict, paths, n, &error);

  g_assert_no_error (error);
  g_assert_nonnull (list);
  return list;
}

static void
assert_path_is (OvsPathDict *dict, guint64 id, const char *text)
{
  g_autofree char *own = ovs_path_dict_dup_path (dict, id);

  g_assert_cmpstr (own, ==, text);
}

static void
assert_refused (guint32 id, GError *error, OvstageError code, const char *message)
{
  g_assert_cmpuint (id, ==, OVS_ID_NONE);
  g_assert_error (error, OVSTAGE_ERROR, (gint) code);
  g_assert_cmpstr (error->message, ==, message);
  g_assert_true (g_utf8_validate (error->message, -1, NULL));
}

/* Arena */

static void
test_arena_grow (void)
{
  OvsArena arena;
  guint64 *first;

  ovs_arena_init (&arena, sizeof (guint64));
  g_assert_cmpuint (ovs_arena_get_length (&arena), ==, 0);
  first = ovs_arena_prepare (&arena, 1);
  for (guint32 i = 0; i < 1000000; i++)
    {
      guint64 *place = ovs_arena_prepare (&arena, 1);

      g_assert_cmpuint (*place, ==, 0);
      *place = i * 3 + 1;
      g_assert_cmpuint (ovs_arena_commit (&arena, 1), ==, i);
    }
  g_assert_cmpuint (ovs_arena_get_length (&arena), ==, 1000000);
  for (guint32 i = 0; i < 1000000; i++)
    g_assert_cmpuint (*OVS_ARENA_AT (&arena, guint64, i), ==, i * 3 + 1);
  g_assert_true (OVS_ARENA_AT (&arena, guint64, 0) == first);
  ovs_arena_clear (&arena);
  g_assert_cmpuint (ovs_arena_get_length (&arena), ==, 0);
}

static void
test_arena_locate (void)
{
  static const struct
  {
    guint32 index;
    guint segment;
    gsize offset;
  } cases[] = {
    { 0, 0, 0 }, { 255, 0, 255 }, { 256, 1, 0 }, { 767, 1, 511 }, { 768, 2, 0 },
    { G_MAXUINT32, OVS_ARENA_MAX_SEGMENTS - 1, 255 },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      gsize offset;

      g_assert_cmpuint (ovs_arena_locate (cases[i].index, &offset), ==, cases[i].segment);
      g_assert_cmpuint (offset, ==, cases[i].offset);
    }
}

/* Runs of elements lie side by side, whatever their size and the ends of segments. */
static void
test_arena_runs (void)
{
  static const gsize element_sizes[] = { 1, 4, 12, 5000 };
  g_autoptr (GRand) rand = g_rand_new_with_seed (7);

  for (gsize e = 0; e < G_N_ELEMENTS (element_sizes); e++)
    {
      OvsArena arena;
      gsize element_size = element_sizes[e];
      g_autoptr (GArray) runs = g_array_new (FALSE, FALSE, sizeof (guint32));
      guint32 end = 0;

      ovs_arena_init (&arena, element_size);
      for (guint i = 0; i < 500; i++)
        {
          guint32 n = g_rand_int_range (rand, 1, i % 100 == 0 ? 5000 : 20);
          guint8 *place = ovs_arena_prepare (&arena, n);
          guint32 first;

          memset (place, i, n * element_size);
          first = ovs_arena_commit (&arena, n);
          g_assert_cmpuint (first, >=, end);
          end = first + n;
          g_assert_cmpuint (ovs_arena_get_length (&arena), ==, end);
          g_array_append_val (runs, first);
          g_array_append_val (runs, n);
        }
      for (guint i = 0; i < 500; i++)
        {
          const guint8 *place = ovs_arena_get (&arena, g_array_index (runs, guint32, 2 * i), element_size);

          for (gsize k = 0; k < g_array_index (runs, guint32, 2 * i + 1) * element_size; k++)
            g_assert_cmpuint (place[k], ==, (guint8) i);
        }
      ovs_arena_clear (&arena);
    }
}

static void
test_arena_full (void)
{
  OvsArena arena;

  ovs_arena_init (&arena, 1);
  arena.length = G_MAXUINT32 - 1;
  g_assert_null (ovs_arena_prepare (&arena, 2));
  g_assert_null (ovs_arena_prepare (&arena, G_MAXUINT32));
  arena.length = 0;
  ovs_arena_clear (&arena);
  g_test_summary ("A segment of more bytes than there are addresses");
  ovs_arena_init (&arena, G_MAXSIZE / 1000);
  g_assert_null (ovs_arena_prepare (&arena, 1000));
  ovs_arena_clear (&arena);
}

/* Tokens: BEHAVIOUR "Path dictionary" 1, 2, 5 */

static void
test_token_equal (void)
{
  g_autoptr (OvsPathDict) dict = ovs_path_dict_new ();
  guint32 mass = intern_token_or_fail (dict, "mass");
  guint32 other = intern_token_or_fail (dict, "Mass");
  gsize length = 0;

  g_assert_cmpuint (mass, !=, other);
  g_assert_cmpuint (intern_token_or_fail (dict, "mass"), ==, mass);
  g_assert_cmpuint (ovs_path_dict_intern_token (dict, "massive", 4, NULL), ==, mass);
  g_assert_cmpuint (ovs_path_dict_find_token (dict, "mass", -1), ==, mass);
  g_assert_cmpuint (ovs_path_dict_find_token (dict, "mas", -1), ==, OVS_ID_NONE);
  g_assert_cmpstr (ovs_path_dict_get_token_text (dict, mass, &length), ==, "mass");
  g_assert_cmpuint (length, ==, 4);
}

static void
test_token_small (void)
{
  g_autoptr (OvsPathDict) dict = ovs_path_dict_new ();

  g_assert_cmpuint (ovs_path_dict_get_last_token (dict), ==, 0);
  g_assert_cmpuint (intern_token_or_fail (dict, "a"), ==, 1);
  g_assert_cmpuint (intern_token_or_fail (dict, "b"), ==, 2);
  g_assert_cmpuint (ovs_path_dict_get_last_token (dict), ==, 2);
}

static void
test_token_zero (void)
{
  g_autoptr (OvsPathDict) dict = ovs_path_dict_new ();
  gsize length = 1;

  g_assert_cmpstr (ovs_path_dict_get_token_text (dict, 0, &length), ==, "");
  g_assert_cmpuint (length, ==, 0);
  g_assert_cmpuint (ovs_path_dict_find_token (dict, "", -1), ==, 0);
}

static void
test_token_unknown (void)
{
  g_autoptr (OvsPathDict) dict = ovs_path_dict_new ();
  guint64 mass = intern_token_or_fail (dict, "mass");

  g_assert_null (ovs_path_dict_get_token_text (dict, mass + 1, NULL));
  g_assert_null (ovs_path_dict_get_token_text (dict, G_MAXUINT32, NULL));
  g_assert_null (ovs_path_dict_get_token_text (dict, G_MAXUINT64, NULL));
  g_test_summary ("An id above 32 bits is unknown, and not the one its lower half would be");
  g_assert_null (ovs_path_dict_get_token_text (dict, mass | G_GUINT64_CONSTANT (1) << 32, NULL));
  g_assert_null (ovs_path_dict_get_token_text (dict, G_GUINT64_CONSTANT (1) << 32, NULL));
}

static void
test_token_any_text (void)
{
  static const char *texts[] = { "/", "a/b//c/", " ", "\n", "日本語", "primvars:displayColor", "12345678", "1234567", "123456789" };
  g_autoptr (OvsPathDict) dict = ovs_path_dict_new ();

  for (gsize i = 0; i < G_N_ELEMENTS (texts); i++)
    g_assert_cmpuint (intern_token_or_fail (dict, texts[i]), ==, i + 1);
  for (gsize i = 0; i < G_N_ELEMENTS (texts); i++)
    g_assert_cmpstr (ovs_path_dict_get_token_text (dict, i + 1, NULL), ==, texts[i]);
}

static void
test_token_refused (void)
{
  static const struct
  {
    const char *text;
    gssize length;
    const char *message;
  } cases[] = {
    { "", -1, "token \"\" is empty: a token has at least one byte" },
    { "mass", 0, "token \"\" is empty: a token has at least one byte" },
    { "ma\0s", 4, "token \"ma\\x00s\" has a NUL at byte 2" },
    { "ok\xff", -1, "token \"ok\\xff\" is not valid UTF-8 at byte 2" },
    { "é\xc3", -1, "token \"é\\xc3\" is not valid UTF-8 at byte 2" },
    { "\xed\xa0\x80", -1, "token \"\\xed\\xa0\\x80\" is not valid UTF-8 at byte 0" },
  };
  g_autoptr (OvsPathDict) dict = ovs_path_dict_new ();

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GError) error = NULL;
      guint32 id = ovs_path_dict_intern_token (dict, cases[i].text, cases[i].length, &error);

      assert_refused (id, error, OVSTAGE_ERROR_INVALID_ARGUMENT, cases[i].message);
    }
  g_assert_cmpuint (ovs_path_dict_get_last_token (dict), ==, 0);
  g_assert_cmpuint (ovs_path_dict_intern_token (dict, "", -1, NULL), ==, OVS_ID_NONE);
}

static void
test_token_long (void)
{
  g_autoptr (OvsPathDict) dict = ovs_path_dict_new ();
  g_autofree char *text = g_strnfill (1000000, 'x');
  g_autoptr (GError) error = NULL;
  guint32 id = intern_token_or_fail (dict, text);

  g_assert_cmpstr (ovs_path_dict_get_token_text (dict, id, NULL), ==, text);
  text[999999] = (char) 0xff;
  g_assert_cmpuint (ovs_path_dict_intern_token (dict, text, -1, &error), ==, 0);
  g_test_summary ("The message of a long text is cut");
  g_assert_cmpuint (strlen (error->message), <, 300);
}

/* Paths: BEHAVIOUR "Path dictionary" 1, 3, 5 */

static void
test_path_root (void)
{
  g_autoptr (OvsPathDict) dict = ovs_path_dict_new ();
  guint32 root = intern_path_or_fail (dict, "/");

  g_assert_cmpuint (root, ==, 1);
  g_assert_cmpuint (root, ==, ovs_path_dict_get_root (dict));
  g_assert_cmpuint (ovs_path_dict_get_parent (dict, root), ==, OVS_ID_NONE);
  g_assert_cmpuint (ovs_path_dict_get_name (dict, root), ==, OVS_ID_NONE);
  g_assert_cmpuint (ovs_path_dict_get_depth (dict, root), ==, 0);
  assert_path_is (dict, root, "/");
}

static void
test_path_equal (void)
{
  g_autoptr (OvsPathDict) dict = ovs_path_dict_new ();
  guint32 arm = intern_path_or_fail (dict, "/World/Robot/Arm");

  g_assert_cmpuint (intern_path_or_fail (dict, "/World/Robot/Arm"), ==, arm);
  g_assert_cmpuint (ovs_path_dict_intern_path (dict, "/World/Robot/Arm/Hand", 16, NULL), ==, arm);
  g_assert_cmpuint (ovs_path_dict_find_path (dict, "/World/Robot/Arm", -1), ==, arm);
  g_assert_cmpuint (ovs_path_dict_find_path (dict, "/World/Robot/Ar", -1), ==, OVS_ID_NONE);
  g_assert_cmpuint (intern_path_or_fail (dict, "/World/Robot/arm"), !=, arm);
  assert_path_is (dict, arm, "/World/Robot/Arm");
}

static void
test_path_ancestors (void)
{
  g_autoptr (OvsPathDict) dict = ovs_path_dict_new ();
  guint32 arm = intern_path_or_fail (dict, "/World/Robot/Arm");
  guint32 robot = ovs_path_dict_get_parent (dict, arm);
  guint32 world = ovs_path_dict_get_parent (dict, robot);

  g_assert_cmpuint (ovs_path_dict_get_last_path (dict), ==, 4);
  assert_path_is (dict, robot, "/World/Robot");
  assert_path_is (dict, world, "/World");
  g_assert_cmpuint (ovs_path_dict_get_parent (dict, world), ==, ovs_path_dict_get_root (dict));
  g_assert_cmpuint (ovs_path_dict_get_depth (dict, arm), ==, 3);
  g_assert_cmpstr (ovs_path_dict_get_token_text (dict, ovs_path_dict_get_name (dict, arm), NULL), ==, "Arm");
  g_assert_cmpuint (ovs_path_dict_get_name (dict, arm), ==, ovs_path_dict_find_token (dict, "Arm", -1));
  g_assert_cmpuint (intern_path_or_fail (dict, "/World"), ==, world);
}

/* Components of every length around the words the hash takes in, and their neighbours. */
static void
test_path_shapes (void)
{
  g_autoptr (OvsPathDict) dict = ovs_path_dict_new ();
  g_autoptr (GHashTable) ids = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  for (guint a = 1; a < 20; a++)
    {
      for (guint b = 0; b < 20; b++)
        {
          g_autofree char *first = g_strnfill (a, 'a');
          g_autofree char *second = g_strnfill (b, 'a');
          char *path = g_strdup_printf (b == 0 ? "/%s%s" : "/%s/%s", first, second);

          g_hash_table_insert (ids, path, GUINT_TO_POINTER (intern_path_or_fail (dict, path)));
        }
    }
  g_assert_cmpuint (g_hash_table_size (ids), ==, 19 * 20);
  g_assert_cmpuint (ovs_path_dict_get_last_path (dict), ==, 19 * 20 + 1);
  for (guint32 id = 2; id <= ovs_path_dict_get_last_path (dict); id++)
    {
      g_autofree char *path = ovs_path_dict_dup_path (dict, id);

      g_assert_cmpuint (GPOINTER_TO_UINT (g_hash_table_lookup (ids, path)), ==, id);
    }
}

static void
test_path_refused (void)
{
  static const struct
  {
    const char *path;
    gssize length;
    const char *message;
  } cases[] = {
    { "", -1, "path \"\" is empty: a prim path starts with \"/\"" },
    { "World", -1, "path \"World\" does not start with \"/\" at byte 0" },
    { "World/Robot", -1, "path \"World/Robot\" does not start with \"/\" at byte 0" },
    { "//", -1, "path \"//\" has an empty component at byte 1" },
    { "//World", -1, "path \"//World\" has an empty component at byte 1" },
    { "/World//Robot", -1, "path \"/World//Robot\" has an empty component at byte 7" },
    { "/1234567//x", -1, "path \"/1234567//x\" has an empty component at byte 9" },
    { "/123456//x", -1, "path \"/123456//x\" has an empty component at byte 8" },
    { "/World/", -1, "path \"/World/\" ends with \"/\" at byte 6" },
    { "/World/é/", -1, "path \"/World/é/\" ends with \"/\" at byte 9" },
    { "/World//", -1, "path \"/World//\" has an empty component at byte 7" },
    { "/World/\xff", -1, "path \"/World/\\xff\" is not valid UTF-8 at byte 7" },
    { "/é//\xff", -1, "path \"/é//\\xff\" has an empty component at byte 4" },
    { "/a\xff//b", -1, "path \"/a\\xff//b\" is not valid UTF-8 at byte 2" },
    { "/Wo\0rld", 7, "path \"/Wo\\x00rld\" has a NUL at byte 3" },
    { "/World\0", 7, "path \"/World\\x00\" has a NUL at byte 6" },
    { "/World123\0", 10, "path \"/World123\\x00\" has a NUL at byte 9" },
    { "/\0", 2, "path \"/\\x00\" has a NUL at byte 1" },
    { "/a\"\\\n", 6, "path \"/a\\\"\\\\\\x0a\\x00\" has a NUL at byte 5" },
  };
  g_autoptr (OvsPathDict) dict = ovs_path_dict_new ();

  intern_path_or_fail (dict, "/World/Robot");
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GError) error = NULL;
      guint32 id = ovs_path_dict_intern_path (dict, cases[i].path, cases[i].length, &error);

      assert_refused (id, error, OVSTAGE_ERROR_INVALID_ARGUMENT, cases[i].message);
      g_assert_cmpuint (ovs_path_dict_find_path (dict, cases[i].path, cases[i].length), ==, OVS_ID_NONE);
    }
  g_test_summary ("A refused path leaves nothing behind");
  g_assert_cmpuint (ovs_path_dict_get_last_path (dict), ==, 3);
  g_assert_cmpuint (ovs_path_dict_get_last_token (dict), ==, 2);
  g_assert_cmpuint (ovs_path_dict_intern_path (dict, "World", -1, NULL), ==, OVS_ID_NONE);
}

/* Random bytes, judged by GLib's functions instead of ours. */
static void
test_path_random (void)
{
  static const char alphabet[] = "///aab.\0\xc3\xa9\xff ";
  g_autoptr (OvsPathDict) dict = ovs_path_dict_new ();
  g_autoptr (GHashTable) ids = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GRand) rand = g_rand_new_with_seed (11);
  guint n_right = 0;

  for (guint i = 0; i < MANY; i++)
    {
      g_autoptr (GError) error = NULL;
      char path[25] = { 0 };
      gsize n = g_rand_int_range (rand, 0, 24);
      gboolean right;
      guint32 id;

      for (gsize j = 0; j < n; j++)
        path[j] = alphabet[g_rand_int_range (rand, 0, sizeof alphabet - 1)];
      if (n > 0 && i % 4 != 0)
        path[0] = '/';
      right = g_utf8_validate_len (path, n, NULL) && path[0] == '/' && strstr (path, "//") == NULL &&
              (n == 1 || !g_str_has_suffix (path, "/"));
      id = ovs_path_dict_intern_path (dict, path, n, &error);
      g_assert_true (right == (id != OVS_ID_NONE));
      g_assert_true (right == (error == NULL));
      if (right)
        {
          guint known = GPOINTER_TO_UINT (g_hash_table_lookup (ids, path));

          g_assert_true (known == 0 || known == id);
          g_hash_table_insert (ids, g_strdup (path), GUINT_TO_POINTER (id));
          assert_path_is (dict, id, path);
          n_right++;
        }
    }
  g_assert_cmpuint (n_right, >, MANY / 100);
}

static void
test_path_unknown (void)
{
  g_autoptr (OvsPathDict) dict = ovs_path_dict_new ();
  guint64 world = intern_path_or_fail (dict, "/World");
  guint64 above = world | G_GUINT64_CONSTANT (1) << 32;

  g_assert_true (ovs_path_dict_has_path (dict, world));
  g_assert_false (ovs_path_dict_has_path (dict, 0));
  g_assert_false (ovs_path_dict_has_path (dict, world + 1));
  g_assert_false (ovs_path_dict_has_path (dict, above));
  g_assert_false (ovs_path_dict_has_path (dict, G_MAXUINT64));
  g_assert_null (ovs_path_dict_dup_path (dict, 0));
  g_assert_null (ovs_path_dict_dup_path (dict, world + 1));
  g_assert_null (ovs_path_dict_dup_path (dict, above));
  g_assert_cmpuint (ovs_path_dict_get_parent (dict, world + 1), ==, OVS_ID_NONE);
  g_assert_cmpuint (ovs_path_dict_get_name (dict, 0), ==, OVS_ID_NONE);
  g_assert_cmpuint (ovs_path_dict_get_depth (dict, G_MAXUINT32), ==, 0);
}

/* What a thread remembers of one dictionary says nothing about another. */
static void
test_path_two_dicts (void)
{
  g_autoptr (OvsPathDict) one = ovs_path_dict_new ();
  g_autoptr (OvsPathDict) two = ovs_path_dict_new ();
  guint32 a, b;

  a = intern_path_or_fail (one, "/A/x");
  b = intern_path_or_fail (two, "/B/x");
  g_assert_cmpuint (a, ==, b);
  for (guint i = 0; i < 3; i++)
    {
      g_assert_cmpuint (ovs_path_dict_find_path (one, "/A/x", -1), ==, a);
      g_assert_cmpuint (ovs_path_dict_find_path (two, "/A/x", -1), ==, OVS_ID_NONE);
      g_assert_cmpuint (ovs_path_dict_find_path (two, "/B/x", -1), ==, b);
      g_assert_cmpuint (ovs_path_dict_find_path (one, "/B/x", -1), ==, OVS_ID_NONE);
    }
  intern_path_or_fail (two, "/Other/Place");
  intern_path_or_fail (two, "/World/Robot");
  for (guint i = 0; i < 100; i++)
    {
      g_autofree char *path = g_strdup_printf ("/World/Robot/link_%u", i);
      g_autofree char *other = g_strdup_printf ("/World/Other/link_%u", i);

      a = intern_path_or_fail (one, path);
      b = intern_path_or_fail (two, path);
      assert_path_is (one, a, path);
      assert_path_is (two, b, path);
      g_assert_cmpuint (ovs_path_dict_find_path (one, path, -1), ==, a);
      g_assert_cmpuint (ovs_path_dict_find_path (two, path, -1), ==, b);
      g_assert_cmpuint (ovs_path_dict_find_path (one, other, -1), ==, OVS_ID_NONE);
      assert_path_is (two, intern_path_or_fail (two, other), other);
    }
}

static void
test_path_child (void)
{
  g_autoptr (OvsPathDict) dict = ovs_path_dict_new ();
  guint32 root = ovs_path_dict_get_root (dict);
  guint32 eight = intern_token_or_fail (dict, "eight_ch");
  guint32 slash = intern_token_or_fail (dict, "a/b");
  guint32 world = intern_path_or_fail (dict, "/World");
  guint32 child = ovs_path_dict_intern_child (dict, world, eight);

  assert_path_is (dict, child, "/World/eight_ch");
  g_assert_cmpuint (ovs_path_dict_intern_child (dict, world, eight), ==, child);
  g_test_summary ("A path made by name and one made by text are the same");
  g_assert_cmpuint (intern_path_or_fail (dict, "/World/eight_ch"), ==, child);
  child = intern_path_or_fail (dict, "/eight_ch/eight_ch/x");
  g_assert_cmpuint (ovs_path_dict_intern_child (dict, root, eight), ==, ovs_path_dict_find_path (dict, "/eight_ch", -1));
  g_assert_cmpuint (ovs_path_dict_intern_child (dict, ovs_path_dict_get_parent (dict, child), intern_token_or_fail (dict, "x")),
                    ==, child);

  g_assert_cmpuint (ovs_path_dict_intern_child (dict, world, slash), ==, OVS_ID_NONE);
  g_assert_cmpuint (ovs_path_dict_intern_child (dict, world, 0), ==, OVS_ID_NONE);
  g_assert_cmpuint (ovs_path_dict_intern_child (dict, world, 1000), ==, OVS_ID_NONE);
  g_assert_cmpuint (ovs_path_dict_intern_child (dict, 0, eight), ==, OVS_ID_NONE);
  g_assert_cmpuint (ovs_path_dict_intern_child (dict, 1000, eight), ==, OVS_ID_NONE);
}

/* Deeper than any stack array, and in time that does not grow with the square. */
static void
test_path_deep (void)
{
  g_autoptr (OvsPathDict) dict = ovs_path_dict_new ();
  g_autoptr (GString) path = g_string_new (NULL);
  guint32 token = intern_token_or_fail (dict, "d");
  guint32 id, child;

  for (guint i = 0; i < MANY; i++)
    g_string_append (path, "/d");
  id = intern_path_or_fail (dict, path->str);
  g_assert_cmpuint (ovs_path_dict_get_depth (dict, id), ==, MANY);
  assert_path_is (dict, id, path->str);
  child = ovs_path_dict_intern_child (dict, id, token);
  g_string_append (path, "/d");
  g_assert_cmpuint (intern_path_or_fail (dict, path->str), ==, child);
}

static void
test_path_many (void)
{
  g_autoptr (OvsPathDict) dict = ovs_path_dict_new ();
  g_autofree guint32 *ids = g_new (guint32, MANY);
  char path[64];

  for (guint i = 0; i < MANY; i++)
    {
      g_snprintf (path, sizeof path, "/World/envs/env_%u/robot/link_%u", i / 20, i % 20);
      ids[i] = intern_path_or_fail (dict, path);
      g_assert_true (i == 0 || ids[i] > ids[i - 1]);
    }
  g_assert_cmpuint (ovs_path_dict_get_last_path (dict), ==, 1 + 2 + MANY / 20 * 2 + MANY);
  for (guint i = 0; i < MANY; i++)
    {
      g_snprintf (path, sizeof path, "/World/envs/env_%u/robot/link_%u", i / 20, i % 20);
      g_assert_cmpuint (ovs_path_dict_find_path (dict, path, -1), ==, ids[i]);
      assert_path_is (dict, ids[i], path);
    }
  g_assert_cmpuint (ovs_path_dict_find_path (dict, "/World/envs/env_0/robot/link_20", -1), ==, OVS_ID_NONE);
}

/* Each allocation fails once: an error tells, what there was stays, and the next try works. */
static void
test_path_memory (void)
{
  guint n_failed = 0;

  for (gint n = 0; n < 60; n++)
    {
      g_autoptr (OvsPathDict) dict = ovs_path_dict_new ();
      gboolean failed = FALSE;

      ovs_try_alloc_fail_after (n);
      for (guint i = 0; i < 3000; i++)
        {
          g_autoptr (GError) error = NULL;
          char path[320];
          guint32 id;

          g_snprintf (path, sizeof path, i % 100 == 0 ? "/%0299u" : "/World/%u", i);
          id = ovs_path_dict_intern_path (dict, path, -1, &error);
          if (id == OVS_ID_NONE)
            {
              g_assert_false (failed);
              failed = TRUE;
              g_assert_error (error, OVSTAGE_ERROR, OVSTAGE_ERROR_OUT_OF_MEMORY);
              g_assert_nonnull (strstr (error->message, i % 100 == 0 ? "/0000" : path));
              id = intern_path_or_fail (dict, path);
            }
          g_assert_cmpuint (ovs_path_dict_find_path (dict, path, -1), ==, id);
          assert_path_is (dict, id, path);
        }
      ovs_try_alloc_fail_after (-1);
      g_assert_cmpuint (ovs_path_dict_get_last_path (dict), ==, 3002);
      n_failed += failed;
    }
  g_assert_cmpuint (n_failed, >, 10);
  g_assert_cmpuint (n_failed, <, 60);
}

/* Whatever takes the lock would hang here. */
static void
test_path_lock_free (void)
{
  g_autoptr (OvsPathDict) dict = ovs_path_dict_new ();
  guint32 arm = intern_path_or_fail (dict, "/World/Arm");
  guint32 name = ovs_path_dict_get_name (dict, arm);

  ovs_path_dict_block (dict);
  assert_path_is (dict, arm, "/World/Arm");
  g_assert_cmpstr (ovs_path_dict_get_token_text (dict, name, NULL), ==, "Arm");
  g_assert_cmpuint (ovs_path_dict_get_depth (dict, arm), ==, 2);
  g_assert_cmpuint (ovs_path_dict_get_parent (dict, arm), ==, ovs_path_dict_find_path (dict, "/World", -1));
  g_assert_true (ovs_path_dict_has_path (dict, arm));
  g_assert_cmpuint (ovs_path_dict_get_last_path (dict), ==, 3);
  g_assert_cmpuint (ovs_path_dict_get_last_token (dict), ==, 2);
  g_assert_cmpuint (intern_path_or_fail (dict, "/World/Arm"), ==, arm);
  g_assert_cmpuint (intern_token_or_fail (dict, "Arm"), ==, name);
  g_assert_cmpuint (ovs_path_dict_find_path (dict, "/World/Leg", -1), ==, OVS_ID_NONE);
  ovs_path_dict_unblock (dict);
}

/* Threads */

typedef struct
{
  OvsPathDict *dict;
  guint thread;
  gint *start; /* (atomic) */
  guint32 *ids; /* one a path */
} Interner;

static void
make_shared_path (char *path, gsize size, guint i)
{
  g_snprintf (path, size, "/World/envs/env_%u/robot/link_%u", i / 20, i % 20);
}

static gpointer
intern_shared (gpointer data)
{
  Interner *interner = data;
  char path[64];

  while (!g_atomic_int_get (interner->start))
    g_thread_yield ();
  for (guint k = 0; k < MANY; k++)
    {
      guint i = interner->thread % 2 == 0 ? k : MANY - 1 - k;
      g_autofree char *own = NULL;

      make_shared_path (path, sizeof path, i);
      interner->ids[i] = ovs_path_dict_intern_path (interner->dict, path, -1, NULL);
      g_assert_cmpuint (ovs_path_dict_find_path (interner->dict, path, -1), ==, interner->ids[i]);
      own = ovs_path_dict_dup_path (interner->dict, interner->ids[i]);
      g_assert_cmpstr (own, ==, path);
    }
  return NULL;
}

static void
test_threads_intern (void)
{
  g_autoptr (OvsPathDict) dict = ovs_path_dict_new ();
  GThread *threads[N_THREADS];
  Interner interners[N_THREADS];
  gint start = 0;

  for (guint t = 0; t < N_THREADS; t++)
    {
      interners[t] = (Interner) { dict, t, &start, g_new0 (guint32, MANY) };
      threads[t] = g_thread_new ("intern", intern_shared, &interners[t]);
    }
  g_atomic_int_set (&start, 1);
  for (guint t = 0; t < N_THREADS; t++)
    g_thread_join (threads[t]);

  for (guint t = 1; t < N_THREADS; t++)
    g_assert_cmpmem (interners[t].ids, MANY * sizeof (guint32), interners[0].ids, MANY * sizeof (guint32));
  g_assert_cmpuint (ovs_path_dict_get_last_path (dict), ==, 1 + 2 + MANY / 20 * 2 + MANY);
  for (guint t = 0; t < N_THREADS; t++)
    g_free (interners[t].ids);
}

/* Every id up to the last is whole, and a path that is there is found, while the tables grow. */
static gpointer
read_all (gpointer data)
{
  Interner *interner = data;
  guint32 last = 2, known = interner->ids[0];

  while (last < 1 + 2 + MANY / 20 * 2 + MANY)
    {
      g_autofree char *path = NULL;
      g_autofree char *before = NULL;

      last = ovs_path_dict_get_last_path (interner->dict);
      path = ovs_path_dict_dup_path (interner->dict, last);
      g_assert_cmpint (path[0], ==, '/');
      before = ovs_path_dict_dup_path (interner->dict, last - 1);
      g_assert_cmpuint (ovs_path_dict_find_path (interner->dict, before, -1), ==, last - 1);
      g_assert_cmpuint (ovs_path_dict_find_path (interner->dict, "/World/envs", -1), ==, known);
      g_assert_cmpuint (ovs_path_dict_find_path (interner->dict, "/World/none", -1), ==, OVS_ID_NONE);
    }
  return NULL;
}

static void
test_threads_read (void)
{
  g_autoptr (OvsPathDict) dict = ovs_path_dict_new ();
  guint32 known = intern_path_or_fail (dict, "/World/envs");
  g_autofree guint32 *ids = g_new0 (guint32, MANY);
  gint start = 1;
  Interner reader = { dict, 0, &start, &known };
  Interner writer = { dict, 0, &start, ids };
  GThread *threads[2];

  threads[0] = g_thread_new ("read", read_all, &reader);
  threads[1] = g_thread_new ("intern", intern_shared, &writer);
  g_thread_join (threads[1]);
  g_thread_join (threads[0]);
}

/* Lists: BEHAVIOUR "Path dictionary" 4, 5 */

static void
test_list_order (void)
{
  g_autoptr (OvsPathDict) dict = ovs_path_dict_new ();
  guint64 a = intern_path_or_fail (dict, "/A");
  guint64 b = intern_path_or_fail (dict, "/B");
  guint64 c = intern_path_or_fail (dict, "/C");
  guint64 paths[] = { c, a, ovs_path_dict_get_root (dict), b };
  OvstagePathList *list = list_or_fail (dict, paths, 4);

  g_assert_cmpuint (list->n, ==, 4);
  for (guint i = 0; i < 4; i++)
    {
      g_assert_cmpuint (list->ids[i], ==, paths[i]);
      g_assert_cmpuint (ovs_path_list_index_of (list, paths[i]), ==, i);
    }
  ovs_path_list_unref (list);
}

static void
test_list_empty (void)
{
  g_autoptr (OvsPathDict) dict = ovs_path_dict_new ();
  OvstagePathList *list = list_or_fail (dict, NULL, 0);
  OvstagePathList *other = ovs_path_list_new_for_strings (dict, NULL, 0, NULL);

  g_assert_cmpuint (list->n, ==, 0);
  g_assert_true (list == other);
  g_assert_cmpuint (ovs_path_list_index_of (list, 1), ==, OVS_INDEX_NONE);
  ovs_path_list_unref (list);
  ovs_path_list_unref (other);
}

static void
test_list_unknown (void)
{
  g_autoptr (OvsPathDict) dict = ovs_path_dict_new ();
  guint64 a = intern_path_or_fail (dict, "/A");
  const guint64 unknown[] = { 0, a + 1, a | G_GUINT64_CONSTANT (1) << 32, G_MAXUINT64 };

  for (gsize i = 0; i < G_N_ELEMENTS (unknown); i++)
    {
      guint64 paths[] = { a, unknown[i], a };
      g_autoptr (GError) error = NULL;
      g_autofree char *message = g_strdup_printf ("paths[1] is %" G_GUINT64_FORMAT ", which is no path of this dictionary: "
                                                  "its ids run from 1 to 2", unknown[i]);

      g_assert_null (ovs_path_list_new (dict, paths, 3, &error));
      g_assert_error (error, OVSTAGE_ERROR, OVSTAGE_ERROR_INVALID_HANDLE);
      g_assert_cmpstr (error->message, ==, message);
    }
}

static void
test_list_repeat (void)
{
  g_autoptr (OvsPathDict) dict = ovs_path_dict_new ();
  guint64 a = intern_path_or_fail (dict, "/World/A");
  guint64 b = intern_path_or_fail (dict, "/World/B");
  guint64 c = intern_path_or_fail (dict, "/World/C");
  guint64 paths[] = { c, b, a, b, c };
  guint64 neighbours[] = { a, a };
  const char *strings[] = { "/World/A", "/World/B", "/World/A" };
  g_autoptr (GError) error = NULL;

  g_assert_null (ovs_path_list_new (dict, paths, 5, &error));
  g_assert_error (error, OVSTAGE_ERROR, OVSTAGE_ERROR_INVALID_ARGUMENT);
  g_assert_cmpstr (error->message, ==, "paths[3] repeats paths[1], \"/World/B\": a list has each path once");
  g_clear_error (&error);

  g_assert_null (ovs_path_list_new (dict, neighbours, 2, &error));
  g_assert_cmpstr (error->message, ==, "paths[1] repeats paths[0], \"/World/A\": a list has each path once");
  g_clear_error (&error);

  g_assert_null (ovs_path_list_new_for_strings (dict, strings, 3, &error));
  g_assert_error (error, OVSTAGE_ERROR, OVSTAGE_ERROR_INVALID_ARGUMENT);
  g_assert_cmpstr (error->message, ==, "paths[2] repeats paths[0], \"/World/A\": a list has each path once");
  g_assert_null (ovs_path_list_new (dict, paths, 5, NULL));
}

static void
test_list_bad_string (void)
{
  g_autoptr (OvsPathDict) dict = ovs_path_dict_new ();
  const char *strings[] = { "/World/A", "World/B" };
  g_autoptr (GError) error = NULL;

  g_assert_null (ovs_path_list_new_for_strings (dict, strings, 2, &error));
  g_assert_error (error, OVSTAGE_ERROR, OVSTAGE_ERROR_INVALID_ARGUMENT);
  g_assert_cmpstr (error->message, ==, "paths[1]: path \"World/B\" does not start with \"/\" at byte 0");
}

static void
test_list_too_long (void)
{
  g_autoptr (OvsPathDict) dict = ovs_path_dict_new ();
  g_autoptr (GError) error = NULL;
  guint64 one = 1;

  g_assert_null (ovs_path_list_new (dict, &one, G_MAXSIZE, &error));
  g_assert_error (error, OVSTAGE_ERROR, OVSTAGE_ERROR_OUT_OF_MEMORY);
  g_clear_error (&error);
  g_assert_null (ovs_path_list_new (dict, &one, (gsize) G_MAXUINT32 + 1, &error));
  g_assert_error (error, OVSTAGE_ERROR, OVSTAGE_ERROR_OUT_OF_MEMORY);
}

static void
test_list_memory (void)
{
  g_autoptr (OvsPathDict) dict = ovs_path_dict_new ();
  guint64 a = intern_path_or_fail (dict, "/A");
  guint64 b = intern_path_or_fail (dict, "/B");
  guint64 c = intern_path_or_fail (dict, "/C");
  guint64 falling[] = { b, a };
  guint64 rising[] = { a, c };
  OvstagePathList *list;

  for (gint n = 0; n < 2; n++)
    {
      g_autoptr (GError) error = NULL;

      ovs_try_alloc_fail_after (n);
      g_assert_null (ovs_path_list_new (dict, falling, 2, &error));
      g_assert_error (error, OVSTAGE_ERROR, OVSTAGE_ERROR_OUT_OF_MEMORY);
      g_assert_cmpstr (error->message, ==, "no memory for a list of 2 paths");
    }
  g_assert_cmpuint (ovs_path_dict_get_lists (dict)->n_lists, ==, 0);
  list = list_or_fail (dict, rising, 2);
  g_test_summary ("Without memory for the index, looking up is slow but right");
  ovs_try_alloc_fail_after (0);
  g_assert_cmpuint (ovs_path_list_index_of (list, c), ==, 1);
  ovs_try_alloc_fail_after (0);
  g_assert_cmpuint (ovs_path_list_index_of (list, b), ==, OVS_INDEX_NONE);
  ovs_try_alloc_fail_after (-1);
  g_assert_cmpuint (ovs_path_list_index_of (list, c), ==, 1);
  ovs_path_list_unref (list);
}

static void
test_list_same_object (void)
{
  g_autoptr (OvsPathDict) dict = ovs_path_dict_new ();
  guint64 a = intern_path_or_fail (dict, "/A");
  guint64 b = intern_path_or_fail (dict, "/B");
  guint64 forth[] = { a, b };
  guint64 back[] = { b, a };
  const char *strings[] = { "/A", "/B" };
  OvstagePathList *list = list_or_fail (dict, forth, 2);
  OvstagePathList *same = list_or_fail (dict, forth, 2);
  OvstagePathList *third = ovs_path_list_new_for_strings (dict, strings, 2, NULL);
  OvstagePathList *other = list_or_fail (dict, back, 2);
  OvstagePathList *shorter = list_or_fail (dict, forth, 1);

  g_assert_true (list == same);
  g_assert_true (list == third);
  g_assert_true (list != other);
  g_assert_true (list != shorter);
  g_test_summary ("One dictionary's list is never another's");
  {
    g_autoptr (OvsPathDict) dict2 = ovs_path_dict_new ();
    OvstagePathList *foreign = ovs_path_list_new_for_strings (dict2, strings, 2, NULL);

    g_assert_true (foreign != list);
    g_assert_true (foreign->dict == dict2);
    ovs_path_list_unref (foreign);
  }
  ovs_path_list_unref (list);
  ovs_path_list_unref (same);
  ovs_path_list_unref (third);
  ovs_path_list_unref (other);
  ovs_path_list_unref (shorter);
}

static void
test_list_weak (void)
{
  g_autoptr (OvsPathDict) dict = ovs_path_dict_new ();
  OvsPathListTable *table = ovs_path_dict_get_lists (dict);
  g_autoptr (GPtrArray) lists = g_ptr_array_new ();
  g_autofree guint64 *paths = g_new (guint64, 500);

  for (guint i = 0; i < 500; i++)
    {
      char path[16];

      g_snprintf (path, sizeof path, "/p%u", i);
      paths[i] = intern_path_or_fail (dict, path);
      g_ptr_array_add (lists, list_or_fail (dict, paths, i + 1));
    }
  g_assert_cmpuint (table->n_lists, ==, 500);
  for (guint i = 0; i < 500; i += 2)
    ovs_path_list_unref (lists->pdata[i]);
  g_assert_cmpuint (table->n_lists, ==, 250);
  for (guint i = 1; i < 500; i += 2)
    {
      OvstagePathList *again = list_or_fail (dict, paths, i + 1);

      g_assert_true (again == lists->pdata[i]);
      ovs_path_list_unref (again);
      ovs_path_list_unref (again);
    }
  g_assert_cmpuint (table->n_lists, ==, 0);
  g_assert_cmpuint (table->n_buckets, <=, 16);
}

static void
test_list_keeps_dict (void)
{
  OvsPathDict *dict = ovs_path_dict_new ();
  const char *strings[] = { "/World/A" };
  OvstagePathList *list = ovs_path_list_new_for_strings (dict, strings, 1, NULL);

  ovs_path_dict_unref (dict);
  assert_path_is (list->dict, list->ids[0], "/World/A");
  ovs_path_list_unref (list);
}

static void
assert_index (OvstagePathList *list, guint32 last)
{
  g_autofree guint32 *where = g_new (guint32, last + 2);

  memset (where, 0xff, sizeof (guint32) * (last + 2));
  for (guint32 i = 0; i < list->n; i++)
    where[list->ids[i]] = i;
  for (guint32 id = 0; id <= last + 1; id++)
    g_assert_cmpuint (ovs_path_list_index_of (list, id), ==, where[id]);
  g_assert_cmpuint (ovs_path_list_index_of (list, G_MAXUINT32), ==, OVS_INDEX_NONE);
}

static void
test_list_index (void)
{
  g_autoptr (OvsPathDict) dict = ovs_path_dict_new ();
  g_autoptr (GRand) rand = g_rand_new_with_seed (3);
  g_autoptr (GArray) paths = g_array_new (FALSE, FALSE, sizeof (guint64));
  guint32 last;

  for (guint i = 0; i < 3000; i++)
    {
      char path[16];

      g_snprintf (path, sizeof path, "/p%u", i);
      intern_path_or_fail (dict, path);
    }
  last = ovs_path_dict_get_last_path (dict);
  for (guint round = 0; round < 60; round++)
    {
      guint64 step = (guint64[]) { 1, 2, 64 }[round % 3];
      guint n = g_rand_int_range (rand, 1, last / step);
      guint64 first = g_rand_int_range (rand, 1, last - (n - 1) * step + 1);
      OvstagePathList *list;

      g_array_set_size (paths, 0);
      for (guint i = 0; i < n; i++)
        {
          guint64 id = first + i * step;

          g_array_append_val (paths, id);
        }
      for (guint i = n; round % 2 == 1 && i > 1; i--)
        {
          guint j = g_rand_int_range (rand, 0, i);
          guint64 swap = g_array_index (paths, guint64, j);

          g_array_index (paths, guint64, j) = g_array_index (paths, guint64, i - 1);
          g_array_index (paths, guint64, i - 1) = swap;
        }
      list = list_or_fail (dict, (const guint64 *) paths->data, n);
      assert_index (list, last);
      if (list->slots != NULL)
        g_assert_cmpuint (((guint64) list->slot_mask + 1) * 3, >=, (guint64) n * 4);
      ovs_path_list_unref (list);
    }
}

static void
test_list_index_lazy (void)
{
  g_autoptr (OvsPathDict) dict = ovs_path_dict_new ();
  guint64 paths[] = { intern_path_or_fail (dict, "/A"), 0, 0 };
  OvstagePathList *list;

  intern_path_or_fail (dict, "/hole");
  paths[1] = intern_path_or_fail (dict, "/B");
  paths[2] = intern_path_or_fail (dict, "/C");
  list = list_or_fail (dict, paths, 3);
  g_assert_null (list->slots);
  g_assert_cmpuint (ovs_path_list_index_of (list, paths[0]), ==, 0);
  g_assert_null (list->slots);
  g_assert_cmpuint (ovs_path_list_index_of (list, paths[2]), ==, 2);
  g_assert_nonnull (list->slots);
  ovs_path_list_unref (list);

  list = list_or_fail (dict, &paths[1], 2);
  g_assert_cmpuint (ovs_path_list_index_of (list, paths[0]), ==, OVS_INDEX_NONE);
  g_test_summary ("A run of ids needs no table at all");
  g_assert_null (list->slots);
  ovs_path_list_unref (list);
}

typedef struct
{
  OvsPathDict *dict;
  const guint64 *paths;
  guint n_lists;
  guint thread;
} Lister;

static gpointer
make_and_drop (gpointer data)
{
  Lister *lister = data;

  for (guint i = 0; i < MANY / 4; i++)
    {
      guint k = i % lister->n_lists;
      OvstagePathList *list = list_or_fail (lister->dict, lister->paths + k, 3 + k % 5);
      OvstagePathList *again = list_or_fail (lister->dict, lister->paths + k, 3 + k % 5);

      g_assert_true (list == again);
      g_assert_cmpuint (ovs_path_list_index_of (list, lister->paths[k + 2]), ==, 2);
      ovs_path_list_unref (list);
      ovs_path_list_unref (again);
    }
  return NULL;
}

static void
test_threads_lists (void)
{
  g_autoptr (OvsPathDict) dict = ovs_path_dict_new ();
  guint64 paths[16];
  GThread *threads[N_THREADS];
  Lister listers[N_THREADS];

  for (guint i = 0; i < G_N_ELEMENTS (paths); i++)
    {
      char path[16];

      g_snprintf (path, sizeof path, "/p%u", i);
      paths[i * 7 % 16] = intern_path_or_fail (dict, path);
    }
  for (guint t = 0; t < N_THREADS; t++)
    {
      listers[t] = (Lister) { dict, paths, 8, t };
      threads[t] = g_thread_new ("lists", make_and_drop, &listers[t]);
    }
  for (guint t = 0; t < N_THREADS; t++)
    g_thread_join (threads[t]);
  g_assert_cmpuint (ovs_path_dict_get_lists (dict)->n_lists, ==, 0);
}

static gpointer
look_up_all (gpointer data)
{
  OvstagePathList *list = data;

  for (guint32 i = 0; i < list->n; i++)
    g_assert_cmpuint (ovs_path_list_index_of (list, list->ids[i]), ==, i);
  return NULL;
}

static void
test_threads_index (void)
{
  g_autoptr (OvsPathDict) dict = ovs_path_dict_new ();
  g_autofree guint64 *paths = g_new (guint64, 1000);

  for (guint i = 0; i < 2000; i++)
    {
      char path[16];

      g_snprintf (path, sizeof path, "/p%u", i);
      paths[i / 2] = intern_path_or_fail (dict, path);
    }
  for (guint round = 0; round < 50; round++)
    {
      OvstagePathList *list = list_or_fail (dict, paths, 1000);
      GThread *threads[N_THREADS];

      g_assert_null (list->slots);
      for (guint t = 0; t < N_THREADS; t++)
        threads[t] = g_thread_new ("index", look_up_all, list);
      for (guint t = 0; t < N_THREADS; t++)
        g_thread_join (threads[t]);
      ovs_path_list_unref (list);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/arena/grow", test_arena_grow);
  g_test_add_func ("/arena/locate", test_arena_locate);
  g_test_add_func ("/arena/runs", test_arena_runs);
  g_test_add_func ("/arena/full", test_arena_full);
  g_test_add_func ("/token/equal", test_token_equal);
  g_test_add_func ("/token/small", test_token_small);
  g_test_add_func ("/token/zero", test_token_zero);
  g_test_add_func ("/token/unknown", test_token_unknown);
  g_test_add_func ("/token/any-text", test_token_any_text);
  g_test_add_func ("/token/refused", test_token_refused);
  g_test_add_func ("/token/long", test_token_long);
  g_test_add_func ("/path/root", test_path_root);
  g_test_add_func ("/path/equal", test_path_equal);
  g_test_add_func ("/path/ancestors", test_path_ancestors);
  g_test_add_func ("/path/shapes", test_path_shapes);
  g_test_add_func ("/path/refused", test_path_refused);
  g_test_add_func ("/path/random", test_path_random);
  g_test_add_func ("/path/unknown", test_path_unknown);
  g_test_add_func ("/path/two-dicts", test_path_two_dicts);
  g_test_add_func ("/path/child", test_path_child);
  g_test_add_func ("/path/deep", test_path_deep);
  g_test_add_func ("/path/many", test_path_many);
  g_test_add_func ("/path/memory", test_path_memory);
  g_test_add_func ("/path/lock-free", test_path_lock_free);
  g_test_add_func ("/threads/intern", test_threads_intern);
  g_test_add_func ("/threads/read", test_threads_read);
  g_test_add_func ("/threads/lists", test_threads_lists);
  g_test_add_func ("/threads/index", test_threads_index);
  g_test_add_func ("/list/order", test_list_order);
  g_test_add_func ("/list/empty", test_list_empty);
  g_test_add_func ("/list/unknown", test_list_unknown);
  g_test_add_func ("/list/repeat", test_list_repeat);
  g_test_add_func ("/list/bad-string", test_list_bad_string);
  g_test_add_func ("/list/too-long", test_list_too_long);
  g_test_add_func ("/list/memory", test_list_memory);
  g_test_add_func ("/list/same-object", test_list_same_object);
  g_test_add_func ("/list/weak", test_list_weak);
  g_test_add_func ("/list/keeps-dict", test_list_keeps_dict);
  g_test_add_func ("/list/index", test_list_index);
  g_test_add_func ("/list/index-lazy", test_list_index_lazy);
  return g_test_run ();
}
