/* SPDX-License-Identifier: Apache-2.0 */
/* Documents: parses JSON and YAML into json_t trees within limits, and looks values up by path with
 * error messages that name the path. A tree takes at most about 64 MiB of memory; more is
 * ERROR_TOO_LARGE. (The prefixes json_ and yaml_ belong to jansson and libyaml.) */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buffer.h"
#include "common/base/error.h"

enum { DOC_DEPTH_MAX = 128 };

/* Configures jansson; to be called once per process, before any other function. jansson then aborts
 * when out of memory, so that a NULL from it always means wrong data. */
void doc_setup(void);

/* Parses JSON text of at most max_bytes (else ERROR_TOO_LARGE) with any value at the top. Duplicate
 * keys, nesting deeper than DOC_DEPTH_MAX, trailing data and NULs in strings are ERROR_INVALID
 * "line 3, column 7: ...", which never quotes the text. Integers past 64 bits become reals, as in
 * Go. *ret_doc is a new reference. */
int doc_parse_json(const char *text, size_t size, size_t max_bytes, json_t **ret_doc,
                   struct error *err) must_check;

/* The same without the members of the top object that skipped_members lists ("a" or "a.b", NULL at
 * the end; skipped_members may be NULL). They are skipped unchecked and need not be valid JSON. */
int doc_parse_json_without(const char *text, size_t size, size_t max_bytes,
                           const char *const *skipped_members, json_t **ret_doc, struct error *err)
    must_check;

/* Parses YAML or JSON to the tree that sigs.k8s.io/yaml builds: YAML 1.1 booleans
 * (yes/no/on/off/y/n), integers, floats and null; timestamps stay strings; other keys are converted
 * to strings; merge keys are supported. The text may contain one document; without any the result
 * is null. Duplicate keys are refused with line and column, nesting is limited as for JSON, and
 * aliases are expanded within a limit of nodes and of max_bytes of text ("billion laughs"). */
int doc_parse_yaml(const char *text, size_t size, size_t max_bytes, json_t **ret_doc,
                   struct error *err) must_check;
/* All documents of the text as an array, without empty ones. */
int doc_parse_yaml_stream(const char *text, size_t size, size_t max_bytes, json_t **ret_docs,
                          struct error *err) must_check;
/* The same for text that another program has already accepted: of duplicate keys the last one
 * counts, as in sigs.k8s.io/yaml without strict mode. */
int doc_parse_yaml_stream_repeated(const char *text, size_t size, size_t max_bytes,
                                   json_t **ret_docs, struct error *err) must_check;

/* Reads a regular file of at most max_bytes; symbolic links are followed, since Secret volumes
 * consist of them. ret_data is zeroed or initialised; its content is replaced. */
int doc_read_file(const char *path, size_t max_bytes, struct buffer *ret_data, struct error *err)
    must_check;

/* Compact JSON with the keys in insertion order, or sorted. Belongs to the caller; never NULL. */
char *doc_dump(const json_t *doc);
char *doc_dump_sorted(const json_t *doc);
/* Block YAML, which parses to the same tree again. */
char *doc_dump_yaml(const json_t *doc);

/* Look-up by dotted path ("metadata.name"), or by a single key that may contain dots. Results are
 * borrowed. A value that is missing or has another type gives NULL or the fallback. */
const json_t *doc_get(const json_t *doc, const char *path);
const json_t *doc_member(const json_t *doc, const char *key);
const char *doc_text(const json_t *doc, const char *path); /* NULL: not a string */
const char *doc_text_or(const json_t *doc, const char *path, const char *fallback);
int64_t doc_integer_or(const json_t *doc, const char *path, int64_t fallback);
bool doc_bool_or(const json_t *doc, const char *path, bool fallback);

/* For messages: "a list", "a number" ...; "nothing" for NULL. */
const char *doc_type_name(const json_t *value);

/* Checked look-up: a value of the wrong type is ERROR_INVALID "spec.timeout: expected a string, got
 * a number". A value that is missing or null is an error only for doc_want_text_required();
 * otherwise the result is untouched. 3.0 is a whole number. */
int doc_want_text(const json_t *doc, const char *path, const char **ret_text, struct error *err)
    must_check;
int doc_want_text_required(const json_t *doc, const char *path, const char **ret_text,
                           struct error *err) must_check;
int doc_want_integer(const json_t *doc, const char *path, int64_t *ret, struct error *err)
    must_check;
int doc_want_object(const json_t *doc, const char *path, const json_t **ret, struct error *err)
    must_check;
int doc_want_array(const json_t *doc, const char *path, const json_t **ret, struct error *err)
    must_check;

/* A new string value. NULs and bytes that are not UTF-8 become U+FFFD. Never NULL. */
json_t *doc_new_text(const char *text);
json_t *doc_new_string(const char *bytes, size_t size);

/* Sets the value at the path and creates the objects on the way. doc is an object. doc_set_new()
 * takes ownership of the value. */
void doc_set_new(json_t *doc, const char *path, json_t *value);
void doc_set_text(json_t *doc, const char *path, const char *text);

/* Casts const away: jansson's functions that only read often take a non-const pointer. */
static inline json_t *doc_writable(const json_t *doc)
{
    union {
        const json_t *read;
        json_t *write;
    } same = {.read = doc};

    return same.write;
}
/* Loops over the members of an object that is not changed. */
#define doc_foreach(object_, key_, value_) json_object_foreach(doc_writable(object_), key_, value_)

#define cleanup_json __attribute__((cleanup(doc_decrefp)))
static inline void doc_decrefp(json_t **doc)
{
    json_decref(*doc);
}
