/* SPDX-License-Identifier: Apache-2.0 */
/* Inside common/data: how a real number is written, in JSON and in YAML alike. */
#pragma once

enum { DOC_REAL_MAX = 40 };

/* The shortest decimal that reads back as the same number, with a point or an exponent, so that it
 * stays a real: "0.1", "3.0", "1e+21". value is finite. */
void doc_format_real(double value, char ret_text[DOC_REAL_MAX]);
