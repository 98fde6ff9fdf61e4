# A simulation that publishes what it moves, and two consumers that never make it wait: MuJoCo steps a few hundred
# bodies; a Warp kernel measures how far each has travelled; a logger keeps frames with numpy. Both look at the
# stage's own memory. What they found is compared with MuJoCo's arrays at the end.
#
# Needs mujoco and warp-lang from PyPI.  Run: python3 mujoco-stage.py
# Prints:  300 bodies, 150 steps
#          logged 15 frames of 300 positions, quaternions and contacts
#          they are MuJoCo's own: True
#          the kernel's distances are those of numpy: True
#          bodies that touch something at the end: <N>
import mujoco
import numpy as np
import warp

import ovstage
from ovstage import AttributeSemantic, OrdinalRange, WriteDesc

N_BODIES, N_STEPS, LOG_EVERY = 300, 150, 10

warp.config.log_level = warp.LOG_ERROR


def make_model():
    """Spheres, boxes and capsules, piled up above a floor."""
    shapes = ("sphere", "box", "capsule")
    bodies = "".join(
        f'<body name="body{i}" pos="{i % 7 * 0.3} {i // 7 % 7 * 0.3} {0.2 + i // 49 * 0.3}">'
        f'<freejoint/><geom type="{shapes[i % 3]}" size="0.1 0.1 0.1"/></body>'
        for i in range(N_BODIES)
    )
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="0.005"/><worldbody><geom type="plane" size="0 0 1"/>{bodies}</worldbody></mujoco>'
    )


def sort_contacts(model, data, ids):
    """The contacts of each body: how many there are, and as rows of different lengths where, and with which prim."""
    bodies = model.geom_bodyid[data.contact.geom]
    body, partner = bodies.ravel(), bodies[:, ::-1].ravel()
    counts = np.bincount(body, minlength=model.nbody)
    # Both sides of each contact, body by body. Body 0 is the world, which is no prim of the query.
    order = np.argsort(body, kind="stable")[counts[0] :]
    counts, ends = counts[1:].astype(np.int32), np.cumsum(counts[1:-1])
    points = np.split(np.repeat(data.contact.pos, 2, axis=0)[order], ends)
    return counts, [ovstage.make_dltensor(row, "float64x3") for row in points], np.split(ids[partner[order]], ends)


def list_contacts(model, data, ids):
    """The same the plain way, for the comparison."""
    rows = [[] for _ in range(model.nbody)]
    for contact in data.contact:
        first, second = model.geom_bodyid[contact.geom]
        rows[first].append((contact.pos.tolist(), int(ids[second])))
        rows[second].append((contact.pos.tolist(), int(ids[first])))
    return rows[1:]


@warp.kernel
def travel(before: warp.array(dtype=warp.vec3d), now: warp.array(dtype=warp.vec3d), distance: warp.array(dtype=warp.float64)):
    i = warp.tid()
    distance[i] += warp.length(now[i] - before[i])


class Traveller:
    """The Warp consumer. It holds the positions of the frame before, which the stage goes on around."""

    def __init__(self, stage, query):
        self.stage = stage
        self.query = query
        self.before = None
        self.distance = warp.zeros(N_BODIES, dtype=warp.float64, device="cpu")

    def __call__(self):
        with self.stage.read_attributes(self.query, ["position"], OrdinalRange.newest()) as read:
            for group in read.groups():
                now = warp.from_dlpack(group.dlpack(0), dtype=warp.vec3d)
                if self.before is not None:
                    warp.launch(travel, dim=N_BODIES, inputs=[self.before, now, self.distance], device="cpu")
                self.before = now


class Logger:
    """The numpy consumer. A view of sealed values never changes: it is kept as it is, without a copy."""

    def __init__(self, stage, query):
        self.stage = stage
        self.query = query
        self.frames = []
        self.contacts = []

    def __call__(self):
        with self.stage.read_attributes(self.query, ["position", "rotation", "contacts"], OrdinalRange.newest()) as read:
            self.frames.append([np.from_dlpack(group.dlpack(0)) for group in read.groups()])
        # The rows of a body are one behind another in the values: those from offsets[i] to offsets[i + 1] are its own.
        with self.stage.read_attributes(self.query, ["contact points", "touches"], OrdinalRange.newest()) as read:
            self.contacts.append([(np.from_dlpack(group.values), group.offsets) for group in read.groups()])


def main():
    model = make_model()
    data = mujoco.MjData(model)
    positions, rotations = data.xpos[1:], data.xquat[1:]
    own, own_contacts = [], []  # what MuJoCo's arrays were, for the comparison

    with ovstage.Stage("mujoco") as stage, ovstage.PathDictionary(stage) as paths:
        names = [f"/World/{model.body(i + 1).name}" for i in range(N_BODIES)]
        prims = paths.create_path_list_from_strings(names)
        ids = np.array([paths.intern_path(name) for name in ["/World", *names]], np.uint64)
        with stage.query_from_path_list(prims) as query:
            traveller, logger = Traveller(stage, query), Logger(stage, query)
            print(f"{N_BODIES} bodies, {N_STEPS} steps")
            for step in range(1, N_STEPS + 1):
                mujoco.mj_step(model, data)
                contacts, points, touches = sort_contacts(model, data, ids)
                # MuJoCo steps on in the memory of the first two, so they are copied; the others are handed over.
                stage.write_attributes(
                    query,
                    [
                        WriteDesc("position", positions, False, semantic=AttributeSemantic.POINT),
                        WriteDesc("rotation", rotations, False, semantic=AttributeSemantic.QUATERNION),
                        WriteDesc("contacts", contacts, False, transfer=True),
                        WriteDesc("contact points", points, True, semantic=AttributeSemantic.POINT, transfer=True),
                        WriteDesc("touches", touches, True, semantic=AttributeSemantic.RELATIONSHIP_PATH_ID, transfer=True),
                    ],
                    ordinal=step,
                ).wait()
                stage.advance_write_floor(step).wait()
                own.append([positions.copy(), rotations.copy(), contacts.copy()])

                traveller()
                if step % LOG_EVERY == 0:
                    logger()
                    own_contacts.append(list_contacts(model, data, ids))

    print(f"logged {len(logger.frames)} frames of {N_BODIES} positions, quaternions and contacts")
    same = all(
        np.array_equal(logged, expected)
        for frame, step in zip(logger.frames, own[LOG_EVERY - 1 :: LOG_EVERY])
        for logged, expected in zip(frame, step)
    )
    for ((points, starts), (touches, _)), expected in zip(logger.contacts, own_contacts):
        rows = [slice(starts[i], starts[i + 1]) for i in range(N_BODIES)]
        same = same and expected == [list(zip(points[row].tolist(), touches[row].tolist())) for row in rows]
    print("they are MuJoCo's own:", same)
    path = np.array([step[0] for step in own])
    distance = np.linalg.norm(np.diff(path, axis=0), axis=2).sum(axis=0)
    print("the kernel's distances are those of numpy:", np.allclose(traveller.distance.numpy(), distance))
    print("bodies that touch something at the end:", np.count_nonzero(own[-1][2]))


main()
