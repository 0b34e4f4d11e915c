// The part of cluster_api.c that is about maps of keys and values.

static void keys_have_values_and_versions(weft_kv *kv)
{
    weft_kv_entry entry;
    uint64_t first = 0, version = 0;
    GIVES(NOT_FOUND, weft_kv_get(kv, weft_text("a"), &entry));
    GIVES(OK, weft_kv_put(kv, weft_text("a"), weft_text("1"), NULL, &first));
    GIVES(OK, weft_kv_get(kv, weft_text("a"), &entry));
    CLAIM(is_text(entry.value, "1") && is_text(entry.key, "a") && entry.version == first);
    weft_kv_entry_free(&entry);
    const weft_kv_options absent = {.has_version = true};
    GIVES(FAILED_PRECONDITION, weft_kv_put(kv, weft_text("a"), weft_text("2"), &absent, &version));
    CLAIM(version == first);
    const weft_kv_options same = {.has_version = true, .version = first, .is_owned = true};
    GIVES(OK, weft_kv_put(kv, weft_text("a"), weft_text("2"), &same, &version));
    CLAIM(version > first);
    GIVES(OK, weft_kv_get(kv, weft_text("a"), &entry));
    CLAIM(entry.is_owned && is_text(entry.value, "2"));
    weft_kv_entry_free(&entry);
    GIVES(FAILED_PRECONDITION, weft_kv_remove(kv, weft_text("a"), &same));
    GIVES(OK, weft_kv_remove(kv, weft_text("a"), NULL));
    GIVES(OK, weft_kv_remove(kv, weft_text("a"), NULL));
}

// More than fits into one answer of 16 MiB: the walk asks again.
static void ranges_come_in_pieces(weft_kv *kv)
{
    enum { COUNT = 40, BYTES = 1 << 20 };
    static char large[BYTES];
    weft_kv_entry entry;
    int count = 0;
    char key[16];
    for (int i = 0; i < COUNT; i++) {
        snprintf(key, sizeof key, "big/%02d", i);
        GIVES(OK, weft_kv_put(kv, weft_text(key), (weft_bytes){large, BYTES}, NULL, NULL));
    }
    GIVES(OK, weft_kv_put(kv, weft_text("zz"), weft_none(), NULL, NULL));
    weft_kv_walk *walk = weft_kv_range(kv, weft_text("big/"), weft_text("big0"));
    for (; weft_kv_next(walk, &entry); count++) {
        snprintf(key, sizeof key, "big/%02d", count);
        CLAIM(is_text(entry.key, key) && entry.value.size == BYTES);
    }
    CLAIM(count == COUNT && weft_kv_walk_error(walk) == WEFT_OUT_OF_RANGE);
    weft_kv_walk_free(walk);
    // Changes beyond what is remembered one by one: a watch that begins is told all.
    for (int i = 0; i < 5000; i++)
        GIVES(OK, weft_kv_put(kv, weft_text("zz"), weft_none(), NULL, NULL));
    walk = weft_kv_watch(kv, weft_text("big/"));
    for (count = 0; count < COUNT && weft_kv_next(walk, &entry); count++)
        CLAIM(entry.what == WEFT_KV_PUT && entry.value.size == BYTES);
    CLAIM(count == COUNT);
    weft_kv_walk_free(walk);
}

static void changes_of_keys_are_told(weft_kv *kv)
{
    weft_kv_entry entry;
    weft_kv *other = weft_kv_open(cluster, "/one/0/kv");
    weft_kv_walk *walk = weft_kv_watch(kv, weft_text("w/"));
    GIVES(OK, weft_kv_put(other, weft_text("w/a"), weft_text("1"), NULL, NULL));
    CLAIM(weft_kv_next(walk, &entry) && entry.what == WEFT_KV_PUT && is_text(entry.key, "w/a"));
    GIVES(OK, weft_kv_put(other, weft_text("x"), weft_text("1"), NULL, NULL));
    GIVES(OK, weft_kv_remove(other, weft_text("w/a"), NULL));
    CLAIM(weft_kv_next(walk, &entry) && entry.what == WEFT_KV_REMOVED && is_text(entry.key, "w/a"));
    weft_kv_set_timeout(kv, 30);
    CLAIM(!weft_kv_next(walk, &entry) && weft_kv_walk_error(walk) == WEFT_DEADLINE_EXCEEDED);
    weft_kv_set_timeout(kv, 0);
    for (int i = 0; i < 5000; i++)
        GIVES(OK, weft_kv_put(other, weft_text("w/b"), weft_none(), NULL, NULL));
    CLAIM(weft_kv_next(walk, &entry) && entry.what == WEFT_KV_RESET);
    CLAIM(weft_kv_next(walk, &entry) && entry.what == WEFT_KV_PUT && is_text(entry.key, "w/b"));
    weft_kv_walk_free(walk);
    weft_kv_free(other);
}

static void keys_are_shared(void)
{
    weft_kv *kv = weft_kv_open(cluster, "/one/0/kv");
    keys_have_values_and_versions(kv);
    changes_of_keys_are_told(kv);
    ranges_come_in_pieces(kv);
    weft_kv_free(kv);
}
