/* SPDX-License-Identifier: Apache-2.0 */
/* What `longshore validate` finds: collected with paths, printed with file, line and column. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/base/buffer.h"
#include "common/data/places.h"
#include "deployer/validation/mistakes.h"

/* A file with its text, in which paths are looked up. */
struct findings_file {
    const char *name; /* borrowed */
    struct buffer text;
};

/* Where an object comes from. */
struct origin {
    size_t file;
    size_t document; /* from 0, without empty ones */
    long item;       /* in a List; -1: the document is the object itself */
};

struct finding {
    struct origin origin;
    char *object; /* "DeployItem team/job"; "" if there is none */
    char *path;   /* in the object */
    char *text;
    bool is_warning, is_key;
    struct place place; /* line 0: the file has no text */
};

struct findings {
    struct findings_file *files;
    size_t file_count;
    struct finding *items;
    size_t count;
    size_t errors, warnings;
    bool is_strict; /* warnings count as errors */
};

void findings_done(struct findings *findings);

/* Adds a file and returns its text, which is empty and has a maximum of max_bytes. Valid until the
 * next call. */
struct buffer *findings_add_file(struct findings *findings, const char *name, size_t max_bytes);

void findings_add(struct findings *findings, struct origin origin, const char *object,
                  const char *path, const char *text, bool is_warning);
void findings_add_mistakes(struct findings *findings, struct origin origin, const char *object,
                           const struct mistakes *mistakes);
/* An error in the text of a file; a message that begins with "line 3, column 7: " has that place.
 */
void findings_add_syntax(struct findings *findings, size_t file, const char *text);

/* Looks up all places, and sorts by file, line and column. To be called once, before printing. */
void findings_locate(struct findings *findings);
/* One line each: "item.yaml:3:7: error: DeployItem team/job: spec.timeout: ...". */
void findings_print(const struct findings *findings);
/* [{file, line, column, object, path, message, severity}]. New reference. */
json_t *findings_json(const struct findings *findings);
