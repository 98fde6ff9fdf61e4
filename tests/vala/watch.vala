// SPDX-License-Identifier: LGPL-2.1-or-later
// SPDX-FileCopyrightText: 2026 The libovstage authors

// Asking a watch what changed, from Vala.

class Fixture {
    public Ovstage.Stage stage = new Ovstage.Stage ("test");
    public uint64 mass;
    public Ovstage.PathList list;
    public Ovstage.Query query;

    public Fixture () throws Error {
        unowned var dictionary = stage.get_path_dictionary ();
        mass = dictionary.intern_token ("mass");
        list = dictionary.create_path_list ({ "/A", "/B" });
        query = stage.query_path_list (list);
    }

    public Ovstage.Watch watch () throws Error {
        return stage.watch (query, { mass }, null);
    }

    public void write (uint64 ordinal, float first, float second) throws Error {
        float[] values = { first, second };
        unowned uint8[] raw = (uint8[]) values;
        raw.length = (int) (values.length * sizeof (float));
        var tensor = new Ovstage.Tensor.for_bytes (new Bytes (raw), Ovstage.DataType.parse ("float32"), { 2 });
        stage.write_attribute (query, mass, ordinal, new Ovstage.WriteData (tensor), Ovstage.PrimMode.UPSERT, null).wait (-1, null);
    }

    public void seal (uint64 ordinal) throws Error {
        stage.advance_write_floor (ordinal, Ovstage.Scope.ALL, null).wait (-1, null);
    }

    public string show (GenericArray<weak Ovstage.ReadGroup> groups) throws Error {
        var text = new StringBuilder ();
        foreach (unowned var group in groups) {
            text.append ("%s%llu".printf (group.is_delete () ? "-" : "", group.get_ordinal ()));
            foreach (var i in group.dup_prim_indices ())
                text.append (" " + list.dup_path_string (i));
            if (group.is_delete ())
                continue;
            unowned float[] column = (float[]) group.ref_tensor (0).ref_bytes ().get_data ();
            text.append (": %g %g".printf (column[0], column[1]));
        }
        return text.str;
    }
}

// Later, when whoever asks is waiting.
delegate void Work () throws Error;

void later (owned Work work) {
    Idle.add (() => {
        try {
            work ();
        } catch (Error e) {
            error ("%s", e.message);
        }
        return Source.REMOVE;
    }, Priority.LOW);
}

async void changes () throws Error {
    var f = new Fixture ();
    var watch = f.watch ();

    f.write (1, 1, 2);
    f.seal (1);
    var groups = yield watch.next_async (Priority.DEFAULT, null);
    assert_cmpstr (f.show (groups), CompareOperator.EQ, "1 /A /B: 1 2");
    later (() => {
        f.write (2, 3, 4);
        f.seal (2);
        f.stage.delete_attributes (f.query, { f.mass }, 3).wait (-1, null);
        f.seal (3);
    });
    groups = yield watch.next_async (Priority.DEFAULT, null);
    assert_cmpstr (f.show (groups), CompareOperator.EQ, "-3 /A /B");
    assert (watch.get_cursor () == 3);
}

async void cancelled () throws Error {
    var f = new Fixture ();
    var watch = f.watch ();
    var cancellable = new Cancellable ();
    var told = false;

    later (() => cancellable.cancel ());
    try {
        yield watch.next_async (Priority.DEFAULT, cancellable);
    } catch (IOError.CANCELLED e) {
        told = true;
    }
    assert (told);
    f.write (1, 1, 2);
    f.seal (1);
    var groups = yield watch.next_async (Priority.DEFAULT, null);
    assert_cmpstr (f.show (groups), CompareOperator.EQ, "1 /A /B: 1 2");
}

async void one_at_a_time () throws Error {
    var f = new Fixture ();
    var watch = f.watch ();
    var told = false;
    var ended = false;

    watch.next_async.begin (Priority.DEFAULT, null, (object, result) => {
        try {
            ended = watch.next_async.end (result) == null;
        } catch (Error e) {
            error ("%s", e.message);
        }
    });
    try {
        yield watch.next_async (Priority.DEFAULT, null);
    } catch (IOError.PENDING e) {
        told = true;
    }
    assert (told && !ended);
    watch.cancel ();
    assert ((yield watch.next_async (Priority.DEFAULT, null)) == null);
    assert (ended);
}

async void with_a_callback () throws Error {
    var f = new Fixture ();
    var watch = f.stage.watch (f.query, { f.mass }, (watch, groups) => {});
    var told = false;

    try {
        yield watch.next_async (Priority.DEFAULT, null);
    } catch (Ovstage.Error.NOT_SUPPORTED e) {
        told = true;
    }
    assert (told);
}

async void groups_outlive_the_watch () throws Error {
    var f = new Fixture ();
    var watch = f.watch ();

    f.write (1, 1, 2);
    f.seal (1);
    var groups = yield watch.next_async (Priority.DEFAULT, null);
    watch = null;
    f.write (2, 3, 4);
    f.seal (2);
    assert_cmpstr (f.show (groups), CompareOperator.EQ, "1 /A /B: 1 2");
}

async void run () throws Error {
    print ("changes\n");
    yield changes ();
    print ("cancelled\n");
    yield cancelled ();
    print ("one at a time\n");
    yield one_at_a_time ();
    print ("with a callback\n");
    yield with_a_callback ();
    print ("groups outlive the watch\n");
    yield groups_outlive_the_watch ();
}

int main () {
    var loop = new MainLoop ();

    run.begin ((object, result) => {
        try {
            run.end (result);
        } catch (Error e) {
            error ("%s", e.message);
        }
        loop.quit ();
    });
    loop.run ();
    return 0;
}
