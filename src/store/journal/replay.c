// Replaying a journal. Segments are read whole, one at a time; every byte is checked before it is
// believed, and a snapshot before the first of its records is handed out.
//
// Where the records end, one of four things is there:
//   nothing           the last writer closed it, or was killed between two writes; in a file that was
//                     written ahead: zeros, or records of a segment that it was before
//   a torn tail       half a record, or anything in which no sound record is found: it was being written
//   damage            a sound record follows it, or a segment: bits were lost
//   another's bytes   a newer version, another kind: not ours to touch
// The second is cut, the third too if the caller would rather have the beginning than nothing.

#include "store/journal/replay.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "sys/file/file.h"

enum { NAME_DIGITS_MIN = 6, NAME_DIGITS_MAX = 18 };

static const char PREFIX[] = "journal-";
static const char *const SUFFIXES[] = {
    [REPLAY_SEGMENT] = "", [REPLAY_HALF] = ".new", [REPLAY_SPARE] = ".spare"};

void replay_fini(struct replay *replay)
{
    VEC_FINI(&replay->numbers);
    VEC_FINI(&replay->halves);
    VEC_FINI(&replay->spares);
}

char *replay_path(const char *directory, uint64_t number, enum replay_name name)
{
    struct buf path = {0};
    buf_format(&path, "%s/%s%0*" PRIu64 "%s", directory, PREFIX, NAME_DIGITS_MIN, number,
               SUFFIXES[name]);
    buf_append(&path, "", 1);
    if (!path.has_failed)
        return path.data;
    buf_fini(&path);
    err_no_memory("for the journal in %s", directory);
    return NULL;
}

// ---- Which segments there are ---------------------------------------------------------------------

// The number in a name; 0: it is not the name of a segment.
static uint64_t parse_name(const char *name, const char **rest)
{
    if (strncmp(name, PREFIX, sizeof PREFIX - 1) != 0)
        return 0;
    const char *digits = name + sizeof PREFIX - 1;
    const size_t count = strspn(digits, "0123456789");
    *rest = digits + count;
    const bool is_ours = count == NAME_DIGITS_MIN ||
                         (count > NAME_DIGITS_MIN && count <= NAME_DIGITS_MAX && *digits != '0');
    return is_ours ? strtoull(digits, NULL, 10) : 0;
}

static weft_err visit_name(void *owner, const char *name)
{
    struct replay *replay = owner;
    const char *rest = "";
    const uint64_t number = parse_name(name, &rest);
    if (!number)
        return WEFT_OK;
    bool is_kept = true;
    if (strcmp(rest, SUFFIXES[REPLAY_SEGMENT]) == 0)
        is_kept = VEC_PUSH(&replay->numbers, number);
    else if (strcmp(rest, SUFFIXES[REPLAY_HALF]) == 0)
        is_kept = VEC_PUSH(&replay->halves, number);
    else if (strcmp(rest, SUFFIXES[REPLAY_SPARE]) == 0)
        is_kept = VEC_PUSH(&replay->spares, number);
    return is_kept ? WEFT_OK : err_no_memory("to list %s", replay->directory);
}

