"""MNIST's four files, plain or gzip, as arrays: pixels from 0 to 1, a row per image."""

import gzip
import os

import numpy


def read(folder, name):
    for path, opener in ((name, open), (name + ".gz", gzip.open)):
        path = os.path.join(folder, path)
        if os.path.exists(path):
            with opener(path, "rb") as file:
                return file.read()
    raise SystemExit(f"{folder} has no {name}")


def load(folder):
    def part(name):
        images = numpy.frombuffer(read(folder, f"{name}-images-idx3-ubyte"), numpy.uint8, offset=16)
        labels = numpy.frombuffer(read(folder, f"{name}-labels-idx1-ubyte"), numpy.uint8, offset=8)
        return images.reshape(len(labels), -1).astype(numpy.float32) / 255, labels.copy()

    return part("train"), part("t10k")
