#!/usr/bin/env python3
"""Reads the event files of a run, and of the run that goes on, with TensorBoard's own reader.

tensorboard.py PROGRAM VENV: the command, and a folder for a virtual environment with TensorBoard,
which is made if it is not there.
"""

import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent  # where this file's name hides the package's
PACKAGE = "tensorboard==2.21.0"
TAGS = {
    "loss/train": "train_loss",
    "loss/test": "test_loss",
    "accuracy/train": "train_accuracy",
    "accuracy/test": "test_accuracy",
    "images_per_second": "images_per_second",
}
STEPS = 5  # of an epoch: 600 images, 128 at a time
EVERY = 20  # steps between two points of loss/step


def main(program, venv):
    python = venv / "bin" / "python"
    if Path(sys.prefix).resolve() != venv.resolve():
        if not (venv / "bin" / "pip").exists():
            subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", PACKAGE], check=True)
        sys.exit(subprocess.run([python, __file__, program, venv]).returncode)

    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        train(program, run, "--limit", "600", "--epochs", "2", "--device", "cpu", "--batch", "128")
        check(run, epochs=2, files=1)
        (first,) = run.glob("events.out.tfevents.*")
        old = first.read_bytes()
        train(program, run, "--resume", "--epochs", "6", "--device", "cpu")
        check(run, epochs=6, files=1)
        # The first part's file, as a kill before its removal leaves it, with a point of steps that were lost, cut at its end.
        (second,) = run.glob("events.out.tfevents.*")
        first.write_bytes(old + second.read_bytes()[len(old) : -7])
        check(run, epochs=6, files=2)
    print("TensorBoard reads both parts of the run as one")


def train(program, run, *options):
    subprocess.run([program, "train", "--run", run, *options], check=True, stdout=subprocess.DEVNULL)


def read(run):
    sys.path[:] = [path for path in sys.path if Path(path) != HERE]
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(run))
    events.Reload()
    return events


def check(run, epochs, files):
    assert len(list(run.glob("events.out.tfevents.*"))) == files, sorted(run.iterdir())
    events = read(run)
    assert events.file_version == 2.0, events.file_version
    lines = (run / "metrics.jsonl").read_text().splitlines()
    history = [json.loads(line) for line in lines[1:]]
    assert len(history) == epochs, history
    for tag, key in TAGS.items():
        points = events.Scalars(tag)
        steps = [point.step for point in points]
        assert steps == [STEPS * (epoch + 1) for epoch in range(epochs)], (tag, steps)
        for point, epoch in zip(points, history):
            assert math.isclose(point.value, epoch[key], rel_tol=1e-6), (tag, point, epoch)
    wanted = list(range(EVERY, STEPS * epochs + 1, EVERY))
    if wanted:
        steps = [point.step for point in events.Scalars("loss/step")]
        assert steps == wanted, steps


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]))
