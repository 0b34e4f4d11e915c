// The disks of all machines, in memory: names, files, descriptors. A machine sees its own names only.
#ifndef SIM_SERVER_DISK_H
#define SIM_SERVER_DISK_H

#include "base/buf.h"
#include "world/world.h"

struct node {
    int machine;
    char *path;  // NULL: nameless
    bool is_directory;
    struct buf data;
    uint64_t inode;
    int64_t mtime_ns;
    uint32_t open_count, name_count;
    unsigned mode;
    int lock;        // the descriptor that holds it; 0: none
    bool is_output;  // a worker has made it, for others
};

struct disk {
    VEC(struct node *) nodes;
    bool is_full[PROCESSES_MAX];
    uint32_t kill_rate;  // per mille of changes: the process is killed in the middle of one
};

extern struct disk disk;

struct node *disk_find(int machine, const char *path);
// Makes a file with that content, or a directory for NULL.
struct node *disk_put(int machine, const char *path, const char *text, size_t size);
void disk_remove(struct node *node);

// The file of a descriptor; wrong when it is not open in the process.
struct node *disk_node(const struct loop *process, int fd);
// A descriptor of a file.
int disk_open(struct loop *process, struct node *node);
void disk_close(int fd);
// The number of descriptors that the process has open.
uint32_t disk_count_open(const struct loop *process);
void disk_kill(const struct loop *process);  // its descriptors are closed

// The machine of the code that runs.
int disk_machine(void);
// A change of the disk begins, which the process may not survive.
void disk_change(void);

#endif
