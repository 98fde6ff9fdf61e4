#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors

# The Python package under a debug build of the interpreter, which checks what
# extensions do and counts all references. The extension is built anew for it.

set -u
srcdir=${OVSTAGE_SRCDIR:?}
builddir=${OVSTAGE_BUILDDIR:?}
# shellcheck source=tests/tap.sh
. "$srcdir/tests/tap.sh"

[ "${HAVE_PYTHON:-no}" = yes ] || skip_all "configured without Python"
version=$("$PYTHON" -c 'import sys; print("%d.%d" % sys.version_info[:2])') || exit 99
debug=$(command -v "python$version-dbg") || skip_all "there is no python$version-dbg"
[ "$("$debug" -c 'import sys; print(hasattr(sys, "gettotalrefcount"))')" = True ] || skip_all "$debug is no debug build"
include=$("$debug" -c 'import sysconfig; print(sysconfig.get_path("include"))')
[ -r "$include/Python.h" ] || skip_all "$include has no Python.h"
suffix=$("$debug" -c 'import sysconfig; print(sysconfig.get_config_var("EXT_SUFFIX"))')

package=$TMPDIR/ovstage
mkdir "$package"
cp "$srcdir"/gir/python/ovstage/*.py "$package"

build_extension ()
{
  # shellcheck disable=SC2046
  ${CC:-cc} -shared -fPIC -g -O1 -fvisibility=hidden -o "$package/_native$suffix" \
    -I"$builddir" -I"$srcdir/include" -I"$builddir/include" -I"$include" "$srcdir"/gir/python/ovstage/*.c \
    -L"$builddir/lib/.libs" -lovstage $(pkg-config --cflags --libs gio-2.0)
}

PYTHONPATH=$TMPDIR:$srcdir/tests/python${PYTHONPATH:+:$PYTHONPATH}
export PYTHONPATH

check "the extension is built" build_extension
check "it is the one that is used" "$debug" -c 'import ovstage; assert ovstage._native.__file__.startswith("'"$package"'")'
for name in dlpack exchange write read map operations; do
  check "test_$name.py" "$debug" -X dev "$srcdir/tests/run-python.py" "$srcdir/tests/python/test_$name.py"
done

# Numpy is not built for it: what it counts is not complete.
cat >"$TMPDIR/references.py" <<'EOT'
import array
import gc
import sys

import ovstage

float3 = ovstage.DLDataType(2, 32, 3)
buffer = array.array("f", range(12))
made = ovstage.make_dltensor(buffer, shape=[4, 3])


class Producer:
    def __dlpack__(self, **kwargs):
        raise TypeError("no")


class Table:
    __dlpack_c_exchange_api__ = ovstage.ManagedDLTensor.__dlpack_c_exchange_api__


class Broken(Table):
    __dlpack_c_exchange_api__ = 1


def attempt(function, *args, **kwargs):
    try:
        function(*args, **kwargs)
    except (BufferError, IndexError, OSError, TypeError, ValueError):
        return
    raise AssertionError(function)


class Stage:
    def __init__(self):
        self.stage = ovstage.Stage()
        self.paths = ovstage.PathDictionary(self.stage)
        self.query = self.stage.query_from_path_list(self.paths.create_path_list_from_strings([f"/P{i}" for i in range(4)]))
        self.ordinal = 0

    def frame(self):
        self.ordinal += 1
        self.stage.write_attribute(self.query, "a", self.ordinal, ovstage.make_dltensor(made, float3), is_array=False).wait()
        self.stage.write_attribute(self.query, "b", self.ordinal, buffer[:4], is_array=False, transfer=True).wait()
        self.stage.advance_write_floor(self.ordinal).wait()
        with self.stage.read_attributes(self.query, ["a", "b"], ovstage.OrdinalRange.latest(self.ordinal)) as read:
            for group in read.groups():
                tensor = group.dlpack(0)
                tensor.__dlpack__(), tensor.__dlpack__(max_version=(1, 0)), tensor.__dlpack__(copy=True)
                ovstage.DLTensor.from_dlpack(tensor.__dlpack__()), ovstage.DLTensor.from_dlpack(tensor)
                memoryview(tensor), tensor.__array_interface__, tensor.__dlpack_device__(), repr(tensor), tensor.dtype
                attempt(tensor.__dlpack__, dl_device=(2, 0))
                attempt(tensor.__dlpack__, max_version=3)
        attempt(self.stage.write_attribute, self.query, "a", self.ordinal, Producer(), is_array=False)
        attempt(self.stage.write_attribute, self.query, "a", self.ordinal, Table(), is_array=False)
        attempt(self.stage.write_attribute, self.query, "a", self.ordinal, Broken(), is_array=False)
        attempt(self.stage.write_attribute, self.query, "a", self.ordinal, 3, is_array=False)
        attempt(ovstage.make_dltensor, buffer, float3, shape=[3])


stage = Stage()
for i in range(200):
    stage.frame()
gc.collect()
before = sys.gettotalrefcount()
for i in range(2000):
    stage.frame()
gc.collect()
more = sys.gettotalrefcount() - before
print(f"# {more} references more after 2000 frames")
sys.exit(abs(more) > 200)
EOT
check "no reference is lost or left" "$debug" "$TMPDIR/references.py"
plan
