#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors
"""Runs the code blocks of pages of doc/, and the Python example of README.md.

A block whose first line is a comment with a file name is saved under that name.
A `sh' block is run, and its output compared with the `text' block that follows.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.environ.get("OVSTAGE_SRCDIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
PAGES = [os.path.join(SOURCE, "doc", name) for name in ("arrays.md", "five-minutes.md", "maps.md", "ordinals.md", "queries.md", "tensors.md", "watching.md")]
README = os.path.join(SOURCE, "README.md")
FILE_LANGUAGES = {"c", "python", "js", "vala"}
NEEDS = {"valac": "VALAC", "gjs": "GJS", "python3": "PYTHON"}


def blocks(page):
    with open(page, encoding="utf-8") as file:
        for match in re.finditer(r"^```(\w+)\n(.*?)^```$", file.read(), re.M | re.S):
            yield match[1], match[2]


def missing(script):
    """What the script needs and this build has not, or None."""
    for tool, variable in NEEDS.items():
        if re.search(rf"^{tool}\b", script, re.M) and not os.environ.get(variable):
            return tool
    if "valac" in script and os.environ.get("HAVE_VAPI") != "yes":
        return "vala bindings"
    return None


class Tap:
    def __init__(self):
        self.count = 0
        self.failed = 0

    def line(self, ok, name, why="", skip=""):
        self.count += 1
        self.failed += not ok
        for text in why.splitlines():
            print("#", text)
        print(f"{'ok' if ok else 'not ok'} {self.count} {name}{' # SKIP ' + skip if skip else ''}", flush=True)


def main():
    tap = Tap()
    folder = tempfile.mkdtemp()
    found = [block for page in PAGES for block in blocks(page)]
    saved = set()
    ran = set()
    for index, (language, text) in enumerate(found):
        if language in FILE_LANGUAGES:
            name = re.match(r"(?:/\*|//|#) (\S+)", text)
            if name is None:
                tap.line(False, f"{language} block {index}", "its first line does not name a file")
                continue
            saved.add(name[1])
            with open(os.path.join(folder, name[1]), "w", encoding="utf-8") as file:
                file.write(text)
        elif language == "sh":
            name = text.splitlines()[0]
            ran.update(word for word in re.split(r"\s+", text) if word in saved)
            lacking = missing(text)
            if lacking:
                tap.line(True, name, skip=f"configured without {lacking}")
                continue
            expected = found[index + 1][1] if index + 1 < len(found) and found[index + 1][0] == "text" else ""
            run = subprocess.run(["sh", "-e", "-c", text], cwd=folder, capture_output=True, text=True)
            said = "" if run.returncode == 0 and run.stdout == expected else (
                f"exit status {run.returncode}\nprinted:\n{run.stdout}expected:\n{expected}stderr:\n{run.stderr}")
            tap.line(not said, name, said)
    tap.line(bool(saved) and saved == ran, "every saved block is run", f"saved {sorted(saved)}, run {sorted(ran)}")
    example = next(text for language, text in blocks(README) if language == "python")
    if os.environ.get("PYTHON"):
        run = subprocess.run(["python3", "-c", example], cwd=folder, capture_output=True, text=True)
        tap.line(run.returncode == 0 and run.stdout == "1 [20.5 21.  19.5]\n", "README.md", run.stdout + run.stderr)
    else:
        tap.line(True, "README.md", skip="configured without Python")
    shutil.rmtree(folder)
    print(f"1..{tap.count}")
    return 1 if tap.failed else 0


if __name__ == "__main__":
    sys.exit(main())
