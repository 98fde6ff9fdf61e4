/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

#include "config.h"

#include "order/ovs-write-floor.h"

#define ALL OVSTAGE_SCOPE_ALL, NULL, 0
#define LIST(...) (guint32[]){ __VA_ARGS__ }, G_N_ELEMENTS (((guint32[]) { __VA_ARGS__ }))
#define INCLUDE(...) OVSTAGE_SCOPE_INCLUDE, LIST (__VA_ARGS__)
#define EXCLUDE(...) OVSTAGE_SCOPE_EXCLUDE, LIST (__VA_ARGS__)

enum
{
  A = 1,
  B = 2,
  OTHER = 3,
};

#define assert_floors(floors, a, b, other, global)                                                                     \
  G_STMT_START                                                                                                         \
    {                                                                                                                  \
      g_assert_cmpuint (ovs_floors_get (floors, A), ==, a);                                                            \
      g_assert_cmpuint (ovs_floors_get (floors, B), ==, b);                                                            \
      g_assert_cmpuint (ovs_floors_get (floors, OTHER), ==, other);                                                    \
      g_assert_cmpuint (ovs_floors_get_global (floors), ==, global);                                                   \
    }                                                                                                                  \
  G_STMT_END

static void
test_start (void)
{
  OvsFloors floors;

  ovs_floors_init (&floors);
  assert_floors (&floors, 0, 0, 0, 0);
  ovs_floors_clear (&floors);
}

static void
test_all (void)
{
  OvsFloors floors;

  ovs_floors_init (&floors);
  ovs_floors_raise (&floors, ALL, 5);
  assert_floors (&floors, 5, 5, 5, 5);
  ovs_floors_clear (&floors);
}

static void
test_lower (void)
{
  OvsFloors floors;

  ovs_floors_init (&floors);
  ovs_floors_raise (&floors, ALL, 5);
  ovs_floors_raise (&floors, INCLUDE (A), 3);
  ovs_floors_raise (&floors, EXCLUDE (B), 4);
  ovs_floors_raise (&floors, ALL, 2);
  assert_floors (&floors, 5, 5, 5, 5);
  ovs_floors_clear (&floors);
}

static void
test_include (void)
{
  OvsFloors floors;

  ovs_floors_init (&floors);
  ovs_floors_raise (&floors, ALL, 2);
  ovs_floors_raise (&floors, INCLUDE (A), 6);
  assert_floors (&floors, 6, 2, 2, 2);
  ovs_floors_clear (&floors);
}

static void
test_include_nothing (void)
{
  OvsFloors floors;

  ovs_floors_init (&floors);
  ovs_floors_raise (&floors, OVSTAGE_SCOPE_INCLUDE, NULL, 0, 6);
  assert_floors (&floors, 0, 0, 0, 0);
  ovs_floors_clear (&floors);
}

static void
test_include_twice (void)
{
  OvsFloors floors;

  ovs_floors_init (&floors);
  ovs_floors_raise (&floors, INCLUDE (A, A), 6);
  assert_floors (&floors, 6, 0, 0, 0);
  ovs_floors_clear (&floors);
}

static void
test_exclude (void)
{
  OvsFloors floors;

  ovs_floors_init (&floors);
  ovs_floors_raise (&floors, ALL, 2);
  ovs_floors_raise (&floors, EXCLUDE (A), 6);
  assert_floors (&floors, 2, 6, 6, 2);
  ovs_floors_clear (&floors);
}

static void
test_exclude_nothing (void)
{
  OvsFloors floors;

  ovs_floors_init (&floors);
  ovs_floors_raise (&floors, INCLUDE (A), 2);
  ovs_floors_raise (&floors, OVSTAGE_SCOPE_EXCLUDE, NULL, 0, 6);
  assert_floors (&floors, 6, 6, 6, 6);
  ovs_floors_clear (&floors);
}

static void
test_exclude_lifts_own (void)
{
  OvsFloors floors;

  ovs_floors_init (&floors);
  ovs_floors_raise (&floors, INCLUDE (B), 3);
  ovs_floors_raise (&floors, EXCLUDE (A), 6);
  assert_floors (&floors, 0, 6, 6, 0);
  ovs_floors_clear (&floors);
}

/* A name that nobody wrote holds the global floor, and so it cannot fall when somebody does. */
static void
test_unknown_name (void)
{
  OvsFloors floors;

  ovs_floors_init (&floors);
  ovs_floors_raise (&floors, EXCLUDE (4711), 10);
  assert_floors (&floors, 10, 10, 10, 0);
  ovs_floors_raise (&floors, ALL, 11);
  assert_floors (&floors, 11, 11, 11, 11);
  ovs_floors_clear (&floors);
}

