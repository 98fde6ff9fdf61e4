# A producer at 240 Hz and two consumers at 60 and 7 Hz in one GLib main loop.  Run: python3 producer-consumer.py
#
# The producer writes some prims each step, deletes one now and then, and new ones join on the way. A consumer keeps
# a cursor, reads what changed after it, whatever that was, and applies it to a copy; the slow one joins late, with a
# snapshot. The program knows what was produced and checks that nobody missed a change or was told one twice.
#
# Prints:  60 Hz: <N> reads told of <N> changes
#          7 Hz: <N> reads told of <N> changes
#          each consumer saw every change of 480 steps once
import sys
import time

import numpy as np
from gi.repository import GLib

import ovstage
from ovstage import ORDINAL_NEWEST, OrdinalRange

RATE, STEPS = 240, 480
PRIMS, FIRST = 60, 40  # in the end, and at the beginning


class Producer:
    def __init__(self, stage, query, singles):
        self.stage, self.query, self.singles = stage, query, singles
        self.step = 0
        self.started = time.monotonic()
        self.events = [{}]  # of each step: prim -> whether it was written, else deleted
        self.values = {}  # of the prims that are there
        self.rests_until = [0] * PRIMS

    def tick(self):
        due = (time.monotonic() - self.started) * RATE
        while self.step < min(due, STEPS):
            self.produce()
        return self.step < STEPS

    def produce(self):
        self.step += 1
        step = self.step
        joined = min(FIRST + step // 20, PRIMS)
        written = [i for i in range(joined) if (i * 7 + step) % 12 == 0 and step >= self.rests_until[i]]
        self.events.append({i: True for i in written})
        self.values.update({i: step for i in written})
        if written:
            mask = np.zeros(PRIMS, bool)
            mask[written] = True
            self.stage.write_attribute(
                self.query, "position", step, np.full(PRIMS, step, np.float32), is_array=False, mask=mask
            ).wait()
        victim = step * 7 % joined
        if step % 8 == 0 and victim in self.values:
            self.stage.delete_attributes(self.singles[victim], ["position"], step).wait()
            self.events[step][victim] = False
            del self.values[victim]
            self.rests_until[victim] = step + 100
        self.stage.advance_write_floor(step).wait()


class Consumer:
    def __init__(self, producer, rate, joins):
        self.producer, self.rate, self.joins = producer, rate, joins
        self.cursor = 0  # has read nothing yet
        self.task = None
        self.values = {}
        self.reads = self.told = 0

    def tick(self):
        """Whether there is more to come."""
        if self.task is not None and not self.task.done():
            return True
        if self.task is not None:
            self.task.result()  # raises what the task raised
        if self.producer.step >= self.joins and self.cursor < STEPS:
            self.task = ovstage.glib.spawn(self.consume())
        return self.cursor < STEPS

    async def consume(self):
        ordinals = OrdinalRange.between(self.cursor + 1, ORDINAL_NEWEST) if self.cursor > 0 else OrdinalRange.newest()
        told = {}
        with self.producer.stage.read_attributes(self.producer.query, ["position"], ordinals) as read:
            async for group in read:
                prims = group.prim_indices.tolist()
                assert not told.keys() & prims, "a prim is told twice"
                if group.is_delete:
                    told.update(dict.fromkeys(prims, False))
                    for prim in prims:
                        self.values.pop(prim, None)
                else:
                    told.update(dict.fromkeys(prims, True))
                    self.values.update(zip(prims, group.array(0)[group.data_rows].tolist()))
            self.check(told, read.as_of)

    def check(self, told, as_of):
        expected = {}
        for step in range(self.cursor + 1, as_of + 1):
            expected.update(self.producer.events[step])
        if self.cursor == 0:
            expected = {prim: True for prim, written in expected.items() if written}  # a snapshot tells what is there
        assert told == expected, f"{self.rate} Hz, {self.cursor} to {as_of}: told {told}, expected {expected}"
        self.cursor = as_of
        self.reads += 1
        self.told += len(told)


def main():
    loop = GLib.MainLoop()
    failure = []
    with ovstage.Stage("example.producer-consumer") as stage, ovstage.PathDictionary(stage) as paths:

        def query(names):
            prims = paths.create_path_list_from_strings(names)
            made = stage.query_from_path_list(prims)
            paths.destroy_path_list(prims)
            return made

        names = [f"/World/Prim{i}" for i in range(PRIMS)]
        singles = [query([name]) for name in names]
        producer = Producer(stage, query(names), singles)
        consumers = [Consumer(producer, 60, joins=1), Consumer(producer, 7, joins=100)]

        def timer(who, milliseconds):
            def tick():
                try:
                    if who.tick():
                        return GLib.SOURCE_CONTINUE
                except Exception as error:
                    failure.append(error)
                    loop.quit()
                running.discard(who)
                if not running:
                    loop.quit()
                return GLib.SOURCE_REMOVE

            running.add(who)
            GLib.timeout_add(milliseconds, tick)

        running = set()
        timer(producer, 1000 // RATE)
        for consumer in consumers:
            timer(consumer, 1000 // consumer.rate)
        loop.run()

        for one in (producer.query, *singles):
            one.release()
        if failure:
            raise failure[0]
        for consumer in consumers:
            assert consumer.values == producer.values and consumer.cursor == STEPS
            print(f"{consumer.rate} Hz: {consumer.reads} reads told of {consumer.told} changes")
        print(f"each consumer saw every change of {STEPS} steps once")


if __name__ == "__main__":
    sys.exit(main())
