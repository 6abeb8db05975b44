/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of the API from text. One that cannot be read as a whole (nested too deep, NUL in a
 * string) must not stop the others: as much of its metadata as can be read is made out, so that it
 * can be named and failed. Part of kube/. */
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

/* Of a reduced object: why it is one. No object of the API has such a member. */
#define KUBE_UNREADABLE "unreadable"

/* Members that nobody asks for need not be parsed: "a" or "a.b", NULL at the end; left_out may be
 * NULL. *ret_object is a new reference. If it is a reduced one, ret_fault says why, else ret_fault
 * is as it was. Fails only for text that has no name to fail. */
int kube_object_parse(const char *text, size_t size, const char *const *left_out,
                      json_t **ret_object, struct error *ret_fault, struct error *err) must_check;

/* Which object in which version a line of a watch is about, without parsing it. False: not to be
 * had so; then it must be parsed. */
struct kube_head {
    char namespace_name[64], name[254], resource_version[24];
};
bool kube_line_head(const char *text, size_t size, struct kube_head *ret_head);

/* One line of a watch: {"type": "ADDED", "object": {...}}. With left_out, what is deleted comes
 * without its spec and status. */
int kube_line_parse(const char *text, size_t size, const char *const *left_out,
                    enum kube_line_type *ret_type, json_t **ret_object, struct error *ret_fault,
                    struct error *err) must_check;
