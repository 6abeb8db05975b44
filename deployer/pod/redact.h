/* SPDX-License-Identifier: Apache-2.0 */
/* What a program prints can hold what it was given: credentials, imports, state. These are the
 * values to take out of such text before it becomes part of a status (item/mask.h takes them out).
 * Only main knows the state: where that is not known, main alone is silent. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Shorter values would hide half of every log, and tell nobody anything. A run's inputs are at most
 * 1 MiB: the limit is there for those of them that are made to reach it. */
enum { HIDE_LENGTH_MIN = 6, HIDE_DIGITS_MIN = 6, HIDE_VALUES_MAX = 256 * 1024 };

/* NULL at the end of items; zeroed memory is an empty list of which nobody knows whether it is all.
 */
struct hidden {
    char **items;
    size_t count, capacity;
    bool is_known;            /* all inputs were there to be read; set by whoever read them */
    bool is_state_known;      /* so was the state, or is_state_incomplete says that it was not */
    bool is_incomplete;       /* some inputs can't be hidden: too many, too deep, no base64 */
    bool is_state_incomplete; /* some of the state can't: too much, damaged, not to be had */
};

/* Adds all texts and longer numbers in a Secret's data: those inside JSON, YAML and base64 one by
 * one, long ones line by line, of programs and command lines what may be a secret (words.h). */
void hidden_add_secret(struct hidden *hidden, const json_t *secret);
/* The same for a text file of the state. */
void hidden_add_state_text(struct hidden *hidden, const char *text, size_t size);
/* Takes out what is told anyway, and says what an error is about: an image, those of a pod. */
void hidden_spare(struct hidden *hidden, const char *shown);
void hidden_spare_images(struct hidden *hidden, const json_t *pod);
void hidden_done(struct hidden *hidden); /* wipes them */

/* What may be told of main's words, which belongs to the caller. NULL: not known what is secret in
 * them. Where not all of that can be hidden the text says so in their place. */
char *hidden_mask(const struct hidden *hidden, const char *text);
/* Whether main's words are told at all. */
bool hidden_is_all_known(const struct hidden *hidden);

/* A copy of a pod (new reference) in which no words of the containers and their kubelet hold one of
 * the values. Where nobody knows what is secret, main says nothing, and nothing is said of it; nor
 * do containers that somebody injected say anything then. */
json_t *hidden_from_pod(const json_t *pod, const struct hidden *hidden);
/* Whether a pod's status has words that the inputs have to be taken out of. Those of injected
 * containers that have ended are not asked for: they are told only where they are the cause. */
bool hidden_has_words(const json_t *pod);
/* Whether main has begun, as far as the status says: before, it can't have said anything. */
bool hidden_may_have_spoken(const json_t *pod);
