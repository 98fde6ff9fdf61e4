# A simulation that publishes what it moves, and two consumers that never make it wait: MuJoCo steps a few hundred
# bodies; a Warp kernel measures how far each has travelled; a logger keeps frames with numpy. Both look at the
# stage's own memory. What they found is compared with MuJoCo's arrays at the end.
#
# Needs mujoco and warp-lang from PyPI.  Run: python3 mujoco-stage.py
# Prints:  300 bodies, 150 steps
#          logged 15 frames of 300 positions, quaternions and contact counts
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


def count_contacts(model, data):
    """How many contacts each body has. Body 0 is the world."""
    bodies = model.geom_bodyid[data.contact.geom]
    return np.bincount(bodies.ravel(), minlength=model.nbody)[1:].astype(np.int32)


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

    def __call__(self):
        with self.stage.read_attributes(self.query, ["position", "rotation", "contacts"], OrdinalRange.newest()) as read:
            self.frames.append([np.from_dlpack(group.dlpack(0)) for group in read.groups()])


def main():
    model = make_model()
    data = mujoco.MjData(model)
    positions, rotations = data.xpos[1:], data.xquat[1:]
    own = []  # what MuJoCo's arrays were after each step, for the comparison

    with ovstage.Stage("mujoco") as stage, ovstage.PathDictionary(stage) as paths:
        prims = paths.create_path_list_from_strings([f"/World/{model.body(i + 1).name}" for i in range(N_BODIES)])
        with stage.query_from_path_list(prims) as query:
            traveller, logger = Traveller(stage, query), Logger(stage, query)
            print(f"{N_BODIES} bodies, {N_STEPS} steps")
            for step in range(1, N_STEPS + 1):
                mujoco.mj_step(model, data)
                contacts = count_contacts(model, data)
                # MuJoCo steps on in the memory of the first two, so they are copied; the last one is handed over.
                stage.write_attributes(
                    query,
                    [
                        WriteDesc("position", positions, False, semantic=AttributeSemantic.POINT),
                        WriteDesc("rotation", rotations, False, semantic=AttributeSemantic.QUATERNION),
                        WriteDesc("contacts", contacts, False, transfer=True),
                    ],
                    ordinal=step,
                ).wait()
                stage.advance_write_floor(step).wait()
                own.append([positions.copy(), rotations.copy(), contacts.copy()])

                traveller()
                if step % LOG_EVERY == 0:
                    logger()

    print(f"logged {len(logger.frames)} frames of {N_BODIES} positions, quaternions and contact counts")
    same = all(
        np.array_equal(logged, expected)
        for frame, step in zip(logger.frames, own[LOG_EVERY - 1 :: LOG_EVERY])
        for logged, expected in zip(frame, step)
    )
    print("they are MuJoCo's own:", same)
    path = np.array([step[0] for step in own])
    distance = np.linalg.norm(np.diff(path, axis=0), axis=2).sum(axis=0)
    print("the kernel's distances are those of numpy:", np.allclose(traveller.distance.numpy(), distance))
    print("bodies that touch something at the end:", np.count_nonzero(own[-1][2]))


main()