static int compare_numbers(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

weft_err replay_list(struct replay *replay)
{
    struct file_stat status;
    weft_err err = file_stat(replay->directory, &status);
    if (!err && status.kind != FILE_MISSING)
        err = file_list(replay->directory, visit_name, replay);
    if (!err && replay->numbers.count)
        qsort(replay->numbers.items, replay->numbers.count, sizeof *replay->numbers.items,
              compare_numbers);
    return err;
}

// At most `max` bytes of a segment.
static weft_err load(const struct replay *replay, size_t index, size_t max, struct buf *bytes)
{
    char *path = replay_path(replay->directory, replay->numbers.items[index], REPLAY_SEGMENT);
    if (!path)
        return WEFT_RESOURCE_EXHAUSTED;
    int fd = -1;
    struct file_stat status;
    weft_err err = file_open(path, &fd);
    if (!err)
        err = file_stat_fd(fd, path, &status);
    if (!err && status.kind != FILE_REGULAR)
        err = err_set(WEFT_FAILED_PRECONDITION, "%s is not a file", path);
    if (!err) {
        const size_t size = status.size < max ? (size_t)status.size : max;
        char *to = buf_reserve(bytes, size + 1);
        err = to ? file_read_at(fd, path, to, size, 0, &bytes->size)
                 : err_no_memory("to read %s", path);
    }
    // An old segment may become another one, but first it loses its name.
    if (!err)
        err = file_stat(path, &status);
    if (!err && status.kind == FILE_MISSING)
        err = err_set(WEFT_NOT_FOUND, "%s was replaced while it was read", path);
    file_close(fd);
    free(path);
    return err;
}

// The header of a segment, if it has one.
static weft_err load_header(const struct replay *replay, size_t index, bool *is_sound,
                            struct segment_header *header)
{
    struct buf bytes = {0};
    const weft_err err = load(replay, index, SEGMENT_HEADER_BYTES, &bytes);
    *is_sound = !err && !segment_read_header(buf_bytes(&bytes), "", header);
    if (!err)
        err_clear();
    buf_fini(&bytes);
    return err;
}

// From the last segment back to a snapshot: the segments before it were replaced. A damaged header does not
// end the search, it will be met again.
static weft_err find_first(struct replay *replay)
{
    for (size_t i = replay->numbers.count; i-- > 0;) {
        struct segment_header header;
        bool is_sound;
        const weft_err err = load_header(replay, i, &is_sound, &header);
        replay->first = i;
        if (err || (is_sound && header.whole_bytes > 0))
            return err;
    }
    return WEFT_OK;
}

// ---- Their records --------------------------------------------------------------------------------

// One segment being replayed.
struct segment {
    char *path;
    struct buf bytes;
    struct segment_header header;
    bool is_last;
    bool is_whole;  // the journal continues in the next one
};

// How much of the file may have been written: of one that was written ahead not the zeros at its end.
static size_t used_bytes(const struct segment *segment)
{
    size_t size = segment->bytes.size;
    while (segment_salt(&segment->header) && size > 0 && !segment->bytes.data[size - 1])
        size--;
    return size;
}

static bool is_stop(const struct replay *replay, const struct segment *segment, size_t at)
{
    return replay->stop.number == segment->header.number && replay->stop.number &&
           replay->stop.offset == at;
}

// The place where a walk over this segment ends, without visiting anything.
static struct segment_walk walk_to_end(const struct replay *replay, const struct segment *segment,
                                       uint64_t sequence)
{
    struct segment_walk walk = {buf_bytes(&segment->bytes), SEGMENT_HEADER_BYTES, sequence,
                                segment_salt(&segment->header)};
    for (struct journal_record record;
         !is_stop(replay, segment, walk.at) && segment_next(&walk, &record);)
        continue;
    return walk;
}

// Whether the number is one more than that of the segment before; the first one is 1.
static bool follows(const struct replay *replay, size_t index)
{
    const uint64_t *numbers = replay->numbers.items;
    return numbers[index] == (index == replay->first ? 1 : numbers[index - 1] + 1);
}

// Whether the header is one, and that of a segment which is ours to read and to cut.
static weft_err check_owner(const struct replay *replay, struct segment *segment)
{
    struct segment_header *header = &segment->header;
    const weft_err err = segment_read_header(buf_bytes(&segment->bytes), segment->path, header);
    if (!err && strcmp(header->kind, replay->kind) != 0)
        return err_set(WEFT_FAILED_PRECONDITION, "%s is the journal of a %s, not of a %s",
                       segment->path, header->kind, replay->kind);
    return err;
}

// And whether it is the one that must be here.
static weft_err check_header(const struct replay *replay, struct segment *segment, size_t index)
{
    const struct segment_header *header = &segment->header;
    const weft_err err = check_owner(replay, segment);
    if (err)
        return err;
    const bool is_first = index == replay->first;
    if (!follows(replay, index) && !(is_first && header->whole_bytes))
        return err_set(WEFT_DATA_LOSS, "%s is there, the segment before it is missing",
                       segment->path);
    if (header->number != replay->numbers.items[index] ||
        (!is_first && !replay->was_snapshot && header->first_sequence != replay->sequence))
        return err_set(WEFT_DATA_LOSS, "%s is damaged: it belongs somewhere else", segment->path);
    if (header->whole_bytes > segment->bytes.size)
        return err_set(WEFT_DATA_LOSS, "%s is damaged: it ends inside its snapshot", segment->path);
    return WEFT_OK;
}

// The loss from an offset of a segment on: bytes, and records that are sound. Where there is a salt,
// what an older life of the file left is not ours.
static void count_behind(struct replay *replay, const struct segment *segment, uint64_t offset)
{
    struct segment_header header;
    size_t end = used_bytes(segment);
    if (!segment_read_header(buf_bytes(&segment->bytes), segment->path, &header)) {
        struct segment_walk walk = {buf_bytes(&segment->bytes), SEGMENT_HEADER_BYTES,
                                    header.first_sequence, segment_salt(&header)};
        uint64_t count = 0;
        for (struct journal_record record; segment_next(&walk, &record);)
            count += walk.at > offset;
        size_t behind = segment_torn_bytes(&walk, &count);
        end = walk.salt ? walk.at + behind : end;
        replay->found.lost_records += count;
    }
    err_clear();
    replay->found.lost_bytes += end > offset ? end - offset : 0;
    replay->found.lost_segments++;
}

// Where the records of a segment end: the journal may end here too, or this is damage and `err` says
// which. `torn` bytes after it were being written.
static weft_err end_at(struct replay *replay, const struct segment *segment, uint64_t offset,
                       uint64_t torn, weft_err err)
{
    if (err && (err != WEFT_DATA_LOSS || !replay->keeps_good_prefix))
        return err;
    const uint64_t used = used_bytes(segment);
    if (err) {
        replay->is_damaged = true;
        snprintf(replay->why, sizeof replay->why, "%s", err_text());
        count_behind(replay, segment, offset);
    } else {
        replay->found.torn_bytes += torn;
    }
    err_clear();
    replay->end = offset;
    replay->last_used = used;
    replay->last_version = segment->header.version;
    return WEFT_OK;
}

static weft_err visit_records(struct replay *replay, const struct segment *segment, uint64_t end,
                              journal_visit_fn *visit, void *owner)
{
    struct segment_walk walk = {buf_bytes(&segment->bytes), SEGMENT_HEADER_BYTES, replay->sequence,
                                segment_salt(&segment->header)};
    weft_err err = WEFT_OK;
    replay->visited.number = segment->header.number;
    replay->visited.offset = walk.at;
    for (struct journal_record record; !err && walk.at < end && segment_next(&walk, &record);) {
        err = visit ? visit(owner, &record) : WEFT_OK;
        replay->found.record_count += !err;
        replay->visited.offset = err ? replay->visited.offset : walk.at;
    }
    replay->sequence = walk.sequence;
    return err;
}

// Whether it holds a snapshot and nothing else: then it knows its end by itself.
static bool is_only_snapshot(const struct segment_header *header, size_t end)
{
    return segment_salt(header) && header->whole_bytes == end;
}

// Whether records are missing where the walk ended. A file that was written ahead does not end where its
// records do; there the next segment has the number of its first record.
static weft_err check_end(const struct replay *replay, const struct segment *segment, size_t index,
                          const struct segment_walk *walk)
{
    const bool is_at_end = walk->at == segment->bytes.size;
    bool is_damaged = walk->at < segment->header.whole_bytes;
    if (!walk->salt)
        is_damaged |= !is_at_end && (!segment->is_last || segment_has_more(walk));
    struct segment_header next;
    bool is_known = false;
    weft_err err = WEFT_OK;
    if (is_only_snapshot(&segment->header, walk->at))
        return WEFT_OK;
    if (walk->salt && !segment->is_last)
        err = load_header(replay, index + 1, &is_known, &next);
    if (is_known && next.number == segment->header.number + 1)
        is_damaged |= next.first_sequence != walk->sequence;
    else if (walk->salt)
        is_damaged |= segment_has_more(walk);
    if (!err && is_damaged)
        err = err_set(WEFT_DATA_LOSS, "%s is damaged at offset %zu: the record there is not whole",
                      segment->path, walk->at);
    return err;
}

static uint64_t torn_bytes(const struct segment *segment, const struct segment_walk *walk)
{
    if (!walk->salt)
        return segment->bytes.size - walk->at;
    return segment->is_last ? segment_torn_bytes(walk, NULL) : 0;
}

// Replays a segment that is loaded; sets replay->end.
static weft_err replay_segment(struct replay *replay, struct segment *segment, size_t index,
                               journal_visit_fn *visit, void *owner)
{
    if (segment->is_last && follows(replay, index) &&
        segment_is_unbegun(buf_bytes(&segment->bytes)))
        return end_at(replay, segment, 0, segment->bytes.size, WEFT_OK);
    weft_err err = check_header(replay, segment, index);
    replay->damage.number = replay->numbers.items[index];
    replay->damage.offset = 0;
    if (err)
        return end_at(replay, segment, 0, 0, err);
    if (index == replay->first || replay->was_snapshot)
        replay->sequence = segment->header.first_sequence;
    const struct segment_walk walk = walk_to_end(replay, segment, replay->sequence);
    err = is_stop(replay, segment, walk.at) ? err_set(WEFT_DATA_LOSS, "%s", replay->why)
                                            : check_end(replay, segment, index, &walk);
    replay->damage.offset = walk.at;
    segment->is_whole = !err;
    replay->was_snapshot = is_only_snapshot(&segment->header, walk.at);
    // Half a snapshot is not a state of anything: none of it is handed out.
    const bool is_in_snapshot = walk.at < segment->header.whole_bytes;
    const uint64_t torn = err ? 0 : torn_bytes(segment, &walk);
    err = end_at(replay, segment, is_in_snapshot ? 0 : walk.at, torn, err);
    return err ? err : visit_records(replay, segment, replay->end, visit, owner);
}

// All segments after the one in which the journal ends are lost, but for those that are not ours to touch.
static weft_err count_lost(struct replay *replay, size_t from)
{
    weft_err err = WEFT_OK;
    for (size_t i = from; !err && i < replay->numbers.count; i++) {
        struct segment segment = {0};
        segment.path = replay_path(replay->directory, replay->numbers.items[i], REPLAY_SEGMENT);
        err = segment.path ? load(replay, i, SIZE_MAX, &segment.bytes) : WEFT_RESOURCE_EXHAUSTED;
        if (!err)
            err = check_owner(replay, &segment);
        if (err == WEFT_DATA_LOSS)
            err = WEFT_OK;
        if (!err)
            count_behind(replay, &segment, 0);
        buf_fini(&segment.bytes);
        free(segment.path);
    }
    return err;
}

weft_err replay_run(struct replay *replay, journal_visit_fn *visit, void *owner)
{
    replay->sequence = 1;
    weft_err err = replay_list(replay);
    if (!err)
        err = find_first(replay);
    bool is_whole = true;
    for (size_t i = replay->first; !err && is_whole && i < replay->numbers.count; i++) {
        struct segment segment = {.is_last = i + 1 == replay->numbers.count};
        segment.path = replay_path(replay->directory, replay->numbers.items[i], REPLAY_SEGMENT);
        err = segment.path ? load(replay, i, SIZE_MAX, &segment.bytes) : WEFT_RESOURCE_EXHAUSTED;
        replay->size += replay->end;
        replay->last = i;
        replay->last_size = segment.bytes.size;
        replay->found.segment_count++;
        if (!err)
            err = replay_segment(replay, &segment, i, visit, owner);
        is_whole = !err && segment.is_whole;
        if (!err && !is_whole)
            err = count_lost(replay, i + 1);
        buf_fini(&segment.bytes);
        free(segment.path);
    }
    return err;
}
