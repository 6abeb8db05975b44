/* SPDX-License-Identifier: Apache-2.0 */
/* Which ModuleTemplates and ModuleReleaseMetas a managed cluster gets copies of. Pure. */
#pragma once

#include <jansson.h>

/* releases and templates: objects by name. Of the labels of kyma only beta and internal count.
 * The copies as {"moduletemplates/harbour-1.0.0": {"object": {...}, "hash": "..."}, ...}: every
 * ModuleReleaseMeta that is not mandatory, with those channels whose template exists and is
 * visible, and these templates. A new reference. */
json_t *catalog_objects(const json_t *releases, const json_t *templates, const json_t *kyma);
