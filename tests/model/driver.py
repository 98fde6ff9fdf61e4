#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors

"""Runs random sequences of operations against the library and against the model.

A difference is shrunk and printed as a program that shows it. See README.md.
"""

import argparse
import concurrent.futures
import contextlib
import io
import json
import mmap
import os
import random
import select
import signal
import struct
import sys
import threading
import time
import traceback

sys.dont_write_bytecode = True  # the source tree stays as it is

import broken
import fake
import flat
import model
import sequence as sequences
from program import program, told
from sides import LibrarySide, ModelSide

CHUNK = 100
CANNOT_RUN = 42  # exit status of a child whose Python code failed outside of a replay


# Comparing


def difference(want, got, where=""):
    """Where two pieces of plain data differ, as text; None if they do not. A set is what may be."""
    if isinstance(want, dict) and isinstance(got, dict):
        if isinstance(want.get("status"), set):  # then nothing else is sure
            return difference(want["status"], got["status"], f"{where}status: ")
        for key in want:
            if key == "generations":
                continue
            if key not in got:
                return f"{where}{key}: missing, want {want[key]!r}"
            found = difference(want[key], got[key], f"{where}{key}: ")
            if found is not None:
                return found
        extra = [key for key in got if key not in want]
        return f"{where}{extra[0]}: {got[extra[0]]!r} is too much" if extra else None
    if isinstance(want, list) and isinstance(got, list):
        for i, (one, other) in enumerate(zip(want, got)):
            found = difference(one, other, f"{where}[{i}] ")
            if found is not None:
                return found
        if len(want) != len(got):
            return f"{where}{len(got)} entries, want {len(want)}: got {got!r}, want {want!r}"
        return None
    if want == got or isinstance(want, set) and got in want:
        return None
    if "status" in where or "operations" in where:
        want, got = told(want), told(got)
    return f"{where}got {got}, want {want}"


def generation_fault(generations, want, got):
    several = [pair for kind in ("reads", "watches") for pair in zip(want.get(kind, []), got.get(kind, []))]
    for one, other in [(want, got), *several]:
        for (attribute, changes, placement), number in zip(one.get("generations", []), other.get("generations", [])):
            fault = generations.fault(attribute, number, changes, placement)
            if fault is not None:
                return fault
    return None


def adapted(sequence):
    """The sequence without what the face has not."""
    import observe

    return getattr(observe.ovstage, "adapt", lambda whole: whole)(sequence)


def replay(sequence):
    """The first difference as (step, text), or None. A step past the operations is the end of the stage."""
    return replay_adapted(adapted(sequence))


def replay_adapted(sequence):
    return compare(sequence, lambda: LibrarySide(sequence))


def compare(sequence, make_library):
    import observe

    generations = observe.Generations()
    oracle = ModelSide(sequence)
    library = None
    for i, op in enumerate([*sequence["ops"], None]):
        want = oracle.end() if op is None else oracle.step(op)
        if want is None:
            continue
        try:
            if library is None:
                library = make_library()
            got = library.step(op, want)
            if op is not None and op["op"] == "cancel":
                fault = oracle.cancelled(op, got)
                if fault is not None:
                    return (i, fault)
                continue
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
            if not isinstance(error, AssertionError):
                text += "\n" + traceback.format_exc()
            return (i, text)
        fault = difference(want, got) or generation_fault(generations, want, got)
        if fault is not None:
            return (i, fault)
    return None


