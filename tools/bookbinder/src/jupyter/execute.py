"""Runs a notebook's code cells in the Rust kernel, one after the other.

The notebook comes in on standard input as one line of JSON. After each cell, the line `go` asks for the
next one. The end of the input ends this program at once, also in the middle of a cell, and the kernel with it
(see launch.py). So none is left behind, whatever becomes of the program that started this one.

What happens goes out as one JSON object a line:
{"event": "kernel"} when the kernel is up, {"event": "start", "cell": 3} before a cell,
{"event": "end", "cell": 3, "seconds": 0.7, "outputs": [...]} after it, and
{"event": "dead", "cell": 3, "why": "..."} when it could not be finished.

Arguments: the folder to run in, and the seconds that a cell may take.
"""

import json
import os
import queue
import signal
import sys
import threading
import time

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellTimeoutError, DeadKernelError


def tell(**event):
    print(json.dumps(event), flush=True)


def listen(words):
    for line in sys.stdin:
        words.put(line)
    os._exit(143)


def main():
    folder, limit = sys.argv[1], int(sys.argv[2])
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    notebook = nbformat.reads(sys.stdin.readline(), as_version=4)
    nbformat.validate(notebook)
    words = queue.Queue()
    threading.Thread(target=listen, args=(words,), daemon=True).start()
    client = NotebookClient(
        notebook,
        kernel_name="rust",
        timeout=limit,
        startup_timeout=limit,
        allow_errors=True,  # the caller decides what an error means
        record_timing=False,
        resources={"metadata": {"path": folder}},
    )
    index = -1
    try:
        with client.setup_kernel():
            tell(event="kernel")
            for index, cell in enumerate(notebook.cells):
                if cell.cell_type != "code":
                    continue
                tell(event="start", cell=index)
                began = time.monotonic()
                client.execute_cell(cell, index)
                tell(event="end", cell=index, seconds=time.monotonic() - began, outputs=cell.outputs)
                if words.get() != "go\n":
                    break
    except CellTimeoutError:
        tell(event="dead", cell=index, why=f"it did not finish in {limit} s")
    except (DeadKernelError, RuntimeError) as error:
        lines = str(error).strip().splitlines()
        tell(event="dead", cell=index, why="the kernel died" + (f": {lines[-1]}" if lines else ""))
    os._exit(0)  # without waiting for what reads the input


main()
