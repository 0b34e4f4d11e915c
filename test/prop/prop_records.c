// Random texts of every format, cut anywhere, read through tiny buffers, plain and compressed: every record
// is given to the job once, with its own bytes, offset and number, as a plain walk over the text finds
// them.
//
//   prop_records [--seed N] [--seeds COUNT]
//
// One seed draws everything: format, text, codec, pieces, which slot maps which piece in which order, the
// size of the read buffer, which records are left out, who asks for numbers, and whether the job takes
// records or blocks of them.

#include "mapreduce/work/slot_testing.h"

#include "mapreduce/work/map/stretches.h"
#include "prop/job.h"
#include "store/codec/codec_testing.h"

enum { PIECES_MAX = 40, SKIPS_MAX = 8 };

// A record as it should be given, or was.
struct seen {
    uint64_t offset, number;  // number 0: not asked for
    weft_bytes bytes;
    bool is_skipped;
    int times;
};

struct seens {
    VEC(struct seen) list;
    struct buf bytes;  // of what was given: it is gone when map returns
};

static struct {
    uint64_t seed;
    struct record_format format;
    struct buf text, packed;
    struct seens expected;
    enum codec_kind codec;
    bool takes_blocks, is_indexed, is_sample;
    uint64_t read_bytes;
    uint32_t piece_count;
    struct input_stretch pieces[PIECES_MAX];
    struct place skips[SKIPS_MAX];
    size_t skip_count;
} prop;

static struct seens given;
static uint64_t records_seen, seeds_of_kind[RECORD_KIND_COUNT];

static bool complain(const char *what, uint64_t offset)
{
    static const char *const names[] = {"lines", "chunks",   "files", "csv",
                                        "jsonl", "tfrecord", "fixed"};
    fprintf(stderr,
            "SEED=%llu %s: %s, offset %llu of %zu; delimiter %02x%s, codec %s%s, %u pieces, "
            "%s, buffer %llu, %zu skipped\n  repeat: prop_records --seed %llu\n",
            (unsigned long long)prop.seed, names[prop.format.kind], what,
            (unsigned long long)offset, prop.text.size, prop.format.delimiter,
            prop.format.has_header ? ", header" : "", codec_name(prop.codec),
            prop.is_indexed ? " with an index" : "", prop.piece_count,
            prop.takes_blocks ? "blocks" : "records", (unsigned long long)prop.read_bytes,
            prop.skip_count, (unsigned long long)prop.seed);
    return false;
}

// ---- texts

static void draw_format(void)
{
    static const unsigned char delimiters[] = {'\n', '\n', '\n', ';', 0, '\r', 'a'};
    prop.format = (struct record_format){.kind = (enum record_kind)draw(RECORD_KIND_COUNT),
                                         .delimiter = '\n',
                                         .separator = ',',
                                         .fixed_bytes = 1 + draw(draw(4) ? 9 : 3000)};
    if (prop.format.kind == RECORD_LINES || prop.format.kind == RECORD_CHUNKS)
        prop.format.delimiter = delimiters[draw(sizeof delimiters)];
    prop.format.has_header = prop.format.kind == RECORD_CSV && draw(2);
}

// Few different bytes, so that what is special in a format comes often and side by side.
static void append_bytes(const char *alphabet, size_t alphabet_size, size_t size)
{
    char *to = buf_reserve(&prop.text, size);
    const uint32_t plain = draw(3) ? 1 + draw(30) : 1;  // so many ordinary ones to a special one
    for (size_t i = 0; i < size; i++)
        to[i] = draw(plain + 1) ? (char)('b' + draw(3)) : alphabet[draw((uint32_t)alphabet_size)];
    prop.text.size += size;
}

static void append_frames(size_t size)
{
    struct buf data = {0};
    while (prop.text.size < size) {
        const size_t length = draw(10) ? draw(40) : draw(3000);
        char *bytes = buf_reserve(&data, length + 1);
        memset(bytes, 'a' + (int)draw(26), length);
        const struct record_pair pair = {.key = {bytes, length}};
        char *to = buf_reserve(&prop.text, record_write_max(OUTPUT_TFRECORD, &pair));
        prop.text.size = (size_t)(record_write(OUTPUT_TFRECORD, &pair, to) - prop.text.data);
    }
    buf_fini(&data);
}

// It has to be a proper row; empty lines may stand before it.
static void append_header(void)
{
    static const char *const ends[] = {"\n", "\r\n"};
    for (uint32_t i = draw(3) ? 0 : draw(20); i > 0; i--)
        buf_append(&prop.text, ends[i % 2], strlen(ends[i % 2]));
    buf_format(&prop.text, "a,\"b%sc\",d%s", ends[draw(2)], ends[draw(2)]);
}

