// elf: the dynamic section, read and changed in place.
//
// A list of directories is a text in the table of strings, named by its offset there. The loader does not look at the table's size, so
// the text may lie anywhere after its beginning in memory: if the list that is there is too short, the new one goes into the zeros between two
// segments of the file, which are in memory anyway as the rest of a page. For the entry itself linkers leave some free ones at the end;
// else the one for debuggers is used.

#include "pack/elf.h"

#include <elf.h>

enum { PAGE_BYTES = 4096, SEGMENTS_MAX = 64 };

// A file's headers, checked: all of them lie in it.
struct elf {
    char *file;
    size_t size;
    Elf64_Phdr *segments;
    size_t segment_count;
    Elf64_Dyn *entries;        // up to and without the first DT_NULL
    size_t entry_count, room;  // room: entries that the section has
    char *strings;             // NULL: none
    size_t strings_max;        // bytes of the file from there on
    uint64_t strings_at;       // their address
};

bool elf_is_one(weft_bytes file)
{
    const unsigned char *id = (const unsigned char *)file.data;
    const uint16_t one = 1;
    const unsigned char order = *(const unsigned char *)&one ? ELFDATA2LSB : ELFDATA2MSB;
    return file.size >= sizeof(Elf64_Ehdr) && memcmp(id, ELFMAG, SELFMAG) == 0 &&
           id[EI_CLASS] == ELFCLASS64 && id[EI_DATA] == order;
}

// Where an address lies in the file; false: nowhere.
static bool find_offset(const struct elf *elf, uint64_t address, uint64_t *offset, uint64_t *left)
{
    for (size_t i = 0; i < elf->segment_count; i++) {
        const Elf64_Phdr *segment = &elf->segments[i];
        if (segment->p_type != PT_LOAD || address < segment->p_vaddr ||
            address - segment->p_vaddr >= segment->p_filesz)
            continue;
        *offset = segment->p_offset + (address - segment->p_vaddr);
        *left = segment->p_filesz - (address - segment->p_vaddr);
        return *offset <= elf->size && *left <= elf->size - *offset;
    }
    return false;
}

static bool read_dynamic(struct elf *elf, const Elf64_Phdr *segment)
{
    if (segment->p_offset > elf->size || segment->p_filesz > elf->size - segment->p_offset ||
        segment->p_offset % sizeof(uint64_t) != 0)
        return false;
    elf->entries = (Elf64_Dyn *)(void *)(elf->file + segment->p_offset);
    elf->room = segment->p_filesz / sizeof *elf->entries;
    while (elf->entry_count < elf->room && elf->entries[elf->entry_count].d_tag != DT_NULL)
        elf->entry_count++;
    return elf->entry_count < elf->room;
}

static bool read_elf(char *file, size_t size, struct elf *elf)
{
    *elf = (struct elf){.file = file, .size = size};
    if (!elf_is_one((weft_bytes){file, size}) || (uintptr_t)file % sizeof(uint64_t) != 0)
        return false;
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)(const void *)file;
    if (header->e_phentsize != sizeof(Elf64_Phdr) || header->e_phnum > SEGMENTS_MAX ||
        header->e_phoff % sizeof(uint64_t) != 0 || header->e_phoff > size ||
        header->e_phnum * sizeof(Elf64_Phdr) > size - header->e_phoff)
        return false;
    elf->segments = (Elf64_Phdr *)(void *)(file + header->e_phoff);
    elf->segment_count = header->e_phnum;
    bool has_dynamic = false;
    for (size_t i = 0; i < elf->segment_count && !has_dynamic; i++)
        if (elf->segments[i].p_type == PT_DYNAMIC)
            has_dynamic = read_dynamic(elf, &elf->segments[i]);
    for (size_t i = 0; has_dynamic && i < elf->entry_count; i++)
        if (elf->entries[i].d_tag == DT_STRTAB) {
            uint64_t offset, left;
            elf->strings_at = elf->entries[i].d_un.d_ptr;
            if (find_offset(elf, elf->strings_at, &offset, &left)) {
                elf->strings = file + offset;
                elf->strings_max = (size_t)left;
            }
        }
    return elf->strings != NULL;
}

