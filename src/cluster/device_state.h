// What device.c and device_path.c share: one part of a device name at a time.
#ifndef CLUSTER_DEVICE_STATE_H
#define CLUSTER_DEVICE_STATE_H

#include "cluster/device.h"

enum device_part {
    DEVICE_PART,      // read from the text, which continues with '/' or has ended
    DEVICE_NO_PART,   // it begins like none; nothing was taken
    DEVICE_BAD_PART,  // it begins like one and continues wrong; nothing was read
};

// Takes the part that the text begins with.
enum device_part device_read_part(weft_bytes *text, struct device *device);

// The failure of device_parse: the whole text, and the rest of it from the bad part on.
weft_err device_bad_part(weft_bytes text, weft_bytes at);

#endif
