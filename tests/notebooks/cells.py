"""Cells that fail look failed: each runs in the Rust kernel of a set-up, as Jupyter runs it.

Run: FOLDER/venv/bin/python tests/notebooks/cells.py FOLDER, with the folder that `notebooks setup` made.
"""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time

import nbformat
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

FOLDER = os.path.abspath(sys.argv[1])
for name, below in (("JUPYTER_PATH", "share/jupyter"), ("EVCXR_CONFIG_DIR", "evcxr"), ("JUPYTER_RUNTIME_DIR", "runtime")):
    os.environ[name] = os.path.join(FOLDER, below)
LIMIT = 300
failures = 0


def check(name, holds, seen):
    global failures
    failures += not holds
    print(f"{'ok' if holds else 'FAILED'}: {name}" + ("" if holds else f"\n{seen}"), flush=True)


class Kernel:
    """A kernel, and what comes of cells in it."""

    def __init__(self):
        self.manager = KernelManager(kernel_name="rust")
        self.manager.start_kernel()
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=LIMIT)

    def send(self, code):
        return self.client.execute(code)

    def heard(self, sent):
        """The reply, and all that is published until `idle`, and not a word later."""
        printed, outputs = "", []
        while True:
            message = self.client.get_iopub_msg(timeout=LIMIT)
            kind, content = message["msg_type"], message["content"]
            if message["parent_header"].get("msg_id") != sent:
                continue
            outputs.append(message)
            if kind == "stream":
                printed += content["text"]
            elif kind == "error":
                printed += "\n".join(content["traceback"]) + "\n"
            elif kind == "status" and content["execution_state"] == "idle":
                break
        while True:
            reply = self.client.get_shell_msg(timeout=LIMIT)
            if reply["parent_header"]["msg_id"] == sent:
                return reply["content"], printed, outputs

    def run(self, code):
        return self.heard(self.send(code))

    def interrupt(self):
        self.manager.interrupt_kernel()

    def late(self):
        """What is still published in half a second."""
        try:
            return self.client.get_iopub_msg(timeout=0.5)
        except queue.Empty:
            return None


def fails(kernel, name, code, *says):
    reply, printed, _ = kernel.run(code)
    late = kernel.late()
    holds = reply["status"] == "error" and all(part in printed for part in says) and not late
    check(name, holds, f"{reply}\n{printed}\nlate: {late}")
    return printed


def cells(kernel):
    reply, printed, outputs = kernel.run("let kept = 42;\nprintln!(\"a\");\neprintln!(\"b\");\nkept")
    values = [m["content"]["data"] for m in outputs if m["msg_type"] == "execute_result"]
    check("a cell that works", reply["status"] == "ok" and sorted(printed.split()) == ["a", "b"] and values, f"{reply} {printed}")
    for _ in range(8):
        fails(kernel, "it prints and ends at a `?`", 'println!("a");\nstd::fs::read("/nope")?;', "a\n", "No such file", "line 2: std::fs::read")
    fails(kernel, "a `?` alone", 'std::fs::read("/nope")?;', "No such file", "line 1: std::fs::read")
    two = 'let text = std::fs::read("/dev/null")?;\nlet number: u8 = "x".parse()?;\nlet more = std::fs::read("/nope")?;'
    fails(kernel, "the second of three `?`", two, "invalid digit", "line 1 or 2 or 3")
    printed = fails(kernel, "a panic", 'println!("a");\nlet v = vec![1];\nlet i = kept as usize;\nlet x = v[i];', "index out of bounds", "line 4: let x")
    check("a panic without a stack", "backtrace" not in printed and "lib.rs" not in printed, printed)
    kernel.run("fn inner(text: &str) -> u8 {\n    text.parse().unwrap()\n}")
    fails(kernel, "a panic in an earlier cell's function", 'inner("x");', "ParseIntError", "line 2: text.parse()", "cell [")
    fails(kernel, "an error that does not compile", 'let x: u8 = "";', "mismatched types")
    reply, printed, _ = kernel.run('{\n    let caught = std::thread::spawn(|| panic!("there")).join();\n    println!("{}", caught.is_err());\n}')
    check("a panic that is caught is none of the cell's", reply["status"] == "ok" and "true" in printed and "there" in printed, f"{reply}\n{printed}")
    reply, printed, _ = kernel.run("println!(\"{kept}\");")
    check("what was there is there", reply["status"] == "ok" and printed == "42\n", f"{reply}\n{printed}")
    fails(kernel, "the process ends", "std::process::exit(3);", "exit status: 3", "variables are not")