// NULL: it does not end in the file.
static char *find_text(const struct elf *elf, uint64_t at)
{
    if (at >= elf->strings_max || !memchr(elf->strings + at, 0, elf->strings_max - at))
        return NULL;
    return elf->strings + at;
}

weft_err elf_visit(weft_bytes file, elf_visit_fn *visit, void *owner)
{
    struct elf elf;
    const char *path = NULL;
    weft_err code = WEFT_OK;
    if (!read_elf((char *)file.data, file.size, &elf))
        return WEFT_OK;
    for (size_t i = 0; i < elf.entry_count && code == WEFT_OK; i++) {
        const Elf64_Dyn *entry = &elf.entries[i];
        const bool is_needed = entry->d_tag == DT_NEEDED;
        const bool is_path = entry->d_tag == DT_RUNPATH || entry->d_tag == DT_RPATH;
        const char *text = is_needed || is_path ? find_text(&elf, entry->d_un.d_val) : NULL;
        if (text && is_needed)
            code = visit(owner, text, false);
        else if (text)
            path = text;
    }
    return code == WEFT_OK && path ? visit(owner, path, true) : code;
}

// ---- Changing ------------------------------------------------------------------------------------------------------

// Puts a text after the end of the segment that has the strings. *at is its offset from them.
static bool add_text(struct elf *elf, const char *text, uint64_t *at)
{
    const size_t size = strlen(text) + 1;
    Elf64_Phdr *segment = NULL;
    for (size_t i = 0; i < elf->segment_count; i++) {
        Elf64_Phdr *load = &elf->segments[i];
        if (load->p_type == PT_LOAD && elf->strings_at >= load->p_vaddr &&
            elf->strings_at - load->p_vaddr < load->p_filesz)
            segment = load;
    }
    if (!segment || segment->p_filesz != segment->p_memsz)
        return false;
    const uint64_t end = segment->p_offset + segment->p_filesz;
    const uint64_t page_left = -end & (PAGE_BYTES - 1);
    if (end > elf->size || page_left < size || elf->size - end < size)
        return false;
    for (size_t i = 0; i < elf->segment_count; i++)
        if (elf->segments[i].p_type == PT_LOAD && elf->segments[i].p_offset >= end &&
            elf->segments[i].p_offset < end + size)
            return false;
    for (size_t i = 0; i < size; i++)
        if (elf->file[end + i])
            return false;
    memcpy(elf->file + end, text, size);
    *at = segment->p_vaddr + segment->p_filesz - elf->strings_at;
    segment->p_filesz += size;
    segment->p_memsz += size;
    return true;
}

// The entry with a list; else a free one, or the debuggers'. Two lists are one too many.
static Elf64_Dyn *find_entry(const struct elf *elf, bool *has_list)
{
    Elf64_Dyn *list = NULL, *spare = NULL;
    for (size_t i = 0; i < elf->entry_count; i++) {
        Elf64_Dyn *entry = &elf->entries[i];
        if (entry->d_tag == DT_RUNPATH || (entry->d_tag == DT_RPATH && !list))
            list = entry;
        if (entry->d_tag == DT_DEBUG)
            spare = entry;
    }
    *has_list = list != NULL;
    if (list)
        return list;
    if (elf->entry_count + 1 < elf->room && elf->entries[elf->entry_count + 1].d_tag == DT_NULL)
        return &elf->entries[elf->entry_count];
    return spare;
}

bool elf_set_path(char *file, size_t size, const char *path)
{
    struct elf elf;
    bool has_list;
    if (!read_elf(file, size, &elf))
        return false;
    Elf64_Dyn *entry = find_entry(&elf, &has_list);
    if (!path) {
        if (has_list)
            entry->d_tag = DT_RPATH;
        return true;
    }
    if (!entry)
        return false;
    char *old = has_list ? find_text(&elf, entry->d_un.d_val) : NULL;
    uint64_t at = has_list ? entry->d_un.d_val : 0;
    if (old && strlen(old) >= strlen(path))
        memcpy(old, path, strlen(path) + 1);
    else if (!add_text(&elf, path, &at))
        return false;
    entry->d_tag = DT_RPATH;
    entry->d_un.d_val = at;
    return true;
}
