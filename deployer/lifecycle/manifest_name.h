/* SPDX-License-Identifier: Apache-2.0 */
/* The name of the Manifest of a module in a cluster. Pure. */
#pragma once

enum { MANIFEST_NAME_MAX = 62 };

/* "<kyma>-<last part of the component>-<hash of component and module>". The original cuts a longer
 * name at the end, where the hash is, so that two modules may share one Manifest. Here the middle
 * is shortened instead; if the name of the Kyma alone is too long, it is shortened, too, and its
 * hash is inserted. Belongs to the caller. */
char *manifest_name(const char *kyma, const char *component, const char *module);
