"""From a snapshot to a folder: section 11, "Restoring".

The target is opened once, and everything else is opened below a folder that is
open already, without following links. So whatever the tree says, nothing is
written outside.
"""

import os
import resource
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field

from .checks import require
from .content import Hole
from .entries import BLOCK, CHARACTER, DIRECTORY, FIFO, FILE, LINK, SOCKET, Entry
from .tree import Tree

SET_ID = stat.S_ISUID | stat.S_ISGID
NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass
class _Folder:
    fd: int
    entry: Entry | None  # the target itself has none


@dataclass
class Restore:
    """Restores a whole tree into a new or empty folder."""

    tree: Tree
    target: str
    as_root: bool = False  # also owners, set-id bits and devices
    left_out: list[str] = field(default_factory=list)  # what could not be restored, and why
    _stack: list[_Folder] = field(default_factory=list)
    _links: dict[int, tuple[tuple[bytes, ...], Entry]] = field(default_factory=dict)

    def run(self) -> None:
        _allow_many_files()
        os.makedirs(self.target, exist_ok=True)
        require(not os.listdir(self.target), f"{self.target} is not empty", "usage")
        self._stack = [_Folder(os.open(self.target, FOLDER & ~os.O_NOFOLLOW), None)]
        try:
            for step in self.tree.walk():
                if step.entry is None:
                    self._leave()
                else:
                    self._entry(step.entry)
        finally:
            for folder in self._stack:
                os.close(folder.fd)
            self._stack = []

    @property
    def _path(self) -> tuple[bytes, ...]:
        return tuple(folder.entry.name for folder in self._stack if folder.entry)

    def _entry(self, entry: Entry) -> None:
        if entry.type == DIRECTORY:
            self._enter(entry)
            return
        fd = self._stack[-1].fd
        if "l" in entry.extra and self._linked(entry, fd):
            return
        made = self._file(entry, fd) if entry.type == FILE else self._special(entry, fd)
        if made and "l" in entry.extra:
            self._links[entry.extra["l"]] = (*self._path, entry.name), entry

    # --- Directories: times and modes last, because what is written below changes the one
    # and may be forbidden by the other.

    def _enter(self, entry: Entry) -> None:
        parent = self._stack[-1].fd
        os.mkdir(entry.name, 0o700, dir_fd=parent)
        self._stack.append(_Folder(os.open(entry.name, FOLDER, dir_fd=parent), entry))

    def _leave(self) -> None:
        folder = self._stack.pop()
        assert folder.entry is not None
        try:
            self._attributes(folder.entry, folder.fd)
        finally:
            os.close(folder.fd)

    # --- Files ---

    def _file(self, entry: Entry, parent: int) -> bool:
        fd = os.open(entry.name, NEW_FILE, 0o600, dir_fd=parent)
        try:
            self._write(fd, self.tree.content(entry))
            os.truncate(fd, entry.size)  # a hole at the end
            self._attributes(entry, fd)
        except BaseException:
            os.unlink(entry.name, dir_fd=parent)  # nobody takes it for whole
            raise
        finally:
            os.close(fd)
        return True

    def _write(self, fd: int, parts: Iterable[bytes | Hole]) -> None:
        at = 0
        for part in parts:
            if isinstance(part, Hole):
                at += part.length
                continue
            view = memoryview(part)
            while view:
                written = os.pwrite(fd, view, at)
                at, view = at + written, view[written:]

    def _linked(self, entry: Entry, parent: int) -> bool:
        """Joins an entry to the first of its group of hard links, if that was restored."""
        if entry.extra["l"] not in self._links:
            return False
        path, first = self._links[entry.extra["l"]]
        same = (first.type, first.size, first.hash) == (entry.type, entry.size, entry.hash)
        require(same, f"the hard links {path[-1]!r} and {entry.name!r} have different contents")
        holder = self._open_folder(path[:-1])
        try:
            os.link(
                path[-1], entry.name, src_dir_fd=holder, dst_dir_fd=parent, follow_symlinks=False
            )
        finally:
            os.close(holder)
        return True

    def _open_folder(self, names: tuple[bytes, ...]) -> int:
        fd = os.dup(self._stack[0].fd)
        for name in names:
            inner = os.open(name, FOLDER, dir_fd=fd)
            os.close(fd)
            fd = inner
        return fd

    # --- The rest ---

    def _special(self, entry: Entry, parent: int) -> bool:
        kinds = {FIFO: stat.S_IFIFO, SOCKET: stat.S_IFSOCK, CHARACTER: stat.S_IFCHR,
                 BLOCK: stat.S_IFBLK}
        if entry.type == LINK:
            os.symlink(entry.content, entry.name, dir_fd=parent)
        elif entry.type in (FIFO, SOCKET):
            os.mknod(entry.name, kinds[entry.type] | 0o600, dir_fd=parent)
        elif self.as_root:
            os.mknod(
                entry.name, kinds[entry.type] | 0o600, os.makedev(*entry.content), dir_fd=parent
            )
        else:
            self._leave_out(entry, "a device: only with --as-root")
            return False
        self._named_attributes(entry, parent)
        return True

    # --- Attributes ---

    def _attributes(self, entry: Entry, fd: int) -> None:
        """Of an open file or directory: owner, then attributes, mode and time."""
        if self.as_root:
            os.chown(fd, entry.uid, entry.gid)
        for name, value in entry.extra.get("x", {}).items():
            if not self.as_root and not name.startswith("user."):
                self._leave_out(entry, f"the attribute {name!r}: only with --as-root")
                continue
            try:
                os.setxattr(fd, name.encode(), value)
            except OSError as fault:
                self._leave_out(entry, f"the attribute {name!r}: {fault.strerror}")
        os.fchmod(fd, self._mode(entry))
        self._set_time(entry, fd)

    def _named_attributes(self, entry: Entry, parent: int) -> None:
        """Of what cannot be opened: a link, fifo, socket or device."""
        if self.as_root:
            os.chown(entry.name, entry.uid, entry.gid, dir_fd=parent, follow_symlinks=False)
        if entry.type != LINK:  # the mode of a link is that of nothing
            os.chmod(entry.name, self._mode(entry), dir_fd=parent)
        self._set_time(entry, entry.name, dir_fd=parent, follow_symlinks=False)

    def _mode(self, entry: Entry) -> int:
        return entry.mode if self.as_root else entry.mode & ~SET_ID

    def _set_time(self, entry: Entry, what: int | bytes, **how) -> None:
        time = entry.seconds * 10**9 + entry.nanoseconds
        try:
            os.utime(what, ns=(time, time), **how)
        except (OverflowError, OSError) as fault:
            self._leave_out(entry, f"its time: {fault}")

    def _leave_out(self, entry: Entry, why: str) -> None:
        path = b"/".join((*self._path, entry.name)).decode("utf-8", "backslashreplace")
        self.left_out.append(f"{path}: {why}")


def _allow_many_files() -> None:
    """Each directory on the way is open, and a tree may be 4,096 deep."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = hard if hard != resource.RLIM_INFINITY else max(soft, 2**16)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
