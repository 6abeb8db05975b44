/* SPDX-License-Identifier: Apache-2.0 */
/* Part of kube_load: makes the pods of a namespace succeed as soon as they are created. */
#pragma once

#include "common/kube/client.h"

_Noreturn void fatal(const char *what, const struct error *err);

/* Until SIGTERM or SIGINT. */
void play_kubelet(struct loop *loop, struct kube *kube, const char *namespace_name);
