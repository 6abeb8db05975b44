/* SPDX-License-Identifier: Apache-2.0 */
/* Inside common/data: the type of an unquoted YAML scalar as in sigs.k8s.io/yaml (a fork of go-yaml
 * v2): YAML 1.1 without sexagesimal numbers, with the integer prefixes of Go. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum scalar_type {
    SCALAR_STRING,
    SCALAR_NULL,
    SCALAR_BOOLEAN,
    SCALAR_INTEGER,
    SCALAR_REAL, /* also integers past 64 bits, as for JSON */
    SCALAR_NOT_FINITE,
};

struct scalar {
    enum scalar_type type;
    bool boolean;
    int64_t integer;
    double real;
};

/* text has length bytes, followed by a NUL. */
struct scalar scalar_resolve(const char *text, size_t length);
