"""A worker that goes wrong on demand: what a candidate's `fault` knob says, happens while it is built or run.

Started as a worker's command line by the tests; the parent's settings are its last argument.
"""

import ctypes
import os
import signal
import sys
import time
from typing import Any

from loopwright.autotune.measure import build, forking


def main() -> None:
    """The usual workers, with a broken compiler."""
    screened, finalist = build.compile_screened, build.compile_finalist
    build.compile_screened = lambda several: list(map(broken, several, screened(several)))
    build.compile_finalist = lambda lowered: broken(lowered, finalist(lowered))
    forking.main()


def broken(lowered: Any, function: Any) -> Any:
    """A candidate's function, if it comes to that, with the fault that its schedule names."""
    tile = lowered.schedule.chosen.get("fault")
    if tile == 2:
        raise RuntimeError("the compiler gave up\nand said more")
    if tile == 3:
        os.kill(os.getpid(), signal.SIGSEGV)
    if tile == 4:
        time.sleep(1000)

    def run(*arrays: Any) -> Any:
        if tile == 5:
            ctypes.string_at(0)
        if tile == 6:
            while True:
                pass
        if tile == 7:
            hoard = []
            while True:
                hoard.append(bytearray(b"x") * (16 << 20))
        result = function(*arrays)
        if tile == 8:
            arrays[-1][0, 0] += 1
        if tile == 12:
            address = arrays[-1].__array_interface__["data"][0]
            ctypes.memset(address + arrays[-1].nbytes, 1, 8)
        if tile == 9:
            os.kill(os.getpid(), signal.SIGKILL)
        if tile == 10:
            sys.stdout.write("chatter\n")
            os.write(1, b"more chatter\n")
        if tile == 11:
            raise MemoryError("no more")
        return result

    return run


if __name__ == "__main__":
    main()