static void
test_all_takes_back (void)
{
  OvsFloors floors;

  ovs_floors_init (&floors);
  ovs_floors_raise (&floors, INCLUDE (A), 4);
  ovs_floors_raise (&floors, ALL, 4);
  g_assert_null (floors.own);
  ovs_floors_raise (&floors, INCLUDE (A), 5);
  ovs_floors_raise (&floors, ALL, 9);
  g_assert_null (floors.own);
  assert_floors (&floors, 9, 9, 9, 9);
  ovs_floors_clear (&floors);
}

/* Taken back, it would fall. */
static void
test_all_leaves_higher (void)
{
  OvsFloors floors;

  ovs_floors_init (&floors);
  ovs_floors_raise (&floors, INCLUDE (A), 8);
  ovs_floors_raise (&floors, ALL, 4);
  assert_floors (&floors, 8, 4, 4, 4);
  ovs_floors_raise (&floors, ALL, 6);
  assert_floors (&floors, 8, 6, 6, 6);
  ovs_floors_clear (&floors);
}

static void
test_copy (void)
{
  OvsFloors floors, copy;

  ovs_floors_init (&floors);
  ovs_floors_init (&copy);
  ovs_floors_raise (&copy, INCLUDE (B), 99);
  ovs_floors_raise (&floors, EXCLUDE (A), 6);
  ovs_floors_copy (&copy, &floors);
  ovs_floors_raise (&floors, ALL, 7);
  assert_floors (&copy, 0, 6, 6, 0);
  ovs_floors_clear (&floors);
  ovs_floors_clear (&copy);
}

static void
test_covers (void)
{
  g_assert_true (ovs_scope_covers (ALL, A));
  g_assert_true (ovs_scope_covers (OVSTAGE_SCOPE_ALL, LIST (B), A));
  g_assert_true (ovs_scope_covers (INCLUDE (A, B), A));
  g_assert_false (ovs_scope_covers (INCLUDE (A, B), OTHER));
  g_assert_false (ovs_scope_covers (EXCLUDE (A, B), A));
  g_assert_true (ovs_scope_covers (EXCLUDE (A, B), OTHER));
}

/* Against a floor for each attribute in a plain array; attribute 0 is never named. */
static void
test_random (void)
{
  enum
  {
    N = 12,
  };

  for (guint round = 0; round < 2000; round++)
    {
      guint64 model[N] = { 0 }, global = 0;
      OvsFloors floors;

      ovs_floors_init (&floors);
      for (guint step = 0; step < 20; step++)
        {
          OvstageScope scope = (OvstageScope) g_test_rand_int_range (0, 3);
          guint64 ordinal = (guint64) g_test_rand_int_range (0, 30), lowest = G_MAXUINT64;
          guint32 names[4];
          gsize n = (gsize) g_test_rand_int_range (0, 5);

          for (gsize i = 0; i < n; i++)
            names[i] = (guint32) g_test_rand_int_range (1, N);
          for (gsize i = 0; i < n; i++) /* they ascend */
            for (gsize j = i + 1; j < n; j++)
              if (names[j] < names[i])
                {
                  guint32 swap = names[i];

                  names[i] = names[j];
                  names[j] = swap;
                }
          ovs_floors_raise (&floors, scope, names, n, ordinal);
          for (guint32 a = 0; a < N; a++)
            {
              gboolean listed = FALSE;

              for (gsize i = 0; i < n; i++)
                listed = listed || names[i] == a;
              if (scope == OVSTAGE_SCOPE_ALL || listed == (scope == OVSTAGE_SCOPE_INCLUDE))
                model[a] = MAX (model[a], ordinal);
              g_assert_cmpuint (ovs_floors_get (&floors, a), ==, model[a]);
              lowest = MIN (lowest, model[a]);
            }
          g_assert_cmpuint (ovs_floors_get_global (&floors), ==, lowest);
          g_assert_cmpuint (lowest, >=, global);
          global = lowest;
        }
      ovs_floors_clear (&floors);
    }
}

int
main (int argc, char *argv[])
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/floors/start", test_start);
  g_test_add_func ("/floors/all", test_all);
  g_test_add_func ("/floors/lower", test_lower);
  g_test_add_func ("/floors/include", test_include);
  g_test_add_func ("/floors/include-nothing", test_include_nothing);
  g_test_add_func ("/floors/include-twice", test_include_twice);
  g_test_add_func ("/floors/exclude", test_exclude);
  g_test_add_func ("/floors/exclude-nothing", test_exclude_nothing);
  g_test_add_func ("/floors/exclude-lifts-own", test_exclude_lifts_own);
  g_test_add_func ("/floors/unknown-name", test_unknown_name);
  g_test_add_func ("/floors/all-takes-back", test_all_takes_back);
  g_test_add_func ("/floors/all-leaves-higher", test_all_leaves_higher);
  g_test_add_func ("/floors/copy", test_copy);
  g_test_add_func ("/floors/covers", test_covers);
  g_test_add_func ("/floors/random", test_random);

  return g_test_run ();
}
