/* SPDX-License-Identifier: Apache-2.0 */
/* Random UUIDs (version 4) in canonical lower-case form. */
#pragma once

enum { UUID_TEXT_SIZE = 37 };

void uuid_make(char ret_text[UUID_TEXT_SIZE]);