def one_after_the_other(kernel):
    sent = [kernel.send(code) for code in ('println!("a");\nstd::fs::read("/nope")?;', 'println!("never");')]
    first, second = kernel.heard(sent[0]), kernel.heard(sent[1])
    check("a cell behind one that fails", (first[0]["status"], second[0]["status"], second[1]) == ("error", "aborted", ""), f"{first}\n{second}")


def interrupts(kernel):
    kernel.run("fn twice(x: u8) -> u8 {\n    2 * x\n}\nlet lost = 1;")
    sent = kernel.send('println!("on");\nloop {\n    std::thread::sleep(std::time::Duration::from_millis(10));\n}')
    threading.Timer(3, kernel.interrupt).start()
    reply, printed, _ = kernel.heard(sent)
    check("an interrupt", reply["status"] == "error" and "was stopped" in printed and "variables are not" in printed, f"{reply}\n{printed}")
    reply, printed, _ = kernel.run("let held = twice(21);\nprintln!(\"{held}\");")
    check("functions are kept", reply["status"] == "ok" and printed == "42\n", f"{reply}\n{printed}")
    kernel.interrupt()
    time.sleep(0.5)
    reply, printed, _ = kernel.run("println!(\"{held}\");")
    check("an interrupt when nothing runs", reply["status"] == "ok" and printed == "42\n", f"{reply}\n{printed}")


def many_lines(kernel):
    began = time.monotonic()
    reply, printed, outputs = kernel.run("for i in 0..1_000_000 {\n    println!(\"{i}\");\n}")
    seconds = time.monotonic() - began
    lines = printed.splitlines()
    holds = reply["status"] == "ok" and lines[:9_999] == [str(i) for i in range(9_999)] and len(lines) < 10_010
    check(f"a million lines, {len(outputs)} messages, {seconds:.0f} s", holds and len(outputs) < 2_000 and "990,000 more lines" in printed, f"{reply}\n{lines[-3:]}")


def run_all():
    notebook = nbformat.v4.new_notebook(cells=[
        nbformat.v4.new_code_cell(code) for code in ('println!("a");\nstd::fs::read("/nope")?;', 'println!("never");')
    ])
    client = NotebookClient(notebook, kernel_name="rust", timeout=LIMIT, allow_errors=False)
    try:
        client.execute()
        stopped = False
    except CellExecutionError as error:
        stopped = "No such file" in str(error)
    check("a notebook stops at the cell that fails", stopped and not notebook.cells[1].outputs, notebook)


def parent(pid):
    return subprocess.run(["ps", "-o", "ppid=", "-p", pid], capture_output=True, text=True).stdout.strip()


def nothing_remains():
    """Whatever ends `notebooks run` or the program that it starts, the kernel and its cell end too."""
    codes = ('println!("{}", std::process::id());', "loop { std::hint::black_box(1); }")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code) for code in codes])
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # below nohup the programs would ignore it, and be waited for
    for way in ("SIGINT", "SIGTERM", "SIGHUP", "SIGKILL", "the end of the input"):
        command = [sys.executable, os.path.join(FOLDER, "execute.py"), ".", str(LIMIT)]
        program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        print(json.dumps(notebook), file=program.stdin, flush=True)
        event = {}
        while event.get("event") != "end":
            event = json.loads(program.stdout.readline())
        pids = [event["outputs"][0]["text"].strip()]
        while parent(pids[-1]) != str(program.pid):
            pids.append(parent(pids[-1]))
        print("go", file=program.stdin, flush=True)
        program.stdout.readline()
        time.sleep(2)
        program.stdin.close() if way not in signal.Signals.__members__ else program.send_signal(getattr(signal, way))
        program.wait()
        deadline = time.monotonic() + 10
        while (alive := [pid for pid in pids if parent(pid)]) and time.monotonic() < deadline:
            time.sleep(0.1)
        check(f"nothing remains after {way}", len(pids) == 3 and not alive, (pids, alive))


def main():
    kernel = Kernel()
    try:
        for tried in (cells, one_after_the_other, interrupts, many_lines):
            tried(kernel)
    finally:
        kernel.client.stop_channels()
        kernel.manager.shutdown_kernel()
    run_all()
    nothing_remains()
    sys.exit(f"{failures} failed" if failures else 0)


main()
