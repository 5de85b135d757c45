"""Run a command as `nobody` if this is root: PostgreSQL refuses to run as root.

Like `faults/mortal.py`, it asks the kernel to kill it when its parent ends. It asks again because
the kernel drops that setting when a process changes its user.
"""

import os
import pwd
import sys

PR_SET_PDEATHSIG = 1
SIGKILL = 9


def main() -> None:
    """Change to the user `nobody`, and run the command in this process."""
    if os.getuid() == 0:
        import ctypes  # before the change of user: `nobody` may not have access to it

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