static void close_quote(void)
{
    size_t quotes = 0;
    for (size_t i = 0; i < prop.text.size; i++)
        quotes += prop.text.data[i] == '"';
    if (quotes & 1)
        buf_append(&prop.text, "\"", 1);
}

// Mostly small; now and then more than a megabyte, which is what chunks and counts are made of.
static void draw_text(void)
{
    const size_t size = draw(150) == 0  ? (1u << 20) + draw(2 << 20)
                        : draw(10) == 0 ? draw(100000)
                                        : draw(draw(3) ? 60 : 3000);
    prop.text.size = 0;
    buf_reserve(&prop.text, 1);
    if (draw(6) == 0 && (prop.format.kind == RECORD_CSV || prop.format.kind == RECORD_JSONL))
        buf_append(&prop.text, "\xef\xbb\xbf", 3);
    switch (prop.format.kind) {
    case RECORD_TFRECORD:
        append_frames(size);
        return;
    case RECORD_CSV:
        if (prop.format.has_header)
            append_header();
        append_bytes("\n\r\",\n", 5, size);
        close_quote();
        return;
    case RECORD_FIXED:
        append_bytes("\n\0\"x", 4, size - size % prop.format.fixed_bytes);
        return;
    default:
        append_bytes("\n\r;\0a\"\n", 7, size);
    }
}

// ---- what is in them, found byte by byte

static void expect(uint64_t offset, size_t begin, size_t end)
{
    const struct seen seen = {.offset = offset,
                              .number = prop.expected.list.count + 1,
                              .bytes = {prop.text.data + begin, end - begin}};
    assert_true(VEC_PUSH(&prop.expected.list, seen));
}

static void expect_rows(bool has_quotes, bool leaves_out_empty, char delimiter, size_t at)
{
    const char *text = prop.text.data;
    bool is_quoted = false, is_header = prop.format.has_header;
    for (size_t begin = at; at <= prop.text.size; at++) {
        const bool is_end = at == prop.text.size;
        if (!is_end && has_quotes && text[at] == '"')
            is_quoted = !is_quoted;
        if (!is_end && (is_quoted || text[at] != delimiter))
            continue;
        const size_t end =
            at - (!is_end && delimiter == '\n' && at > begin && text[at - 1] == '\r');
        if (!(is_end && begin == at) && !(leaves_out_empty && begin == end)) {
            if (!is_header)
                expect(begin, begin, end);
            is_header = false;
        }
        begin = at + 1;
    }
}

static void expect_frames(void)
{
    for (size_t at = 0; at < prop.text.size;) {
        uint64_t length;
        memcpy(&length, prop.text.data + at, sizeof length);
        expect(at, at + 12, at + 12 + length);
        at += 16 + length;
    }
}

