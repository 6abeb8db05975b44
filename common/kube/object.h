/* SPDX-License-Identifier: Apache-2.0 */
/* Inside kube/: parses objects of lists and watches. An object that cannot be parsed (nested too
 * deep, NUL in a string) must not block the others: it is reduced to those parts of its metadata,
 * spec and status that can be parsed, so that the controller can report it as failed. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"

enum kube_line_type {
    KUBE_LINE_ADDED,
    KUBE_LINE_MODIFIED,
    KUBE_LINE_DELETED,
    KUBE_LINE_BOOKMARK,
    KUBE_LINE_ERROR,
    KUBE_LINE_UNKNOWN,
};

/* Member of a reduced object: why it could not be parsed. No kind of object has such a member. */
#define KUBE_UNREADABLE "unreadable"

/* skipped_members lists members that are not needed (see doc_parse_json_without()). *ret_object is
 * a new reference. If it is a reduced object, ret_fault says why; otherwise ret_fault is untouched.
 * Fails only if not even the name of the object can be found. */
int kube_object_parse(const char *text, size_t size, const char *const *skipped_members,
                      json_t **ret_object, struct error *ret_fault, struct error *err) must_check;

/* Name and version of the object in a line of a watch, found without parsing the line. */
struct kube_head {
    char namespace_name[64], name[254], resource_version[24];
};
/* False: not found; the line has to be parsed. */
bool kube_line_head(const char *text, size_t size, struct kube_head *ret_head);

/* Parses one line of a watch: {"type": "ADDED", "object": {...}}. If skipped_members is not NULL,
 * spec and status of deleted objects are skipped as well. */
int kube_line_parse(const char *text, size_t size, const char *const *skipped_members,
                    enum kube_line_type *ret_type, json_t **ret_object, struct error *ret_fault,
                    struct error *err) must_check;
