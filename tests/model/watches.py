# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors

"""Watches: who follows what is sealed."""

from terms import *


class Watch:
    def __init__(self, prims, starts):
        self.prims = prims
        self.starts = starts  # attribute -> the first ordinal that was not told


class Watches:
    """The part of the model that tells what changed since it was asked last."""

    def watch(self, prims, attributes):
        """A code, and a watch of what is sealed from now on."""
        if UNSUPPORTED in attributes:
            return NOT_SUPPORTED, None
        return OK, Watch(prims, {attribute: self.first_to_tell(attribute) for attribute in self.selected(attributes)})

    def first_to_tell(self, attribute):
        return self.floor(attribute) + 1

    def watch_next(self, watch):
        """The groups of one read of each attribute from where it was told up to its floor: values, then what was deleted."""
        groups = []
        for attribute in self.stored(watch.starts):
            start = watch.starts[attribute]
            groups += self.read_range(watch.prims, [attribute], start, self.told_up_to(attribute), start).groups
        self.move(watch)
        return sorted(groups, key=lambda group: group.schema is None)

    def told_up_to(self, attribute):
        return self.floor(attribute)

    def move(self, watch):
        watch.starts = {attribute: self.told_up_to(attribute) + 1 for attribute in watch.starts}

    def cursor(self, watch):
        return min((start - 1 for start in watch.starts.values()), default=self.global_floor())
