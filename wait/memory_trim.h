/* SPDX-License-Identifier: Apache-2.0 */
/* We sit beside main for its whole life and do nothing: what start-up and handshakes needed is
 * given back. */
#pragma once

/* First thing in main(): large buffers are mapped, so that they are gone when they are freed. */
void thrift_set_up(void);

/* Gives free memory back, and lets go of all code and constants: they come from files, and the
 * little that waiting needs is mapped again when it is touched. */
void thrift_give_back(void);
