"""Starts the Rust kernel in a build folder that no other kernel uses.

Jupyter runs: python launch.py KERNEL LOCKFILE CONNECTION_FILE

The kernel compiles each cell, and the crates that a notebook loads, in a folder of its own. A folder
that is kept spares the crates' compilation the next time; two kernels in one would destroy each other's
work. So there are numbered folders, and a kernel takes the first that is free.
"""

import glob
import os
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def copy_crates(folder):
    """Copies what the first folder has compiled, unless cargo is at work there."""
    import fcntl

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
    try:
        import fcntl
    except ImportError:  # not on Windows: a new folder for each kernel
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


def main():
    kernel, lockfile, connection = sys.argv[1:4]
    folder = take_folder()
    # The same versions of all crates as the course itself, and no search for newer ones.
    if os.path.exists(lockfile):
        shutil.copyfile(lockfile, os.path.join(folder, "Cargo.lock"))
    for code in glob.glob(os.path.join(folder, "target", "*", "debug", "*code_*")):
        os.remove(code)  # what an earlier notebook's cells were compiled to
    os.environ["EVCXR_TMPDIR"] = folder
    os.dup2(2, 1)  # who starts the kernel may use standard output for something else
    os.execv(kernel, [kernel, "--control_file", connection])


main()
