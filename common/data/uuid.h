/* SPDX-License-Identifier: Apache-2.0 */
/* Random UUIDs (version 4), lower case, canonical. */
#pragma once

enum { UUID_TEXT_SIZE = 37 };

void uuid_make(char ret_text[UUID_TEXT_SIZE]);
