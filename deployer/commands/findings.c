/* SPDX-License-Identifier: Apache-2.0 */
#include "deployer/commands/findings.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/number.h"

void findings_done(struct findings *findings)
{
    for (size_t i = 0; i < findings->file_count; i++)
        buffer_done(&findings->files[i].text);
    free(findings->files);
    for (size_t i = 0; i < findings->count; i++) {
        free(findings->items[i].object);
        free(findings->items[i].path);
        free(findings->items[i].text);
    }
    free(findings->items);
    *findings = (struct findings){0};
}

struct buffer *findings_add_file(struct findings *findings, const char *name, size_t max_bytes)
{
    struct findings_file *file = NULL;

    findings->files =
        xreallocarray(findings->files, findings->file_count + 1, sizeof(*findings->files));
    file = &findings->files[findings->file_count++];
    *file = (struct findings_file){.name = name};
    buffer_init(&file->text, max_bytes);
    return &file->text;
}

static struct finding *add(struct findings *findings, struct origin origin, const char *object,
                           const char *path, const char *text, bool is_warning)
{
    struct finding *finding = NULL;

    findings->items = xreallocarray(findings->items, findings->count + 1, sizeof(*findings->items));
    finding = &findings->items[findings->count++];
    *finding = (struct finding){
        .origin = origin,
        .object = xstrdup(object),
        .path = xstrdup(path),
        .text = xstrdup(text),
        .is_warning = is_warning && !findings->is_strict,
    };
    *(finding->is_warning ? &findings->warnings : &findings->errors) += 1;
    return finding;
}

void findings_add(struct findings *findings, struct origin origin, const char *object,
                  const char *path, const char *text, bool is_warning)
{
    (void)add(findings, origin, object, path, text, is_warning);
}

void findings_add_mistakes(struct findings *findings, struct origin origin, const char *object,
                           const struct mistakes *mistakes)
{
    for (size_t i = 0; i < mistakes->count; i++) {
        const struct mistake *mistake = &mistakes->items[i];

        add(findings, origin, object, mistake->path, mistake->text,
            mistake->kind == MISTAKE_UNKNOWN)
            ->is_key = mistake->kind == MISTAKE_UNKNOWN;
    }
}

/* Reads "word 12" at *at and moves *at behind it. */
static bool read_number_after(const char **at, const char *word, size_t *ret_number)
{
    size_t length = strlen(word);
    uint64_t number = 0;
    size_t digits = 0;

    if (strncmp(*at, word, length) != 0)
        return false;
    digits = number_scan(*at + length, UINT32_MAX, &number);
    *at += length + digits;
    *ret_number = (size_t)number;
    return digits > 0;
}

void findings_add_syntax(struct findings *findings, size_t file, const char *text)
{
    const char *rest = text;
    struct place place = {0};
    struct finding *finding = NULL;
    bool has_place = read_number_after(&rest, "line ", &place.line) &&
                     read_number_after(&rest, ", column ", &place.column) &&
                     strncmp(rest, ": ", 2) == 0;

    finding =
        add(findings, (struct origin){file, 0, -1}, "", "", has_place ? rest + 2 : text, false);
    finding->place = has_place ? place : (struct place){1, 1};
}

/* ---- places ---- */

/* The path in the document. The caller frees it. */
static char *full_path(const struct finding *finding)
{
    if (finding->origin.item < 0)
        return xstrdup(finding->path);
    return xasprintf("items[%ld]%s%s", finding->origin.item, *finding->path ? "." : "",
                     finding->path);
}

static void locate_in(struct findings *findings, size_t file)
{
    const struct buffer *text = &findings->files[file].text;
    cleanup_places struct places *places = places_new();

    if (!text->data)
        return;
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];
        cleanup_free char *path = full_path(finding);

        if (finding->origin.file == file && finding->place.line == 0)
            places_want(places, finding->origin.document, path);
    }
    places_search(places, text->data, text->size);
    for (size_t i = 0; i < findings->count; i++) {
        struct finding *finding = &findings->items[i];
        cleanup_free char *path = full_path(finding);

        if (finding->origin.file == file && finding->place.line == 0)
            finding->place = places_get(places, finding->origin.document, path, finding->is_key);
    }
}

static int compare(const void *a, const void *b)
{
    const struct finding *one = a, *other = b;
    const size_t keys[][2] = {
        {one->origin.file, other->origin.file},
        {one->place.line, other->place.line},
        {one->place.column, other->place.column},
    };

    for (size_t i = 0; i < array_length(keys); i++) {
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    }
    return strcmp(one->path, other->path);
}

void findings_locate(struct findings *findings)
{
    for (size_t i = 0; i < findings->file_count; i++)
        locate_in(findings, i);
    if (findings->count > 0)
        qsort(findings->items, findings->count, sizeof(*findings->items), compare);
}

/* ---- output ---- */

void findings_print(const struct findings *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];

        (void)printf("%s:", findings->files[finding->origin.file].name);
        if (finding->place.line > 0)
            (void)printf("%zu:%zu:", finding->place.line, finding->place.column);
        (void)printf(" %s: %s%s%s%s%s\n", finding->is_warning ? "warning" : "error",
                     finding->object, *finding->object ? ": " : "", finding->path,
                     *finding->path ? ": " : "", finding->text);
    }
}

json_t *findings_json(const struct findings *findings)
{
    json_t *list = json_array();

    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];
        const struct place *place = &finding->place;

        (void)json_array_append_new(
            list, json_pack("{s:s,s:o,s:o,s:s,s:s,s:s,s:s}", "file",
                            findings->files[finding->origin.file].name, "line",
                            place->line > 0 ? json_integer((json_int_t)place->line) : json_null(),
                            "column",
                            place->line > 0 ? json_integer((json_int_t)place->column) : json_null(),
                            "object", finding->object, "path", finding->path, "message",
                            finding->text, "severity", finding->is_warning ? "warning" : "error"));
    }
    return list;
}
