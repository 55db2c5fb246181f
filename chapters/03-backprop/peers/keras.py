"""Keras's side of the race: the first article's example, 784-128-10, dropout 0.2, Adam, with `fit`.

The same protocol as pytorch.py. Keras computes on the backend that KERAS_BACKEND names (tensorflow, jax or
torch).

    python keras.py FOLDER_WITH_MNIST [--threads N]
"""

import argparse
import json
import os
import sys
import time

# This file's own name would hide the library.
sys.path = [path for path in sys.path if os.path.abspath(path or ".") != os.path.dirname(os.path.abspath(__file__))]
import keras  # noqa: E402

sys.path.append(os.path.dirname(os.path.abspath(__file__)))
from mnist import load  # noqa: E402


class Clock(keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.seconds = []

    def on_epoch_begin(self, epoch, logs=None):
        self.start = time.perf_counter()

    def on_epoch_end(self, epoch, logs=None):
        self.seconds.append(time.perf_counter() - self.start)


def job(data, batch, epochs, seed):
    (x, y), (test_x, test_y) = data
    keras.utils.set_random_seed(seed)
    model = keras.Sequential(
        [
            keras.Input((784,)),
            keras.layers.Dense(128, activation="relu"),
            keras.layers.Dropout(0.2),
            keras.layers.Dense(10, activation="softmax"),
        ]
    )
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    clock = Clock()
    model.fit(x, y, batch_size=batch, epochs=epochs, verbose=0, callbacks=[clock])
    accuracy = model.evaluate(test_x, test_y, verbose=0)[1]
    return clock.seconds, float(accuracy)


def set_threads(count):
    backend = keras.backend.backend()
    if backend == "tensorflow":
        import tensorflow

        tensorflow.config.threading.set_intra_op_parallelism_threads(count)
    elif backend == "torch":
        import torch

        torch.set_num_threads(count)
    else:  # JAX has no such call: it takes the machine's cores
        count = os.cpu_count()
    return count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    options = parser.parse_args()
    threads = set_threads(options.threads)
    data = load(options.data)
    name = f"Keras {keras.__version__} on {keras.backend.backend()}"
    for line in sys.stdin:
        wanted = json.loads(line)
        seconds, accuracy = job(data, wanted["batch"], wanted["epochs"], wanted["seed"])
        reply = {"seconds": seconds, "accuracy": accuracy, "framework": name, "threads": threads}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
