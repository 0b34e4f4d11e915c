// Files: reading and writing whole ranges, names made and taken away. Every failure names the path.
#ifndef SYS_FILE_FILE_H
#define SYS_FILE_FILE_H

#include "base/buf.h"
#include "base/err.h"

// Opens for reading, close-on-exec. A directory or a FIFO is recognized by file_kind before.
MUST_CHECK weft_err file_open(const char *path, int *fd);

// Creates or truncates for reading and writing, mode 0666 less umask. This and all below that make files
// follow no link and write only into files of this user (sys/file/own.h): PERMISSION_DENIED.
MUST_CHECK weft_err file_create(const char *path, int *fd);
MUST_CHECK weft_err file_create_private(const char *path, int *fd);  // for us alone: mode 0600

// The same for a file that the user has named: it may be a link, or no file at all, but not one that another user put there.
MUST_CHECK weft_err file_create_named(const char *path, int *fd);

// Creates a file that must not be there yet: ALREADY_EXISTS.
MUST_CHECK weft_err file_create_new(const char *path, int *fd);

// Opens for reading and writing, makes it when it is missing, keeps its content.
MUST_CHECK weft_err file_open_kept(const char *path, int *fd);
MUST_CHECK weft_err file_open_private(const char *path, int *fd);  // for us alone: mode 0600

// The same for a file that must be there: NOT_FOUND.
MUST_CHECK weft_err file_open_existing(const char *path, int *fd);

// Opens past the kernel's cache, for reading and writing, and makes it when it is missing: offsets, sizes
// and addresses are multiples of FILE_BLOCK_BYTES; for us alone. With is_synced a write returns when it is on the disk.
// UNIMPLEMENTED: this file system has no such way (a few say it only at the first write, by INVALID_ARGUMENT).
enum { FILE_BLOCK_BYTES = 4096 };
MUST_CHECK weft_err file_open_direct(const char *path, bool is_synced, int *fd);

// A nameless file in `directory`, gone when closed.
MUST_CHECK weft_err file_create_nameless(const char *directory, int *fd);
void file_close(int fd);

// The same after writing: some file systems report only now that they could not keep it. -1 is fine.
MUST_CHECK weft_err file_close_checked(int fd, const char *path);

// Reads up to size bytes at offset, fewer only at the end of the file; *got says how many.
MUST_CHECK weft_err file_read_at(int fd, const char *path, void *data, size_t size, uint64_t offset,
                                 size_t *got);

// Appends the bytes after the descriptor's position, of a pipe too; no more than bytes_max.
MUST_CHECK weft_err file_read_all(int fd, const char *path, size_t bytes_max, struct buf *buf);

// Reads the bytes that are there, waiting only while there are none; *got is 0 at the end. For pipes and terminals.
// CANCELLED: see sys/thread/interrupt.h.
MUST_CHECK weft_err file_read_some(int fd, const char *path, void *data, size_t size, size_t *got);

// Writes all of it, at the offset or at the descriptor's position (pipes, terminals).
MUST_CHECK weft_err file_write_at(int fd, const char *path, const void *data, size_t size,
                                  uint64_t offset);
MUST_CHECK weft_err file_write(int fd, const char *path, const void *data, size_t size);

// Waits until FILE_ROOM_BYTES can be written at once, no longer than that (-1: forever). True: they can, or a
// write says why not. Files always have room; a pipe that others write to as well may be full again.
enum { FILE_ROOM_BYTES = 4096 };
bool file_has_room(int fd, int timeout_ms);

// The error of a write that has just failed, by errno; of a full disk with what to do about it.
weft_err file_cannot_write(const char *path);

// Cuts the file there.
MUST_CHECK weft_err file_truncate(int fd, const char *path, uint64_t size);

// Waits until the written bytes are on the disk. After a failure it is unknown which are: the kernel may
// have forgotten it, and a second try would say that all is well.
MUST_CHECK weft_err file_sync(int fd, const char *path);
// The same for the names in a directory: new files, renames.
MUST_CHECK weft_err file_sync_directory(const char *path);

// Makes the lock file if it is missing and locks it, until *fd is closed or the process ends, however
// it ends. The file holds the number of the process. UNAVAILABLE names who has it; NOT_FOUND: the one who had it
// has just removed it.
MUST_CHECK weft_err file_lock(const char *path, int *fd);
// Whether a process holds that lock now. Makes and changes nothing; a file that is missing or cannot be read is not locked.
bool file_is_locked(const char *path);

// As file_create_new, with that lock: while it is held, other processes know that the file is in use. A file system without
// locks makes it without.
MUST_CHECK weft_err file_create_held(const char *path, int *fd);
// The same for a file that is open; false: it could not be locked.
bool file_hold(int fd);
// Whether the program that held the file has ended. False where that cannot be known, and for a file that is missing.
bool file_is_left(const char *path);

// Calls visit with every name in the directory but . and .., in no order; stops at its first failure.
typedef weft_err file_visit_fn(void *owner, const char *name);
MUST_CHECK weft_err file_list(const char *directory, file_visit_fn *visit, void *owner);

// Takes a file's name away; missing is fine.
MUST_CHECK weft_err file_remove(const char *path);

enum file_kind { FILE_MISSING, FILE_REGULAR, FILE_DIRECTORY, FILE_STREAM };

struct file_stat {
    enum file_kind kind;
    uint64_t size;
    int64_t mtime_ns;
    uint64_t inode;
    uint64_t name_count;  // that the file has
    bool is_executable;   // for its owner
};

// FILE_MISSING is not a failure.
MUST_CHECK weft_err file_stat(const char *path, struct file_stat *stat);
MUST_CHECK weft_err file_stat_fd(int fd, const char *path, struct file_stat *stat);

// The path without links, from the root, which the caller frees; NULL with errno.
char *file_real_path(const char *path);

// Gives the disk space of a stretch back: it reads as zeros. A file system that cannot keeps it.
void file_forget(int fd, uint64_t offset, uint64_t size);

// Gives an open file one more name, which must be free and on the same file system. Not every file can have one.
MUST_CHECK weft_err file_link(int fd, const char *path, const char *to);

MUST_CHECK weft_err file_set_mode(int fd, const char *path, unsigned mode);
void file_touch(int fd);  // its time of change is now

// Whether a program at the path can be started: it has an x bit, and the file system allows it.
bool file_is_executable(const char *path);

MUST_CHECK weft_err file_rename(const char *from, const char *to);
MUST_CHECK weft_err file_make_directory(const char *path);  // parents too; existing is fine
MUST_CHECK weft_err file_remove_tree(const char *path);     // missing is fine

// Whether the kernel makes up the content of the file when it is read (/proc, /sys): its size then says nothing.
bool file_is_made_up(int fd);

// Whether the file or directory lies on a file system that is memory (tmpfs, ramfs).
MUST_CHECK weft_err file_is_in_memory(const char *path, bool *is_in_memory);

#endif
