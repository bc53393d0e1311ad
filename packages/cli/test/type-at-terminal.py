"""Runs a program in a terminal of its own and types a text at each prompt (": ").

Usage: type-at-terminal.py JSON-LIST PROGRAM [ARGUMENT...]
Prints what the terminal showed and exits as the program did.
"""

import json
import os
import pty
import select
import sys
import time

typed = [text.encode() for text in json.loads(sys.argv[1])]
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[2], sys.argv[2:])

screen = b""
deadline = time.monotonic() + 20
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
    if typed and screen.endswith(b": "):
        os.write(terminal, typed.pop(0))

sys.stdout.buffer.write(screen)
sys.stdout.flush()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
