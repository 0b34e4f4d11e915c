// Packets of a data node.

#include "store/hdfs/packet.h"

#include <zlib.h>

#include "base/crc32c.h"
#include "wire/hadoop.pb-c.h"

static weft_err damaged(void)
{
    return err_set(WEFT_DATA_LOSS, "a packet of a data node is damaged");
}

static uint32_t load32(const char *bytes)
{
    const uint8_t *from = (const uint8_t *)bytes;
    return (uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 | (uint32_t)from[2] << 8 | from[3];
}

weft_err packet_read_front(const char front[PACKET_FRONT_BYTES], uint32_t *packet_bytes,
                           uint16_t *header_bytes)
{
    const uint8_t *from = (const uint8_t *)front;
    *packet_bytes = load32(front);
    *header_bytes = (uint16_t)(from[4] << 8 | from[5]);
    // A checksum for each byte at most.
    const bool fits = *packet_bytes >= 4 && *packet_bytes <= 4 + 5u * PACKET_DATA_BYTES_MAX &&
                      *header_bytes > 0 && *header_bytes <= PACKET_HEADER_BYTES_MAX;
    return fits ? WEFT_OK : damaged();
}

weft_err packet_read_header(weft_bytes header, uint32_t packet_bytes, enum packet_checksum checksum,
                            uint32_t chunk_bytes, struct packet *packet)
{
    Hadoop__PacketHeader *message =
        hadoop__packet_header__unpack(NULL, header.size, (const uint8_t *)header.data);
    if (!message)
        return damaged();
    const int64_t size = message->size, offset = message->offset;
    *packet = (struct packet){
        .offset = (uint64_t)offset, .data_bytes = (uint32_t)size, .is_last = message->is_last};
    hadoop__packet_header__free_unpacked(message, NULL);
    if (size < 0 || size > PACKET_DATA_BYTES_MAX || offset < 0 || packet_bytes - 4 < (uint32_t)size)
        return damaged();
    packet->checksum_bytes = packet_bytes - 4 - packet->data_bytes;
    const uint64_t chunks =
        checksum == PACKET_PLAIN ? 0 : ((uint64_t)size + chunk_bytes - 1) / chunk_bytes;
    return packet->checksum_bytes == 4 * chunks ? WEFT_OK : damaged();
}

bool packet_is_sound(enum packet_checksum checksum, uint32_t chunk_bytes, const char *checksums,
                     const char *data, size_t size)
{
    if (checksum == PACKET_PLAIN)
        return true;
    for (size_t at = 0; at < size; at += chunk_bytes, checksums += 4) {
        const size_t chunk = size - at < chunk_bytes ? size - at : chunk_bytes;
        const uint32_t is = checksum == PACKET_CRC32C
                                ? crc32c(0, data + at, chunk)
                                : (uint32_t)crc32(0, (const Bytef *)data + at, (uInt)chunk);
        if (is != load32(checksums))
            return false;
    }
    return true;
}
