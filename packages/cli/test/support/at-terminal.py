"""Runs a program in a terminal of its own, and does something when something is shown.

Usage: at-terminal.py JSON-STEPS PROGRAM [ARGUMENT...]
Steps are done one after the other: {"shown": PATTERN, "columns": N} resizes the terminal, and
{"shown": PATTERN, "type": TEXT} types; each as soon as the pattern is on what came since the last.
The terminal begins with 80 columns. Prints what came, and exits as the program did.
"""

import fcntl
import json
import os
import pty
import re
import select
import struct
import sys
import termios
import time

steps = json.loads(sys.argv[1])
pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    os.execvp(sys.argv[2], sys.argv[2:])

screen = b""
looked_at = 0
deadline = time.monotonic() + 30
while time.monotonic() < deadline:
    if not select.select([terminal], [], [], 0.1)[0]:
        continue
    try:
        shown = os.read(terminal, 65536)
    except OSError:  # how Linux reports that the program closed the terminal
        break
    if not shown:
        break
    screen += shown
    if steps and re.search(steps[0]["shown"].encode(), screen[looked_at:]):
        step = steps.pop(0)
        looked_at = len(screen)
        if "columns" in step:
            fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, step["columns"], 0, 0))
        else:
            os.write(terminal, step["type"].encode())
else:
    os.kill(pid, 9)

sys.stdout.buffer.write(screen)
sys.stdout.flush()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
