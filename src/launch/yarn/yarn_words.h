// yarn_words: how YARN writes names, ends and commands. Pure. Thread: any.
#ifndef LAUNCH_YARN_YARN_WORDS_H
#define LAUNCH_YARN_YARN_WORDS_H

#include "launch/yarn/master.h"
#include "wire/hadoop.pb-c.h"

enum { YARN_NAME_BYTES = 96, YARN_MB = 1 << 20 };

struct yarn_app_id {
    int64_t timestamp;
    int32_t number;
};

struct yarn_container_id {
    struct yarn_app_id app;
    int32_t attempt;
    int64_t number;  // with the number of the resource manager's life above 40 bits
};

void yarn_write_app(const struct yarn_app_id *id, char text[YARN_NAME_BYTES]);
void yarn_write_container(const struct yarn_container_id *id, char text[YARN_NAME_BYTES]);
// "application_1700000000000_0007". False: it is not such a name.
bool yarn_read_app(const char *text, struct yarn_app_id *id);
// "container_e17_1700000000000_0007_01_000002" too; the application and attempt of it, number 0.
bool yarn_read_container(const char *text, struct yarn_container_id *id);

// False: something of it is missing.
bool yarn_take_app(const Hadoop__AppId *message, struct yarn_app_id *id);
bool yarn_take_container(const Hadoop__ContainerId *message, struct yarn_container_id *id);
struct yarn_maker;
void yarn_make_id(struct yarn_maker *maker, const struct yarn_container_id *id,
                  Hadoop__ContainerId *message);
Hadoop__AppId *yarn_make_app(struct yarn_maker *maker, const struct yarn_app_id *id);
bool yarn_is_same_container(const struct yarn_container_id *a, const struct yarn_container_id *b);

// The end of a container after Hadoop's number and words. `is_stopped`: we wanted it to end. The sentence is appended to `text`;
// end->text is not set.
void yarn_judge_end(int status, const char *diagnostics, bool is_stopped, struct yarn_end *end,
                    struct buf *text);

// The first line of a text of Hadoop's, without anything that a terminal would obey, at most `size_max` bytes of it.
void yarn_append_line(struct buf *out, const char *text, size_t size_max);

// Between double quotes in the script of a node manager: nothing is replaced there, neither by it nor by bash.
void yarn_append_quoted(struct buf *out, const char *text);

// "hdfs://nn:8020/a b" in the parts of a message. False: it has no scheme or no path. `url` is empty before.
bool yarn_read_url(struct yarn_maker *maker, const char *text, Hadoop__Url *url);

#endif
