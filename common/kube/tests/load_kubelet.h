/* SPDX-License-Identifier: Apache-2.0 */
/* Part of kube_load: pods of a namespace that end well as soon as they are there. */
#pragma once

#include "common/kube/client.h"

_Noreturn void fatal(const char *what, const struct error *err);

/* Until SIGTERM or SIGINT. */
void play_kubelet(struct loop *loop, struct kube *kube, const char *namespace_name);
