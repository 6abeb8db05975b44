/* SPDX-License-Identifier: Apache-2.0 */
/* Inside common/data: real numbers as text, for JSON and YAML. */
#pragma once

enum { DOC_REAL_MAX = 40 };

/* Writes the shortest decimal that parses to the same number, with a point or an exponent so that
 * it stays a real: "0.1", "3.0", "1e+21". value is finite. */
void doc_format_real(double value, char ret_text[DOC_REAL_MAX]);
