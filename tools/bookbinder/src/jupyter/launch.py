"""Starts the Rust kernel in a build folder that no other kernel uses, and stands between it and Jupyter.

Jupyter runs: python launch.py KERNEL LOCKFILE CONNECTION_FILE

The kernel compiles each cell, and the crates that a notebook loads, in a folder of its own. A folder
that is kept spares the crates' compilation the next time; two kernels in one would destroy each other's
work. So there are numbered folders, and a kernel takes the first that is free.

The kernel calls a cell that panics or ends at a `?` a success, and may say that it is done before the last
of its error stream. Here both become errors with the line of the cell, and Jupyter hears of a cell's end when
all that it printed is there. The kernel lives no longer than the program that started this one.
"""

import glob
import hashlib
import hmac
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
import uuid

import zmq

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

HERE = os.path.dirname(os.path.abspath(__file__))
DELIMITER = b"<IDS|MSG>"
# What prelude.rs lets a cell say that ends at a `?` or panics, and the last line of its error stream then.
FAILED = "application/x-throughput-failed"
END = "THROUGHPUT_END\n"
PANIC = re.compile(r"thread '.*' (?:\(\d+\) )?panicked at (.*?):(\d+):\d+:$")
MOST_LINES = 10_000
KEPT = "Functions, types and `use` are kept, variables are not: Run → Run All Above Selected Cell."
TIMES = {"quiet": 0.03, "join": 0.1, "mark": 5.0, "look": 0.2}  # in seconds


def copy_crates(folder):
    """Copies what the first folder has compiled, unless cargo is at work there."""
    first = os.path.join(HERE, "slots", "0", "target")
    locks = glob.glob(os.path.join(first, "*", "debug", ".cargo-lock"))
    if os.path.exists(os.path.join(folder, "target")) or not locks:
        return
    copy = os.path.join(folder, "target.part")
    shutil.rmtree(copy, ignore_errors=True)
    files = [open(lock) for lock in locks]
    try:
        for file in files:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        shutil.copytree(first, copy, symlinks=True)  # with the times by which cargo judges
        os.rename(copy, os.path.join(folder, "target"))
    except OSError:  # cargo is at work, or the disk is full: then this kernel compiles for itself
        shutil.rmtree(copy, ignore_errors=True)
    finally:
        for file in files:
            file.close()