def replay_together(several):
    """Runs sequences on one stage, each in a thread; which of them differed first as (number, step, text), or None."""
    import observe

    several = [adapted(sequence) for sequence in several]
    found = []

    def work(number, sequence, library):
        fault = compare(sequence, lambda: library)
        if fault is not None:
            found.append((number, *fault))

    with observe.ovstage.Stage(history_depth=several[0]["depth"]) as stage:
        libraries = [LibrarySide(sequence, stage) for sequence in several]
        threads = [
            threading.Thread(target=work, args=(i, sequence, library))
            for i, (sequence, library) in enumerate(zip(several, libraries))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return found[0] if found else None


# Shrinking


def shrink(sequence, fails, seconds=20):
    """Drops and simplifies operations while @fails (sequence) keeps giving a difference."""
    deadline = time.monotonic() + seconds
    found = fails(sequence)
    if found is None:
        return sequence, None
    sequence = {**sequence, "ops": sequence["ops"][: found[0] + 1]}

    def attempt(changed):
        nonlocal sequence, found
        if time.monotonic() > deadline:
            return False
        now = fails(changed)
        if now is None:
            return False
        sequence, found = {**changed, "ops": changed["ops"][: now[0] + 1]}, now
        return True

    smaller = True
    while smaller and time.monotonic() < deadline:
        smaller = False
        size = max(1, len(sequence["ops"]) // 2)
        while size >= 1:
            at = 0
            while at < len(sequence["ops"]):
                ops = sequence["ops"]
                if attempt({**sequence, "ops": ops[:at] + ops[at + size :]}):
                    smaller = True
                else:
                    at += size
            size //= 2
    for at in range(len(sequence["ops"])):
        for change in ({"wait": True}, {"layout": "c"}, {"hold": None}, {"by_token": False}, {"late": False}):
            if at < len(sequence["ops"]) and sequence["ops"][at].get(*change) != next(iter(change.values())):
                if next(iter(change)) in sequence["ops"][at]:
                    ops = list(sequence["ops"])
                    ops[at] = {**ops[at], **change}
                    attempt({**sequence, "ops": ops})
    return sequence, fails(sequence) or found  # operations tell whether they were withdrawn this time


# Running in child processes, so that a crash or a hang of the library is a result like others


def in_child(work, package=None, seconds=300):
    """What work () gives in a child, as ("value", ...).

    Else how the child died: ("signal", number), ("status", number) or ("timeout", None).
    """
    sys.stdout.flush()
    sys.stderr.flush()
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        status = CANNOT_RUN
        try:
            os.close(receive)
            if package is not None:
                sys.modules["ovstage"] = package
            text = json.dumps(work()).encode()
            with os.fdopen(send, "wb") as pipe:
                pipe.write(text)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    os.close(send)
    deadline = time.monotonic() + seconds
    text = b""
    with os.fdopen(receive, "rb", buffering=0) as pipe:
        while True:
            ready, _, _ = select.select([pipe], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                return ("timeout", None)
            part = pipe.read(1 << 16)
            if not part:
                break
            text += part
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return ("signal", os.WTERMSIG(status))
    if os.WEXITSTATUS(status) == CANNOT_RUN:
        print("Bail out! a child could not run, see its message", flush=True)
        raise SystemExit(1)
    if os.WEXITSTATUS(status) != 0:
        return ("status", os.WEXITSTATUS(status))
    return ("value", json.loads(text))


def died(result):
    kind, value = result
    if kind == "signal":
        return f"died of {signal.Signals(value).name}"
    return "did not end" if kind == "timeout" else f"ended with status {value}"


def run_chunk(seeds, depths, skip, package=None):
    """(sequence, difference) of the first seed that differs, or None."""
    progress = mmap.mmap(-1, 8)

    def work():
        for seed in seeds:
            progress[:] = struct.pack("=Q", seed)
            found = replay(sequences.generate(seed, depths, skip))
            if found is not None:
                return [seed, found]
        return None

    result = in_child(work, package)
    if result == ("value", None):
        return None
    seed = result[1][0] if result[0] == "value" else struct.unpack("=Q", progress[:])[0]
    sequence = sequences.generate(seed, depths, skip)

    def fails_in_child(candidate):
        """The step is the last one that was begun."""
        reached = mmap.mmap(-1, 8)

        def work_one():
            return watched_replay(candidate, reached)

        one = in_child(work_one, package, 20)
        if one[0] == "value":
            return one[1]
        return (struct.unpack("=Q", reached[:])[0], "the process " + died(one))

    if result[0] == "value":
        shrunk = in_child(lambda: shrink(sequence, replay), package)
        if shrunk[0] == "value" and shrunk[1][1] is not None:
            return tuples(shrunk[1])
    smaller, found = shrink(sequence, fails_in_child, 60)
    if found is None:
        text = result[1][1][1] if result[0] == "value" else "the process " + died(result)
        found = (len(sequence["ops"]), text + " (not again when run alone: run the seeds before it too)")
    return smaller, found


def generate_together(seeds, depths, skip):
    """Sequences for threads of one stage."""
    depth = random.Random(seeds[0]).choice(depths)
    return [sequences.generate(seed, (depth,), skip, thread) for thread, seed in enumerate(seeds)]


def run_threads(seeds, depths, skip, n_threads, package=None):
    """(sequence, difference) of the first seed that differs, or None; the sequence is shrunk if it differs alone, too."""
    progress = mmap.mmap(-1, 8)
    groups = [seeds[at : at + n_threads] for at in range(0, len(seeds), n_threads)]

    def work():
        sys.setswitchinterval(2e-5)
        for i, group in enumerate(groups):
            progress[:] = struct.pack("=Q", i)
            found = replay_together(generate_together(group, depths, skip))
            if found is not None:
                return [i, *found]
        return None

    result = in_child(work, package)
    if result == ("value", None):
        return None
    if result[0] != "value":
        group = groups[struct.unpack("=Q", progress[:])[0]]
        sequence = generate_together(group, depths, skip)[0]
        return sequence, (len(sequence["ops"]), f"the process {died(result)}, with the other threads")
    i, number, step, text = result[1]
    sequence = generate_together(groups[i], depths, skip)[number]
    alone = in_child(lambda: shrink({**sequence, "alone": True}, replay), package)
    if alone[0] == "value" and alone[1][1] is not None:
        return tuples(alone[1])
    return sequence, (step, f"thread {number}: {text} (not when alone)")


def tuples(shrunk):
    return shrunk[0], tuple(shrunk[1])


def watched_replay(sequence, reached):
    sequence = adapted(sequence)
    return replay_adapted({**sequence, "ops": Watched(sequence["ops"], reached)})


class Watched(list):
    """A list that notes, in shared memory, how far it was walked."""

    def __init__(self, items, reached):
        super().__init__(items)
        self.reached = reached

    def __iter__(self):
        for i in range(len(self)):
            self.reached[:] = struct.pack("=Q", i)
            yield self[i]
        self.reached[:] = struct.pack("=Q", len(self))


# Reports


class Report:
    def __init__(self, tap):
        self.tap = tap
        self.n = 0
        self.failed = 0

    def plan(self, n):
        if self.tap:
            print(f"1..{n}")

    def result(self, ok, name, lines=()):
        self.n += 1
        self.failed += not ok
        if self.tap:
            print(f"{'ok' if ok else 'not ok'} {self.n} - {name}")
            for line in lines:
                print(f"# {line}".rstrip())
        else:
            print(f"{'passed' if ok else 'FAILED'}: {name}")
            for line in lines:
                print(line)
        sys.stdout.flush()

    def note(self, text):
        print(f"# {text}" if self.tap else text)


def report_difference(report, name, sequence, found, again):
    lines = [*f"seed {sequence['seed']}: {found[1]}".splitlines(), f"again: {again}", "-" * 30]
    report.result(False, name, [*lines, *program(sequence, found).splitlines(), "-" * 30])


def run(args, package):
    report = Report(args.tap)
    first, last = args.seed, args.seed + args.sequences
    chunks = [range(at, min(at + CHUNK, last)) for at in range(first, last, CHUNK)]
    report.plan(len(chunks) + (args.programs > 0))
    start = time.monotonic()

    def run_one(chunk):
        if args.threads > 1:
            return run_threads(chunk, args.depths, args.skip, args.threads, package)
        return run_chunk(chunk, args.depths, args.skip, package)

    # Each chunk has a process of its own; the threads here only wait for them.
    pool = concurrent.futures.ThreadPoolExecutor(args.jobs)
    for chunk, failed in zip(chunks, pool.map(run_one, chunks)):
        name = f"{args.face} face, sequences {chunk[0]} to {chunk[-1]}"
        if failed is None:
            report.result(True, name)
            continue
        sequence, found = failed
        depths = ",".join(str(depth) for depth in args.depths)
        again = f"driver.py --face {args.face} --depths {depths} --sequences 1 --seed {sequence['seed']}"
        if args.threads > 1:
            at = sequence["seed"] - (sequence["seed"] - chunk[0]) % args.threads
            again = f"driver.py --face {args.face} --depths {depths} --threads {args.threads} "
            again += f"--sequences {args.threads} --seed {at}"
        if args.skip:
            again += f" --skip {','.join(args.skip)}"
        report_difference(report, name, sequence, found, again)
        if report.failed == 3:
            report.note("three chunks failed: giving up")
            break
    pool.shutdown(cancel_futures=True)
    if args.programs > 0:
        lines = run_programs(range(first, first + args.programs), args, package)
        report.result(not lines, f"{args.programs} sequences as printed programs", lines)
    seconds = time.monotonic() - start
    report.note(
        f"{args.sequences} sequences, {seconds:.1f} s, {60 * args.sequences / max(seconds, 0.001):.0f} a minute, "
        f"{report.failed} of {report.n} chunks failed"
    )
    return report.failed != 0


def execute(text):
    """The exit status of a reproducing program."""
    try:
        exec(compile(text, "program", "exec"), {"__name__": "program"})
    except SystemExit as end:
        return end.code
    return 0


def run_programs(seeds, args, package):
    """What programs of sequences that do not differ say, if they do not say so."""
    lines = []
    for seed in seeds:
        sequence = sequences.generate(seed, args.depths, [*args.skip, "cancels"])  # nobody knows what they would find
        text = program(sequence, (len(sequence["ops"]), "nothing"))

        def work():
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                return [execute(text), said.getvalue()]

        result = in_child(work, package)
        if result != ("value", [0, "as the model says\n"]):
            lines += [f"the program of seed {seed} " + died(result)] if result[0] != "value" else [f"seed {seed}: {result[1][1]}"]
    return lines


# The driver's own test


def run_program(text, package):
    """The exit status of a reproducing program."""

    def work():
        with contextlib.redirect_stdout(None):
            return execute(text)

    return in_child(work, package)


def dies_at_third_write():
    """A package that kills the process."""

    class Killer(model.Model):
        def write(self, *args, **more):
            if len([e for entries in self.entries.values() for e in entries]) == 2:
                os.kill(os.getpid(), signal.SIGSEGV)
            return super().write(*args, **more)

    return fake.package(Killer)


def self_test(args):
    report = Report(args.tap)
    report.plan(len(broken.BROKEN) + 2)
    right = fake.package()
    failed = run_chunk(range(args.seed, args.seed + 300), args.depths, args.skip, right)
    report.result(failed is None, "the model agrees with itself", [failed[1][1]] if failed is not None else [])
    for name, package in broken.BROKEN.items():
        failed = None
        for first in range(args.seed, args.seed + 5000, 500):
            failed = failed or run_chunk(range(first, first + 500), args.depths, args.skip, package)
        if failed is None:
            report.result(False, f"{name} is caught", ["5000 sequences did not show it"])
            continue
        sequence, found = failed
        text = program(sequence, found)
        shown = (run_program(text, package), run_program(text, right))
        good = shown == (("value", 1), ("value", 0))
        lines = [f"seed {sequence['seed']}, {len(sequence['ops'])} operations: {found[1].splitlines()[0]}"]
        if not good:
            lines += [f"its program ends with {shown[0]} on the broken copy, {shown[1]} on the right one", text]
        report.result(good, f"{name} is caught", lines)
    sequence, found = run_chunk(range(args.seed, args.seed + 50), args.depths, args.skip, dies_at_third_write())
    good = "SIGSEGV" in found[1] and run_program(program(sequence, found), dies_at_third_write())[0] == "signal"
    report.result(good, "a crash is caught", [f"{len(sequence['ops'])} operations: {found[1]}"])
    return report.failed != 0


def numbers(text):
    return [int(part) for part in text.split(",")]


def parts(text):
    named = [part for part in text.split(",") if part]
    for part in named:
        if part not in sequences.PARTS:
            raise argparse.ArgumentTypeError(f"{part} is none of {', '.join(sequences.PARTS)}")
    return named


def main():
    parser = argparse.ArgumentParser(description="Random sequences against the library and against its model.")
    parser.add_argument("--sequences", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1, help="seed of the first sequence")
    parser.add_argument("--depths", type=numbers, default=[1, 4], help="history depths to draw from")
    parser.add_argument(
        "--face", choices=("python", "flat", "model"), default="python", help="flat: the C API; model: the model itself"
    )
    parser.add_argument(
        "--skip", type=parts, default=[], help=f"what to leave out, some of {','.join(sequences.PARTS)}"
    )
    parser.add_argument("--programs", type=int, default=0, help="run this many of them as the programs that are printed, too")
    parser.add_argument("--threads", type=int, default=1, help="run this many sequences at a time on one stage")
    parser.add_argument("--jobs", type=int, default=1, help="how many chunks of sequences run at a time")
    parser.add_argument("--tap", action="store_true")
    parser.add_argument("-k", action="store_true", help="accepted for test wrappers")
    parser.add_argument("--self-test", action="store_true", help="broken copies of the model must be caught")
    parser.add_argument("--dump", action="store_true", help="print the sequences as JSON, one a line, and run nothing")
    args = parser.parse_args()
    if args.face == "flat":  # it has one version, no watches, and withdraws nothing
        args.depths = [1]
        args.skip = sorted({*args.skip, "watches", "cancels"})
    if args.dump:
        for seed in range(args.seed, args.seed + args.sequences):
            print(json.dumps(sequences.generate(seed, args.depths, args.skip)))
        return 0
    if args.self_test:
        return int(self_test(args))
    package = {"python": None, "flat": flat.package(args.threads), "model": fake.package()}
    return int(run(args, package[args.face]))


if __name__ == "__main__":
    sys.exit(main())
