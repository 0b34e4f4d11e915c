// othersides.so: a program that says of itself what is not so, in the hello with which it meets a host or a server.
//
//   WEFT_SAYS_VERSION=N          the version of the wire that it speaks
//   WEFT_SAYS_ARCHITECTURE=TEXT  the machine that it was built for

#include <dlfcn.h>
#include <protobuf-c/protobuf-c.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static void *field_of(const ProtobufCMessage *message, const char *name)
{
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field_by_name(message->descriptor, name);
    return field ? (char *)message + field->offset : NULL;
}

static void change(const ProtobufCMessage *message)
{
    const char *version = getenv("WEFT_SAYS_VERSION");
    const char *architecture = getenv("WEFT_SAYS_ARCHITECTURE");
    if (strcmp(message->descriptor->short_name, "HostHello") != 0)
        return;
    if (version)
        *(uint32_t *)field_of(message, "wire_version") = (uint32_t)atoi(version);
    if (architecture)
        *(const char **)field_of(message, "architecture") = architecture;
}

size_t protobuf_c_message_get_packed_size(const ProtobufCMessage *message)
{
    change(message);
    return REAL(protobuf_c_message_get_packed_size)(message);
}

size_t protobuf_c_message_pack(const ProtobufCMessage *message, uint8_t *out)
{
    change(message);
    return REAL(protobuf_c_message_pack)(message, out);
}

size_t protobuf_c_message_pack_to_buffer(const ProtobufCMessage *message, ProtobufCBuffer *buffer)
{
    change(message);
    return REAL(protobuf_c_message_pack_to_buffer)(message, buffer);
}
