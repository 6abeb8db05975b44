/* SPDX-License-Identifier: Apache-2.0 */
/* Documents: JSON and YAML from outside become json_t trees, within limits, and are read by path
 * with messages that name the path. (jansson owns the prefix json_, libyaml yaml_.) */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/base/error.h"

enum { DOC_DEPTH_MAX = 128 };

/* Once per process, before any document: jansson aborts on out of memory as all of us do, so that
 * its NULL always means wrong data, and its hash seed is set. */
void doc_setup(void);

/* JSON text of at most max_bytes (else ERROR_TOO_LARGE), any value at the top. Duplicate keys,
 * depth over DOC_DEPTH_MAX, trailing garbage and NUL in strings are refused: ERROR_INVALID "line 3,
 * column 7: ...", which never quotes the text. Integers past 64 bits become reals, as in Go.
 * *ret_doc is a new reference. */
int doc_parse_json(const char *text, size_t size, size_t max_bytes, json_t **ret_doc,
                   struct error *err) must_check;

/* The same without the members of the top object that left_out names ("a" or "a.b", NULL at the
 * end; or NULL), which are not read at all and need not be JSON. */
int doc_parse_json_without(const char *text, size_t size, size_t max_bytes,
                           const char *const *left_out, json_t **ret_doc, struct error *err)
    must_check;

/* For texts of others that are only looked into, where one odd value must not spoil the rest: NUL
 * in a text becomes U+FFFD and what lies deeper than DOC_DEPTH_MAX becomes null. *ret_is_mended
 * tells that something was changed; nobody may act on the changed parts. */
int doc_parse_json_lenient(const char *text, size_t size, size_t max_bytes, json_t **ret_doc,
                           bool *ret_is_mended, struct error *err) must_check;

/* YAML (or JSON) to the tree that sigs.k8s.io/yaml gives: YAML 1.1 booleans
 * (yes/no/on/off/y/n), ints, floats, null; timestamps stay strings; non-string keys become strings;
 * merge keys work. At most one document that is not empty; none gives null. Duplicate keys are
 * refused by line and column, aliases are expanded within a budget of nodes and max_bytes of text
 * (billion laughs), depth is bounded as for JSON. */
int doc_parse_yaml(const char *text, size_t size, size_t max_bytes, json_t **ret_doc,
                   struct error *err) must_check;
/* All documents of a multi-document stream as a JSON array; empty documents are left out. */
int doc_parse_yaml_stream(const char *text, size_t size, size_t max_bytes, json_t **ret_docs,
                          struct error *err) must_check;

/* The whole of a regular file (also through a symbolic link, as Secret volumes have them) of at
 * most max_bytes. ret_data is zeroed or initialised; what it holds is replaced. */
int doc_read_file(const char *path, size_t max_bytes, struct buffer *ret_data, struct error *err)
    must_check;

/* Compact JSON, keys in their order (sorted: doc_dump_sorted). Belongs to the caller; never NULL.
 */
char *doc_dump(const json_t *doc);
char *doc_dump_sorted(const json_t *doc);
/* Block YAML for people; the result parses back to the same tree. */
char *doc_dump_yaml(const json_t *doc);

/* Borrowed look-ups by dotted path of object keys ("metadata.name"); keys with dots: doc_member().
 * Missing, or of another type: NULL, fallback. */
const json_t *doc_get(const json_t *doc, const char *path);
const json_t *doc_member(const json_t *doc, const char *key);
const char *doc_text(const json_t *doc, const char *path); /* NULL if no string is there */
const char *doc_text_or(const json_t *doc, const char *path, const char *fallback);
int64_t doc_integer_or(const json_t *doc, const char *path, int64_t fallback);
bool doc_bool_or(const json_t *doc, const char *path, bool fallback);

/* "a list", "a number" ... for messages; "nothing" for NULL. */
const char *doc_type_name(const json_t *value);

/* Checked look-ups: a value of the wrong type is ERROR_INVALID "spec.timeout: expected a string,
 * got a number". A missing value, and null, is an error only for the _required form, else *ret
 * stays as it was. 3.0 is a whole number. */
int doc_want_text(const json_t *doc, const char *path, const char **ret_text, struct error *err)
    must_check;
int doc_want_text_required(const json_t *doc, const char *path, const char **ret_text,
                           struct error *err) must_check;
int doc_want_bool(const json_t *doc, const char *path, bool *ret, struct error *err) must_check;
int doc_want_integer(const json_t *doc, const char *path, int64_t *ret, struct error *err)
    must_check;
int doc_want_object(const json_t *doc, const char *path, const json_t **ret, struct error *err)
    must_check;
int doc_want_array(const json_t *doc, const char *path, const json_t **ret, struct error *err)
    must_check;

/* A string value; bytes that are no UTF-8 become U+FFFD. Never NULL. */
json_t *doc_new_text(const char *text);

/* Sets doc.path = value (taken over), making the objects on the way. doc is an object. */
void doc_set_new(json_t *doc, const char *path, json_t *value);
void doc_set_text(json_t *doc, const char *path, const char *text);

/* The members of an object that is only read: jansson's own loop wants it writable. */
static inline json_t *doc_writable(const json_t *doc)
{
    union {
        const json_t *read;
        json_t *write;
    } same = {.read = doc};

    return same.write;
}
#define doc_foreach(object_, key_, value_) json_object_foreach(doc_writable(object_), key_, value_)

#define cleanup_json __attribute__((cleanup(doc_decrefp)))
static inline void doc_decrefp(json_t **doc)
{
    json_decref(*doc);
}
