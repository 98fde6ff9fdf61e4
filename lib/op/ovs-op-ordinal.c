/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The libovstage authors
 */

/* Floors and frontiers as a request: like a read, it comes after the advances that
 * were submitted before it and before those that come later. */

#include "config.h"

#include "op/ovs-op-private.h"

static guint64
tell (OvsOrdinal *ordinal)
{
  OvsStage *stage = ordinal->op.stage;

  switch (ordinal->what)
    {
    case OVS_ORDINAL_ATTRIBUTE_FLOOR:
      return ovs_floors_get (&stage->sealed, ordinal->attribute);
    case OVS_ORDINAL_OLDEST_PRESERVED:
      return ovs_stage_find_oldest_preserved (stage);
    case OVS_ORDINAL_FLOOR:
    default:
      return ovs_floors_get_global (&stage->sealed);
    }
}

gboolean
ovs_ordinal_meets (const OvsOrdinal *ordinal, const OvsAdvance *advance)
{
  return ordinal->what != OVS_ORDINAL_ATTRIBUTE_FLOOR || ovs_advance_covers (advance, ordinal->attribute);
}

void
ovs_ordinal_run (OvsOrdinal *ordinal, GQueue *ready)
{
  OvsStage *stage = ordinal->op.stage;

  /* An advance that failed left the floor as it was: that is what there is to tell. */
  ovs_stage_lock (stage);
  ordinal->value = tell (ordinal);
  ovs_op_unset_pending (&ordinal->op, NULL, ready);
  ovs_stage_unlock (stage);
  ovs_op_end (&ordinal->op);
}

/* Stage lock held. */
static gboolean
book (OvsOrdinal *ordinal, GError **error)
{
  OvsStage *stage = ordinal->op.stage;

  if (!ovs_stage_check_open (stage, error))
    return FALSE;
  for (GList *link = stage->pending.head; link != NULL; link = link->next)
    if (((OvsOp *) link->data)->kind == OVS_OP_ADVANCE && ovs_ordinal_meets (ordinal, link->data))
      ovs_op_add_dep (&ordinal->op, link->data);
  if (ordinal->op.n_deps > 0)
    {
      if (!ovs_stage_check_queue (stage, error))
        {
          ovs_op_drop_deps (&ordinal->op);
          return FALSE;
        }
      ovs_op_book (&ordinal->op);
      ovs_op_set_pending (&ordinal->op);
      return TRUE;
    }
  ordinal->value = tell (ordinal);
  ovs_op_book (&ordinal->op);
  return TRUE;
}

OvsOp *
ovs_stage_query_ordinal (OvsStage *stage, OvsOrdinalKind what, guint64 attribute)
{
  OvsOrdinal *ordinal = ovs_op_new (stage, OVS_OP_ORDINAL, sizeof *ordinal);
  GError *error = NULL;
  gboolean pending;

  ordinal->what = what;
  if (what == OVS_ORDINAL_ATTRIBUTE_FLOOR && !ovs_stage_check_attribute (stage, attribute, &error))
    return ovs_op_end_new (&ordinal->op, error);
  ordinal->attribute = (guint32) attribute;
  ovs_stage_lock (stage);
  book (ordinal, &error);
  pending = ordinal->op.pending;
  ovs_stage_unlock (stage);
  return pending ? &ordinal->op : ovs_op_end_new (&ordinal->op, error);
}

guint64
ovs_ordinal_get_value (OvsOp *op)
{
  return ovs_op_is_done (op) ? ((OvsOrdinal *) op)->value : 0;
}
