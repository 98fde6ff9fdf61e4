// SPDX-License-Identifier: LGPL-2.1-or-later
// SPDX-FileCopyrightText: 2026 The libovstage authors

// Asking a watch what changed, from JavaScript.

import GLib from 'gi://GLib';
import Gio from 'gi://Gio';
import System from 'system';
import Ovstage from 'gi://Ovstage?version=1.0';

Gio._promisify(Ovstage.Watch.prototype, 'next_async', 'next_finish');

const TIME_LIMIT_S = 60;

function setUp() {
    const stage = Ovstage.Stage.new('test');
    const dictionary = stage.get_path_dictionary();
    const mass = dictionary.intern_token('mass');
    const list = dictionary.create_path_list(['/A', '/B']);
    return {stage, mass, list, query: stage.query_path_list(list)};
}

function write(f, ordinal, values) {
    const bytes = new GLib.Bytes(new Uint8Array(new Float32Array(values).buffer));
    const tensor = Ovstage.Tensor.new_for_bytes(bytes, Ovstage.DataType.parse('float32'), [values.length]);
    f.stage.write_attribute(f.query, f.mass, ordinal, Ovstage.WriteData.new(tensor), Ovstage.PrimMode.UPSERT, null).wait(-1, null);
}

function seal(f, ordinal) {
    f.stage.advance_write_floor(ordinal, Ovstage.Scope.ALL, null).wait(-1, null);
}

// Later, when the promise that the test waits for is there.
function later(work) {
    GLib.idle_add(GLib.PRIORITY_LOW, () => {
        work();
        return GLib.SOURCE_REMOVE;
    });
}

function show(f, groups) {
    return groups.map(group => {
        const prims = group.dup_prim_indices().map(i => f.list.dup_path_string(i)).join(' ');
        if (group.is_delete())
            return `-${group.get_ordinal()} ${prims}`;
        const bytes = group.ref_tensor(0).ref_bytes().toArray();
        return `${group.get_ordinal()} ${prims}: ${new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4)}`;
    }).join(', ');
}

function assertEqual(got, expected) {
    if (got !== expected)
        throw new Error(`got ${got}, expected ${expected}`);
}

async function assertRejects(promise, domain, code) {
    try {
        await promise;
    } catch (e) {
        if (!e.matches || !e.matches(domain, code))
            throw e;
        return;
    }
    throw new Error('nothing was thrown');
}

const tests = {
    async 'changed before it is asked'(f) {
        const watch = f.stage.watch(f.query, [f.mass], null);
        write(f, 1, [1, 2]);
        seal(f, 1);
        assertEqual(show(f, await watch.next_async(GLib.PRIORITY_DEFAULT, null)), '1 /A /B: 1,2');
        assertEqual(watch.get_cursor(), 1);
    },

    async 'changes while it is asked'(f) {
        const watch = f.stage.watch(f.query, [f.mass], null);
        later(() => {
            write(f, 1, [1, 2]);
            seal(f, 1);
        });
        assertEqual(show(f, await watch.next_async(GLib.PRIORITY_DEFAULT, null)), '1 /A /B: 1,2');
        later(() => {
            f.stage.delete_attributes(f.query, [f.mass], 2).wait(-1, null);
            seal(f, 2);
        });
        assertEqual(show(f, await watch.next_async(GLib.PRIORITY_DEFAULT, null)), '-2 /A /B');
        assertEqual(watch.get_cursor(), 2);
    },

    async 'all that was missed at once'(f) {
        const watch = f.stage.watch(f.query, [f.mass], null);
        for (let ordinal = 1; ordinal <= 3; ordinal++) {
            write(f, ordinal, [ordinal, 10 * ordinal]);
            seal(f, ordinal);
        }
        assertEqual(show(f, await watch.next_async(GLib.PRIORITY_DEFAULT, null)), '3 /A /B: 3,30');
    },

    async 'cancelling a wait keeps the changes'(f) {
        const watch = f.stage.watch(f.query, [f.mass], null);
        const cancellable = new Gio.Cancellable();
        later(() => cancellable.cancel());
        await assertRejects(watch.next_async(GLib.PRIORITY_DEFAULT, cancellable), Gio.IOErrorEnum, Gio.IOErrorEnum.CANCELLED);
        write(f, 1, [1, 2]);
        seal(f, 1);
        assertEqual(show(f, await watch.next_async(GLib.PRIORITY_DEFAULT, null)), '1 /A /B: 1,2');
    },

    async 'one wait at a time'(f) {
        const watch = f.stage.watch(f.query, [f.mass], null);
        const first = watch.next_async(GLib.PRIORITY_DEFAULT, null);
        await assertRejects(watch.next_async(GLib.PRIORITY_DEFAULT, null), Gio.IOErrorEnum, Gio.IOErrorEnum.PENDING);
        later(() => watch.cancel());
        assertEqual(await first, null);
    },

    async 'a watch with a callback is not asked'(f) {
        const watch = f.stage.watch(f.query, [f.mass], () => {});
        await assertRejects(watch.next_async(GLib.PRIORITY_DEFAULT, null), Ovstage.Error, Ovstage.Error.NOT_SUPPORTED);
    },

    async 'null once it has ended'(f) {
        const watch = f.stage.watch(f.query, [f.mass], null);
        watch.cancel();
        assertEqual(await watch.next_async(GLib.PRIORITY_DEFAULT, null), null);
    },

    async 'groups outlive the watch'(f) {
        const watch = f.stage.watch(f.query, [f.mass], null);
        write(f, 1, [1, 2]);
        seal(f, 1);
        const groups = await watch.next_async(GLib.PRIORITY_DEFAULT, null);
        watch.cancel();
        write(f, 2, [3, 4]);
        seal(f, 2);
        System.gc();
        assertEqual(show(f, groups), '1 /A /B: 1,2');
    },
};

const loop = new GLib.MainLoop(null, false);
let failed = 0;

async function main() {
    print(`1..${Object.keys(tests).length}`);
    let count = 0;
    for (const [name, test] of Object.entries(tests)) {
        let ok = '';
        try {
            await test(setUp());
        } catch (e) {
            print(`# ${e}`);
            ok = 'not ';
            failed++;
        }
        print(`${ok}ok ${++count} ${name}`);
    }
}

GLib.timeout_add_seconds(GLib.PRIORITY_DEFAULT, TIME_LIMIT_S, () => {
    print(`Bail out! nothing came for ${TIME_LIMIT_S} seconds`);
    System.exit(1);
});
main().catch(logError).finally(() => loop.quit());
loop.run();
System.exit(failed > 0 ? 1 : 0);
