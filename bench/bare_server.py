"""A warm Blender without a jail, for `bench/verify.py` alone: what forking gives by itself.

Runs in Blender's interpreter: ``python bare_server.py PROGRAM_FOLDER``. Each line on stdin is a script as a JSON string;
each line on stdout is its measurement, or null where it failed.
"""

import functools
import importlib
import json
import os
import sys
import tempfile


def in_child(work):
    """Runs `work` in a fork; returns what it wrote to its pipe. Its orders, the token for its end, lie there already."""
    reading, writing = os.pipe()
    orders, ours = os.pipe()
    os.write(ours, b"bare")
    if os.fork() == 0:
        os.close(reading)
        work(writing, orders)
        os._exit(1)
    for descriptor in (writing, orders, ours):
        os.close(descriptor)
    with os.fdopen(reading, "rb") as pipe:
        told = pipe.read()
    os.wait()
    return told


def main(folder):
    """Answers until stdin ends."""
    answers = os.fdopen(os.dup(1), "w")
    sys.path.insert(0, os.path.dirname(folder))
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    program = importlib.import_module(os.path.basename(folder)).load()
    os.sched_setaffinity(0, range(os.cpu_count()))
    answers.write("ready\n")
    answers.flush()
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "bare.blend")
        for line in sys.stdin:
            run = functools.partial(program.run, json.loads(line), scratch)
            told = in_child(lambda report, orders, run=run: run(report, orders, False))
            seen = b"null"
            if told.endswith(b"bare done\n"):
                seen = in_child(lambda report, _: program.measure(path, 2_000_000, report)) or b"null"
            answers.write(seen.decode() + "\n")
            answers.flush()


if __name__ == "__main__":
    main(sys.argv[1])