def take_folder():
    """The path of a build folder that is locked until the kernel's processes have ended."""
    if not fcntl:
        return tempfile.mkdtemp(prefix="rust-kernel-")
    for number in range(64):
        folder = os.path.join(HERE, "slots", str(number))
        os.makedirs(folder, exist_ok=True)
        lock = os.open(os.path.join(folder, "lock"), os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            continue
        copy_crates(folder)
        os.set_inheritable(lock, True)  # the kernel inherits the lock and keeps it as long as it lives
        return folder
    sys.exit("64 Rust kernels are running; shut some of them down")


class Message:
    """A message of Jupyter's protocol: to whom it goes, and its four parts."""

    def __init__(self, to, header, parent, metadata, content, rest=()):
        self.to, self.rest = to, list(rest)
        self.header, self.parent, self.metadata, self.content = header, parent, metadata, content
        self.kind = header["msg_type"]

    @classmethod
    def read(cls, frames, key):
        """None if it is no message or signed with another key."""
        at = frames.index(DELIMITER) if DELIMITER in frames else len(frames)
        if len(frames) < at + 6 or not hmac.compare_digest(sign(frames[at + 2 : at + 6], key), frames[at + 1]):
            return None
        return cls(frames[:at], *map(json.loads, frames[at + 2 : at + 6]), frames[at + 6 :])

    def frames(self, key):
        parts = (self.header, self.parent, self.metadata, self.content)
        parts = [json.dumps(part).encode() for part in parts]
        return [*self.to, DELIMITER, sign(parts, key), *parts, *self.rest]

    def child(self, kind, content, to=()):
        """A message that says what came of this one."""
        header = {**self.header, "msg_type": kind, "msg_id": uuid.uuid4().hex, "username": "kernel"}
        header["date"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        return Message(list(to), header, self.header, {}, content)


def sign(parts, key):
    return hmac.new(key, b"".join(parts), hashlib.sha256).hexdigest().encode() if key else b""


class Cell:
    """A cell that runs: what it has printed, and how it ended."""

    def __init__(self, request):
        self.request, self.code, self.count = request, request.content["code"], 0
        self.printed, self.stream, self.since = "", None, 0.0
        self.lines = 0
        self.panics, self.in_panic = [], None
        self.pending, self.last_error = "", ""
        self.failed, self.error, self.interrupted, self.marked = None, None, False, False
        self.reply, self.idle, self.heard = None, None, time.monotonic()


class Relay:
    def __init__(self, kernel, connection, folder, parent):
        self.folder, self.parent = folder, parent
        with open(connection) as file:
            front = json.load(file)
        self.key = front["key"].encode()
        names = ("shell", "control", "stdin", "iopub", "hb")
        inner = {**front, "transport": "tcp", "ip": "127.0.0.1"}
        inner.update(zip([f"{name}_port" for name in names], free_ports(len(names))))
        self.inner = tempfile.NamedTemporaryFile("w", prefix="rust-kernel-", suffix=".json")
        json.dump(inner, self.inner)
        self.inner.flush()
        # Standard output of who starts the kernel may be for something else.
        self.kernel = subprocess.Popen(
            [kernel, "--control_file", self.inner.name], stdout=sys.stderr, close_fds=False
        )
        self.context = zmq.Context()
        self.front, self.back, self.poller = {}, {}, zmq.Poller()
        kinds = {"iopub": (zmq.PUB, zmq.SUB), "hb": (zmq.REP, None)}
        for name in names:
            outer_kind, inner_kind = kinds.get(name, (zmq.ROUTER, zmq.DEALER))
            separator = "-" if front["transport"] == "ipc" else ":"
            outer = self.context.socket(outer_kind)
            outer.linger = 1000
            outer.bind(f"{front['transport']}://{front['ip']}{separator}{front[f'{name}_port']}")
            self.front[name] = outer
            if name != "iopub":
                self.poller.register(outer, zmq.POLLIN)
            if inner_kind:
                back = self.context.socket(inner_kind)
                back.linger = 0
                back.hwm = 0
                back.identity = b"relay"  # the kernel asks on `stdin` whom it heard on `shell`
                if name == "iopub":
                    back.subscribe(b"")
                back.connect(f"tcp://127.0.0.1:{inner[f'{name}_port']}")
                self.back[name] = back
                self.poller.register(back, zmq.POLLIN)
        self.waiting, self.cell, self.history = [], None, []

    def run(self):
        """Until the kernel ends, or the program that started this one."""
        while self.kernel.poll() is None and os.getppid() == self.parent:
            busy = self.cell and (self.cell.reply or self.cell.printed)
            self.hear(TIMES["quiet"] if busy else TIMES["look"])
        self.hear(TIMES["quiet"])
        if self.cell:
            self.flush()
        self.inner.close()
        self.context.destroy(linger=1000)

    def hear(self, seconds):
        ready = [sock for sock, _ in self.poller.poll(int(1000 * seconds))]
        # An interrupt means what ran when it was sent, not what comes with it.
        for sock in sorted(ready, key=lambda sock: sock is not self.front["control"]):
            if sock is self.front["hb"]:
                sock.send_multipart(sock.recv_multipart())
                continue
            side = self.front if sock in self.front.values() else self.back
            name = next(name for name in side if side[name] is sock)
            for _ in range(1000):  # then the others have their turn
                try:
                    frames = sock.recv_multipart(zmq.NOBLOCK)
                except zmq.Again:
                    break
                if self.cell and self.cell.lines > MOST_LINES and b'"name":"stdout"' in frames[-1]:
                    self.cell.lines += 1  # the shortest way: there may be millions
                    self.cell.heard = time.monotonic()
                elif message := Message.read(frames, self.key):
                    self.of_jupyter(name, message) if side is self.front else self.of_kernel(name, message)
        if self.cell:
            self.look_at(self.cell)
        if not self.cell and self.waiting:
            request = self.waiting.pop(0)
            self.cell = Cell(request)
            self.send(self.back["shell"], request)

    def send(self, sock, message):
        sock.send_multipart(message.frames(self.key))

    def tell(self, kind, content):
        """Tells Jupyter something of the cell that runs."""
        self.send(self.front["iopub"], self.cell.request.child(kind, content))

    def of_jupyter(self, name, message):
        if message.kind == "execute_request":
            self.waiting.append(message)
        elif message.kind == "interrupt_request" and not self.cell:
            # The kernel would end the process with all variables, and no cell runs that could be stopped.
            self.send(self.front[name], message.child("interrupt_reply", {"status": "ok"}, message.to))
        else:
            if message.kind == "interrupt_request":
                self.cell.interrupted = True
            self.send(self.back[name], message)

    def of_kernel(self, name, message):
        cell, content = self.cell, message.content
        if "execution_count" in content:
            content["execution_count"] -= 1  # the kernel's first is 2
        if not cell or message.parent.get("msg_id") != cell.request.header["msg_id"]:
            self.send(self.front[name], message)
            return
        cell.heard = time.monotonic()
        cell.count = content.get("execution_count", cell.count)
        if message.kind == "execute_reply":
            cell.reply = message
            self.history.append((cell.count, cell.code))
        elif message.kind == "status" and content["execution_state"] == "idle":
            cell.idle = message
        elif message.kind == "stream":
            self.print(content["name"], content["text"])
        elif message.kind == "error":
            self.error(message)
        elif message.kind == "execute_result" and FAILED in content["data"]:
            cell.failed = content["data"][FAILED]
        elif content.get("data") != {"text/plain": "()"}:  # the value of a loop is nothing to show
            self.flush()
            self.send(self.front[name], message)

    def print(self, stream, line):
        """A line that the cell printed. What a panic says is kept for its error, without the stack."""
        cell = self.cell
        if stream != "stderr":
            self.show(stream, line)
        elif line == END:
            cell.marked = True
        elif panic := PANIC.match(line.rstrip()):
            if cell.pending == "\n":
                cell.pending = ""  # a panic's message begins with an empty line
            cell.in_panic = "message"
            cell.panics.append([self.place(panic[1], panic[2]), ""])
        elif cell.in_panic and line.startswith(("stack backtrace:", "note: ")):
            cell.in_panic = "stack"
        elif cell.in_panic == "message":
            cell.panics[-1][1] += line
        elif not (cell.in_panic and line.startswith(" ")):
            cell.in_panic = None
            self.release()
            cell.pending, cell.since = line, time.monotonic()  # it may be the message of a `?`
            if not cell.marked:
                cell.last_error = line

    def release(self):
        if self.cell.pending:
            self.show("stderr", self.cell.pending)
        self.cell.pending = ""

    def show(self, stream, text):
        cell = self.cell
        cell.lines += 1
        if cell.lines > MOST_LINES:
            return
        if stream != cell.stream or time.monotonic() - cell.since > TIMES["join"]:
            self.flush()
        cell.stream = stream
        cell.printed += text

    def flush(self):
        cell = self.cell
        cell.since = time.monotonic()
        if cell.printed:
            self.tell("stream", {"name": cell.stream, "text": cell.printed})
        cell.printed = ""

    def ends(self):
        """Where the cell may have ended at a `?`: the kernel tells no line."""
        code = re.sub(r'//.*|"(?:\\.|[^"\\])*"|\'\?\'', lambda part: "\n" * part[0].count("\n"), self.cell.code)
        lines = [at for at, line in enumerate(code.splitlines(), 1) if re.search(r"\?(?!\s*\w)", line)]
        if len(lines) == 1:
            return f"line {lines[0]}: {self.cell.code.splitlines()[lines[0] - 1].strip()}"
        return "line " + " or ".join(map(str, lines)) if lines else ""

    def place(self, file, number):
        """`cell [3], line 2: …` for a line of what the kernel compiled, if a cell has it."""
        if file != "src/lib.rs":
            return f"{file}:{number}"
        try:
            with open(os.path.join(self.folder, file), errors="replace") as source:
                text = source.read().splitlines()[int(number) - 1].strip()
        except (OSError, IndexError):
            return ""
        for count, code in [(None, self.cell.code), *reversed(self.history)]:
            for at, line in reversed(list(enumerate(code.splitlines(), 1))):
                if line.strip() == text != "":
                    return ("" if count is None else f"cell [{count}], ") + f"line {at}: {text}"
        return ""

    def error(self, message):
        """An error that the kernel tells: of the compiler, or that the cell's process has ended."""
        said, ended, status = message.content["evalue"].rpartition("Subprocess terminated with status: ")
        if ended:
            for line in said.splitlines(True):
                self.print("stdout", line)
            self.fail("Ended", f"The process that runs the cells has ended ({status.strip()}). {KEPT}")
        else:
            # The kernel's own name for the cell, and the first line and column for all.
            number = self.cell.count
            lines = [re.sub(r"\bcommand_\d+:\d+:\d+", f"cell [{number}]", line) for line in message.content["traceback"]]
            self.fail(message.content["ename"], message.content["evalue"], lines)

    def fail(self, name, what, lines=None):
        self.flush()
        error = {"ename": name, "evalue": what, "traceback": lines or [f"{name}: {what}"]}
        self.cell.error = self.cell.error or error
        if not self.cell.interrupted:
            self.tell("error", error)

    def look_at(self, cell):
        """Ends the cell if the kernel is done with it and all that it printed is here."""
        now = time.monotonic()
        if (cell.printed or cell.pending) and now - cell.since > TIMES["join"]:
            self.release()
            self.flush()
        patience = TIMES["mark"] if cell.failed is not None and not cell.marked else TIMES["quiet"]
        if not (cell.reply and cell.idle) or now - cell.heard < patience:
            return
        ends = [("Panic", *cell.panics.pop())] if cell.failed == "panic" and cell.panics else []
        if cell.failed == "?" and cell.pending in ("", cell.last_error):
            ends, cell.pending = [("Error", self.ends(), cell.last_error)], ""
        for place, text in cell.panics:
            self.show("stderr", f"a thread panicked, {place}\n{text}")
        self.release()
        self.flush()
        if cell.lines > MOST_LINES:
            more = f"… {cell.lines - MOST_LINES:,} more lines are not shown.\n"
            self.tell("stream", {"name": "stderr", "text": more})
        if cell.interrupted:
            cell.error, cell.interrupted = None, False
            self.fail("Stopped", f"The cell was stopped. {KEPT}")
        elif cell.failed is not None:
            name, place, text = ends[0] if ends else ("Error", "", "it failed")
            lines = [f"{name}: {text.strip()}", *([f"  {place}"] if place else [])]
            gone = "What this cell has defined by `let` is gone; all before it is kept."
            self.fail(name, text.strip(), [*lines, gone])
        if cell.error:
            cell.reply.content.update(cell.error, status="error")
        self.send(self.front["shell"], cell.reply)
        self.send(self.front["iopub"], cell.idle)
        if cell.error and cell.request.content.get("stop_on_error", True):
            self.skip()
        self.cell = None

    def skip(self):
        """What waits behind a cell that failed does not run."""
        for request in self.waiting:
            self.send(self.front["iopub"], request.child("status", {"execution_state": "busy"}))
            self.send(self.front["shell"], request.child("execute_reply", {"status": "aborted"}, request.to))
            self.send(self.front["iopub"], request.child("status", {"execution_state": "idle"}))
        self.waiting = []


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for sock in sockets:
        sock.bind(("127.0.0.1", 0))
    ports = [sock.getsockname()[1] for sock in sockets]
    for sock in sockets:
        sock.close()
    return ports


def main():
    kernel, lockfile, connection = sys.argv[1:4]
    parent = os.getppid()
    if hasattr(os, "setpgid") and os.getpgrp() != os.getpid():
        os.setpgid(0, 0)  # so that what the kernel starts can be ended with it
    folder = take_folder()
    # The same versions of all crates as the course itself, and no search for newer ones.
    if os.path.exists(lockfile):
        shutil.copyfile(lockfile, os.path.join(folder, "Cargo.lock"))
    for code in glob.glob(os.path.join(folder, "target", "*", "debug", "*code_*")):
        os.remove(code)  # what an earlier notebook's cells were compiled to
    os.environ["EVCXR_TMPDIR"] = folder
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), lambda *_: sys.exit(143))
    try:
        Relay(kernel, connection, folder, parent).run()
    except Exception:
        traceback.print_exc()
    finally:
        # With the kernel ends what it has started: the cells, cargo.
        os.killpg(0, signal.SIGKILL) if hasattr(os, "killpg") else os._exit(1)


main()