static void find_expected(void)
{
    const size_t mark =
        prop.text.size >= 3 && memcmp(prop.text.data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    prop.expected.list.count = 0;
    switch (prop.format.kind) {
    case RECORD_LINES:
    case RECORD_CHUNKS:  // its lines, for the numbers
        expect_rows(false, false, (char)prop.format.delimiter, 0);
        break;
    case RECORD_CSV:
        expect_rows(true, true, '\n', mark);
        break;
    case RECORD_JSONL:
        expect_rows(false, true, '\n', mark);
        break;
    case RECORD_TFRECORD:
        expect_frames();
        break;
    case RECORD_FIXED:
        for (size_t at = 0; at < prop.text.size; at += prop.format.fixed_bytes)
            expect(at, at, at + prop.format.fixed_bytes);
        break;
    default:
        expect(0, 0, prop.text.size);
    }
}

// ---- the file

static void pack(void)
{
    const weft_bytes text = buf_bytes(&prop.text);
    const size_t step = 1 + draw(draw(2) ? 60000 : 500);
    if (prop.is_indexed)
        testing_append_bgzip(&prop.packed, text, step);
    for (size_t at = 0; !prop.is_indexed && (at < text.size || at == 0); at += step) {
        const size_t rest = text.size - at;
        const weft_bytes frame = {text.data + at, rest < step ? rest : step};
        assert_int_equal(codec_compress(prop.codec, frame, &prop.packed), WEFT_OK);
    }
}

static void draw_file(void)
{
    static const enum codec_kind kinds[] = {CODEC_GZIP, CODEC_ZSTD, CODEC_LZ4};
    prop.packed.size = 0;
    prop.codec = draw(3) ? CODEC_NONE : kinds[draw(3)];
    prop.is_indexed = prop.codec == CODEC_GZIP && prop.text.size && draw(2);
    if (prop.codec != CODEC_NONE)
        pack();
}

static void draw_pieces(const struct rig *rig)
{
    const bool is_whole = !record_is_splittable(&prop.format) ||
                          (prop.packed.size && !prop.is_indexed) || rig->input.size < 2;
    prop.piece_count = is_whole ? 1 : 1 + draw(draw(2) ? 4 : PIECES_MAX);
    uint64_t at = 0;
    for (uint32_t i = 0; i < prop.piece_count; i++) {
        uint64_t end = rig->input.size;
        if (i + 1 < prop.piece_count)  // close together or far apart
            end = at + draw(draw(2) ? 5 : (uint32_t)(rig->input.size / prop.piece_count * 2 + 1));
        end = end > rig->input.size ? rig->input.size : end;
        if (end == at && i + 1 < prop.piece_count && at < rig->input.size)
            end++;
        prop.pieces[i] = (struct input_stretch){0, at, end};
        at = end;
    }
}

static void draw_skips(void)
{
    prop.skip_count = 0;
    if (prop.format.kind == RECORD_CHUNKS || draw(3))
        return;
    for (size_t i = 0; i < prop.expected.list.count && prop.skip_count < SKIPS_MAX; i++) {
        struct seen *seen = &prop.expected.list.items[i];
        if (draw(1 + (uint32_t)prop.expected.list.count / SKIPS_MAX))
            continue;
        seen->is_skipped = true;
        prop.skips[prop.skip_count++] = (struct place){0, seen->offset};
    }
}

// ---- the job

static void note(weft_task *task, weft_bytes record)
{
    struct seen seen = {.offset = weft_input_offset(task), .bytes = {NULL, record.size}};
    seen.number = draw(3) == 0 ? weft_input_record(task) : 0;
    assert_true(VEC_PUSH(&given.list, seen));
    buf_append(&given.bytes, record.data, record.size);
}

static void point_at_bytes(void)
{
    const char *at = given.bytes.data;
    for (size_t i = 0; i < given.list.count; i++) {
        given.list.items[i].bytes.data = at;
        at += given.list.items[i].bytes.size;
    }
}

// ---- the comparison

static bool is_same_number(const struct seen *got, uint64_t number)
{
    return got->number == 0 || got->number == number;
}

// Of the records: the first that begins at or behind the offset.
static size_t find(uint64_t offset)
{
    size_t low = 0, high = prop.expected.list.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (prop.expected.list.items[middle].offset < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool check_records(void)
{
    for (size_t i = 0; i < given.list.count; i++) {
        const struct seen *got = &given.list.items[i];
        const size_t at = find(got->offset);
        struct seen *wanted = &prop.expected.list.items[at];
        if (at == prop.expected.list.count || wanted->offset != got->offset)
            return complain("a record where none begins", got->offset);
        if (wanted->is_skipped)
            return complain("a record that was to be left out", got->offset);
        if (got->bytes.size != wanted->bytes.size ||
            memcmp(got->bytes.data, wanted->bytes.data, got->bytes.size) != 0)
            return complain("a record has other bytes", got->offset);
        if (!is_same_number(got, wanted->number))
            return complain("a record has another number", got->offset);
        wanted->times++;
    }
    for (size_t i = 0; i < prop.expected.list.count && !prop.is_sample; i++) {
        const struct seen *wanted = &prop.expected.list.items[i];
        if (wanted->times != !wanted->is_skipped)
            return complain(wanted->times ? "a record came twice" : "a record did not come",
                            wanted->offset);
    }
    return true;
}

static int compare_seen(const void *a, const void *b)
{
    const struct seen *x = a, *y = b;
    return x->offset != y->offset
               ? (x->offset > y->offset ? 1 : -1)
               : (x->bytes.size > y->bytes.size) - (x->bytes.size < y->bytes.size);
}

// Blocks and chunks: each begins with a record and holds whole ones, which together are all.
static bool check_blocks(void)
{
    qsort(given.list.items, given.list.count, sizeof given.list.items[0], compare_seen);
    for (size_t i = 0; i < given.list.count; i++) {
        const struct seen *got = &given.list.items[i];
        // An empty file has one record, which begins where it ends.
        const uint64_t end = got->offset + got->bytes.size + (prop.text.size == 0);
        if (got->offset + got->bytes.size > prop.text.size ||
            memcmp(prop.text.data + got->offset, got->bytes.data, got->bytes.size) != 0)
            return complain("a block has other bytes", got->offset);
        size_t at = find(got->offset);
        if (got->bytes.size && at < prop.expected.list.count &&
            prop.expected.list.items[at].offset < end &&
            !is_same_number(got, prop.expected.list.items[at].number))
            return complain("a block has another number", got->offset);
        for (; at < prop.expected.list.count && prop.expected.list.items[at].offset < end; at++) {
            struct seen *wanted = &prop.expected.list.items[at];
            const uint64_t frame = wanted->offset + wanted->bytes.size;
            if (frame > end)
                return complain("a block cuts a record", wanted->offset);
            if (wanted->is_skipped)
                return complain("a block has what was to be left out", wanted->offset);
            wanted->times++;
        }
    }
    for (size_t i = 0; i < prop.expected.list.count && !prop.is_sample; i++) {
        const struct seen *wanted = &prop.expected.list.items[i];
        if (wanted->times != !wanted->is_skipped)
            return complain(wanted->times ? "a record came twice" : "a record did not come",
                            wanted->offset);
    }
    return true;
}

// ---- a seed

static bool map_pieces(struct rig *rig)
{
    uint32_t order[PIECES_MAX];
    for (uint32_t i = 0; i < prop.piece_count; i++) {
        const uint32_t at = draw(i + 1);
        order[i] = order[at];
        order[at] = i;
    }
    for (uint32_t i = 0; i < prop.piece_count; i++) {
        struct slot *slot = &rig->slots[draw(rig->stage.slot_count)];
        const struct input_stretch *piece = &prop.pieces[order[i]];
        slot_begin_attempt(slot, prop.is_sample ? SLOT_SAMPLE : SLOT_COLLECT, order[i]);
        slot->skips = prop.skips;
        slot->skip_count = prop.skip_count;
        if (map_run(slot, piece, 1) != WEFT_OK) {
            fprintf(stderr, "%s\n", err_text());
            return complain("a piece failed", piece->begin);
        }
    }
    return true;
}

static bool run_seed(uint64_t seed)
{
    static struct rig rig;
    static struct mutex lock;
    draw_begin(prop.seed = seed);
    draw_format();
    draw_text();
    find_expected();
    seeds_of_kind[prop.format.kind]++;
    records_seen += prop.expected.list.count;
    prop.takes_blocks = prop.format.kind != RECORD_TFRECORD && draw(4) == 0;
    prop.is_sample = draw(8) == 0;
    weft_job job = {.name = "note", .reduce = weft_count};
    *(prop.takes_blocks ? &job.map_block : &job.map) = note;
    draw_file();
    rig_init(&rig, &job, buf_bytes(prop.packed.size ? &prop.packed : &prop.text));
    mutex_init(&lock);
    rig.stage.inputs_lock = &lock;
    rig.stage.format = prop.format;
    rig.stage.slot_count = 1 + draw(3);
    rig.stage.memory.read_bytes = prop.read_bytes =
        CODEC_SNIFF_BYTES + draw(draw(2) ? 100 : 100000);
    rig.input.is_indexed = prop.is_indexed;
    if (prop.is_indexed)
        rig.input.size = prop.text.size;
    if (prop.is_indexed || draw(2))
        input_set_codec(&rig.input, prop.codec);
    draw_pieces(&rig);
    draw_skips();
    rig_open(&rig);
    given.list.count = given.bytes.size = 0;
    bool is_good = map_pieces(&rig);
    point_at_bytes();
    const bool has_blocks = prop.takes_blocks || prop.format.kind == RECORD_CHUNKS;
    is_good = is_good && (has_blocks ? check_blocks() : check_records());
    codec_index_free(rig.input.index);
    stretches_free(rig.input.stretches);
    rig_fini(&rig);
    mutex_fini(&lock);
    return is_good;
}

int main(int argc, char **argv)
{
    uint64_t first = 1, count = getenv("WEFT_LONG") ? 40000 : 4000, failed = 0;
    for (int i = 1; i + 1 < argc; i++) {
        if (strcmp(argv[i], "--seed") == 0)
            first = strtoull(argv[i + 1], NULL, 10), count = 1;
        else if (strcmp(argv[i], "--seeds") == 0)
            count = strtoull(argv[i + 1], NULL, 10);
    }
    for (uint64_t seed = first; seed < first + count && failed < 10; seed++)
        failed += !run_seed(seed);
    printf("%llu seeds, %llu records, %llu failed\n", (unsigned long long)count,
           (unsigned long long)records_seen, (unsigned long long)failed);
    for (int i = 0; i < RECORD_KIND_COUNT && count >= 200; i++)
        failed += seeds_of_kind[i] == 0;  // a format that was never drawn is not tested
    VEC_FINI(&prop.expected.list);
    VEC_FINI(&given.list);
    buf_fini(&given.bytes);
    buf_fini(&prop.text);
    buf_fini(&prop.packed);
    return failed != 0;
}
