/* SPDX-License-Identifier: Apache-2.0 */
/* What a process does only once, in a child of the test: ending. Help for tests; failures are
 * failed assertions. */
#pragma once

/* Ends this child. In a coverage build its counts are kept, which _exit() alone would lose. */
_Noreturn void child_exit(int status);

/* Runs it in a child, which must abort and have said these words on stderr before. */
void child_must_abort(void (*run)(void *data), void *data, const char *words);
