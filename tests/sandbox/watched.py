"""Watches a process that runs some code until it is dead, and prints what is known of it, pickled.

A program of its own, since peak memory is inherited over a fork: what a test's process holds would count as its
child's.
"""

import os
import pickle
import subprocess
import sys
import time

from climbable.sandbox.jail import child

code, bounds, child.READY_S = pickle.load(sys.stdin.buffer)
report, theirs = os.pipe()
orders, ours = os.pipe()
code = f"import os, sys, time\nreport, orders = {theirs}, {orders}\n" + code
process = subprocess.Popen([sys.executable, "-S", "-c", code], pass_fds=(theirs, orders))
os.close(theirs)
os.close(orders)
ended = child._watch(process.pid, report, ours, bounds, started=time.monotonic(), own=0)
pickle.dump(ended, sys.stdout.buffer)
