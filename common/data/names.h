/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of Kubernetes for names and labels, and derived names that do not collide. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"

enum { NAME_MAX_LABEL = 63, NAME_MAX_SUBDOMAIN = 253, NAME_HASH_SIZE = 17 };

bool name_is_dns_subdomain(const char *text); /* at most 253 */
bool name_is_label_value(const char *text);   /* may be empty */
bool name_is_label_key(const char *text);     /* [prefix/]name */

/* 16 hex digits of sha256("namespace/name"), so that a-b/c and a/b-c differ. */
void name_hash(const char *namespace_name, const char *name, char ret_hash[NAME_HASH_SIZE]);

/* "<readable start of name>-<hash>[suffix]": a DNS label of at most max characters (0: 63). Belongs
 * to the caller. */
char *name_make(const char *namespace_name, const char *name, const char *suffix, size_t max);

/* The text itself if it is a valid label value, else a readable start, "_" and a hash of the whole
 * text, which cannot be the name of an object. Belongs to the caller. */
char *name_label_value(const char *text);
