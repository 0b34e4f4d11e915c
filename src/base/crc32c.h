// CRC-32C (Castagnoli): guards every block and every part; chosen because checksums of neighbours can
// be joined, so pieces written out of order still give the checksum of the whole.
#ifndef BASE_CRC32C_H
#define BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

// Continues `crc` (0 at the start) over the bytes; the value is the finished checksum of all so far.
uint32_t crc32c(uint32_t crc, const void *data, size_t size);

// The same without the instruction, as machines that lack it do; tests compare the two.
uint32_t crc32c_plain(uint32_t crc, const void *data, size_t size);

// The checksum of A followed by B from theirs and the size of B.
uint32_t crc32c_join(uint32_t crc_a, uint32_t crc_b, uint64_t size_b);

#endif
