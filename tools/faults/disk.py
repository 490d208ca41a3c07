"""A disk that runs full: a small tmpfs where this process may mount one."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from contextlib import suppress
from functools import cache
from pathlib import Path

NEW_MOUNTS = 0x00020000
"""CLONE_NEWNS of Linux: mounts of this process and its children are seen by nobody else, and are
gone when the last of them ends, however it ends."""
ROOMY = 1 << 30
"""Bytes of a disk that is not full."""


@cache
def can_mount() -> bool:
    """Whether this process may mount disks of its own. From then on, its mounts are private."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0 or shutil.which("mount") is None:
        return False
    try:
        library = ctypes.CDLL(None, use_errno=True)
        return library.unshare(NEW_MOUNTS) == 0 and _mount("--make-rprivate", "/")
    except (OSError, AttributeError):  # another system
        return False


class SmallDisk:
    """A disk in memory that holds a copy of a folder.

    Parameters
    ----------
    inputs
        What is copied to it.
    place
        Where it is mounted; made anew.

    Raises
    ------
    OSError
        If it cannot be mounted.
    """

    def __init__(self, inputs: Path, place: Path) -> None:
        self.place = place
        place.mkdir()
        if not _mount("-t", "tmpfs", "-o", f"size={ROOMY}", "tmpfs", str(place)):
            raise OSError(f"no tmpfs can be mounted at {place}")
        shutil.copytree(inputs, place, dirs_exist_ok=True)

    def leave(self, size: int) -> None:
        """Leave room for so many bytes more, rounded up to whole pages of memory."""
        now = os.statvfs(self.place)
        self._resize((now.f_blocks - now.f_bfree) * now.f_frsize + size)

    def widen(self) -> None:
        """Leave room for everything."""
        self._resize(ROOMY)

    def _resize(self, size: int) -> None:
        if not _mount("-o", f"remount,size={size}", str(self.place)):
            raise OSError(f"the tmpfs at {self.place} cannot be made {size} bytes large")

    def remove(self) -> None:
        """Unmount it."""
        subprocess.run(["umount", "-l", str(self.place)], check=False, capture_output=True)
        with suppress(OSError):
            self.place.rmdir()


def _mount(*arguments: str) -> bool:
    return subprocess.run(["mount", *arguments], check=False, capture_output=True).returncode == 0
