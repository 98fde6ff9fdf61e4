# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors
"""What the Python package costs, as ratios to what a user would do with numpy.

Prints ``name: ratio (median of N; min-max)``. A work and its yardstick are
measured in turn within one run, after a warm-up; the ratio is the median of the
ratios of the rounds. The first line tells the noise of the machine: how far
apart the 10th and the 90th percentile of a loop lie that only counts.
"""

import gc
import os
import statistics
import sys
import time

import numpy as np

import ovstage
from ovstage import OrdinalRange

clock = time.perf_counter_ns


def repeat(statement, names, n):
    """A function that runs a statement n times, with names as locals, and gives the time of one in ns."""
    source = f"def make({', '.join(names)}):\n def run():\n  began = clock()\n  for _ in range({n}):\n   {statement}\n  return (clock() - began) / {n}\n return run\n"
    space = {"clock": clock}
    exec(source, space)
    return space["make"](**names)


def measure(name, work, yardstick, rounds):
    """Both give the time of one run in ns."""
    for _ in range(3):
        work(), yardstick()
    ratios = []
    for i in range(rounds):
        # Neither is always the first, which finds the caches as the other left them.
        if i % 2:
            t, base = work(), yardstick()
        else:
            base, t = yardstick(), work()
        ratios.append(t / base)
    print(f"{name}: {statistics.median(ratios):.2f} (median of {rounds}; {min(ratios):.2f}-{max(ratios):.2f})", flush=True)


def noise(rounds=60):
    def count():
        t = clock()
        x = 0
        for i in range(20000):
            x += i
        return clock() - t

    times = sorted(count() for _ in range(rounds))
    median = times[len(times) // 2]
    print(f"noise of a counting loop: p10 {times[rounds // 10] / median:.2f}, p90 {times[rounds * 9 // 10] / median:.2f} of its median")


class Frames:
    """A stage with n prims and a column of float32x3, whose ordinal rises with each write."""

    def __init__(self, n):
        self.stage = ovstage.Stage("bench")
        self.paths = ovstage.PathDictionary(self.stage)
        self.query = self.stage.query_from_path_list(
            self.paths.create_path_list_from_strings([f"/World/env_{i // 64}/link_{i % 64}" for i in range(n)])
        )
        self.token = self.paths.intern_token("position")
        self.a = np.random.default_rng(1).random((n, 3), dtype=np.float32)
        self.dst = np.empty_like(self.a)
        self.ordinal = 0
        self.names = {
            "stage": self.stage,
            "query": self.query,
            "token": self.token,
            "a": self.a,
            "dst": self.dst,
            "frames": self,
            "np": np,
            "latest": OrdinalRange.latest,
            "write": self.stage.write_attribute,
            "seal": self.stage.advance_write_floor,
            "read": self.stage.read_attributes,
        }

    def close(self):
        self.query.release()
        self.stage.destroy()

    def run(self, statement, n, **names):
        return repeat(statement, {**self.names, **names}, n)


STEP = "o = frames.ordinal = frames.ordinal + 1; "
WRITE = "write(query, token, o, a, is_array=False).wait(); "
SEAL = "seal(o).wait(); "


def small(rounds):
    frames = Frames(1000)
    n = 300
    copy = frames.run("dst[...] = a", n)
    measure("python write + seal, numpy [1000,3] / dst[...] = a", frames.run(STEP + WRITE + SEAL, n), copy, rounds)
    measure("python write alone, numpy [1000,3] / dst[...] = a", frames.run("o = frames.ordinal + 1; " + WRITE, n), copy,
            rounds)
    frames.run(STEP + SEAL, 1)()
    measure("python seal of nothing / dst[...] = a of [1000,3]", frames.run(STEP + SEAL, n), copy, rounds)
    capsule = repeat("np.from_dlpack(x)", {"np": np, "x": frames.a}, n)
    frame = STEP + WRITE + SEAL
    frames.run(frame, 1)()
    read = "r = read(query, [token], latest(frames.ordinal)); g = r.fetch_next(); x = {}; g.release(); r.release()"
    measure("python read, array(0), release / np.from_dlpack", frames.run(read.format("g.array(0)"), n), capsule, rounds)
    measure("python read, from_dlpack(dlpack(0)), release / np.from_dlpack",
            frames.run(read.format("np.from_dlpack(g.dlpack(0))"), n), capsule, rounds)
    measure("python write + seal by DLTensor made before / dst[...] = a of [1000,3]",
            frames.run(STEP + "write(query, token, o, t, is_array=False).wait(); " + SEAL, n,
                       t=ovstage.DLTensor.from_dlpack(frames.a)), copy, rounds)
    frames.close()


def large(rounds):
    frames = Frames(1_000_000)
    copy = frames.run("dst[...] = a", 1)
    measure("python write + seal, numpy [1M,3] / dst[...] = a", frames.run(STEP + WRITE + SEAL, 1), copy, rounds)
    rng = np.random.default_rng(2)
    for share in (0.01, 0.1):
        mask = rng.random(1_000_000) < share
        rows = np.flatnonzero(mask)
        by_index = frames.run("dst[rows] = part", 1, rows=rows, part=frames.a[rows])
        by_mask = frames.run("dst[mask] = part", 1, mask=mask, part=frames.a[rows])
        prims = frames.query.path_list
        part = frames.paths.create_path_list([prims[int(i)] for i in rows])
        with frames.stage.query_from_path_list(part) as subset:
            measure(f"python write to {share:.0%} of 1M prims by a query + seal / dst[rows] = part",
                    frames.run(STEP + "write(subset, token, o, part, is_array=False).wait(); " + SEAL, 1, subset=subset,
                               part=frames.a[rows]), by_index, rounds)
        measure(f"python write of {share:.0%} of 1M rows by a bool mask + seal / dst[mask] = part",
                frames.run(STEP + "write(query, token, o, a, is_array=False, mask=mask).wait(); " + SEAL, 1, mask=mask),
                by_mask, rounds)
    frames.close()


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 31
    gc.disable()
    print(f"numpy {np.__version__}, Python {sys.version.split()[0]}, {os.cpu_count()} processors")
    noise()
    small(rounds)
    large(rounds)


if __name__ == "__main__":
    main()
