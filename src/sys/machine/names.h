// names: where a static program looks for the names of hosts and users.
//
// glibc reads /etc/nsswitch.conf and loads a library for each source that it names. In a static program that would be a
// library of another C library, from a machine that we do not know: it fails, or crashes. Two sources are compiled into the C library:
// the files (/etc/hosts, /etc/passwd) and DNS (/etc/resolv.conf).
#ifndef SYS_MACHINE_NAMES_H
#define SYS_MACHINE_NAMES_H

// From now on a static program asks these two sources only. Does nothing in other programs. Thread: main, while it is the only one.
void names_use_built_in(void);

#endif
