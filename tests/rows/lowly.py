"""Run a command as `nobody` if this is root: PostgreSQL refuses to run as root.

It asks once more to die with its parent, as `faults/mortal.py` does: the kernel forgets that wish
when a process changes its user.
"""

import os
import pwd
import sys

PR_SET_PDEATHSIG = 1
SIGKILL = 9


def main() -> None:
    """Become nobody, then the command."""
    if os.getuid() == 0:
        import ctypes  # nobody may not be able to read it

        nobody = pwd.getpwnam("nobody")
        os.setgroups([])
        os.setgid(nobody.pw_gid)
        os.setuid(nobody.pw_uid)
        os.environ["HOME"] = "/"
        if sys.platform == "linux":
            ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, SIGKILL)
    os.execvp(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
