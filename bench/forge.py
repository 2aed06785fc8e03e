"""The start of a hostile script that speaks the jailed child's own protocol, as any script can: it then saves what it likes.

After it, `path` is where the artefact is looked for and `leave()` claims that the script ran to its end.
"""

from climbable.sandbox.jail.child import END

FORGE = f"""
import os
def write(descriptor, data):
    try: return os.write(descriptor, data)
    except OSError: return 0
report = next(n for n in range(3, 64) if write(n, {END!r}))
def read(descriptor):
    try: return os.read(descriptor, 64).decode()
    except OSError: return ''
token = next(filter(None, (read(n) for n in range(3, 64) if n != report)))
path = token + '.blend'
def leave():
    os.write(report, f'\\n{{token}} done\\n'.encode())
    os._exit(0)
"""
