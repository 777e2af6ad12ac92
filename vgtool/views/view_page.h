/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_VIEW_PAGE_H
#define VG_VGTOOL_VIEW_PAGE_H

#include <stdbool.h>
#include <stdio.h>

#include "profile/model.h"
#include "vgtool/analysis/thread_samples.h"

/*
 * Writes a page (HTML) that shows the profile in a browser: vgtool/page has its text.  The page contains the samples
 * as base64 of gzip of JSON.  Its script decodes them.  So names in the profile are never parts of the HTML.
 *
 * Weights are in microseconds.  The rounding error of a sample is added to the thread's next sample, so that the sums
 * are correct.
 */
struct vg_view_page {
	const char *title;           /* NULL: the name of the program */
	const char *exporter;        /* name and version of the program that writes the page */
	enum vg_weight weight;       /* shown first */
	bool by_module;              /* addresses of a module without symbols are one function */
	uint32_t base_processes;     /* the first processes of the profile, which are the base of a comparison */
	const char *const *sources;  /* directories with source files, whose lines the page contains */
	size_t source_count;
	int *source_files;           /* is set to the number of source files in the page; may be NULL */
};

/* Returns 0, -ENOMEM, or -EFBIG if there are more than VG_VIEW_NODES_MAX nodes (view_nodes.h).  For write errors, check
 * the stream. */
int vg_view_page_write(const struct vg_profile *profile, const struct vg_view_page *page, FILE *file);

/* The same without the page: the JSON. */
int vg_view_page_data(const struct vg_profile *profile, const struct vg_view_page *page, FILE *file);

#endif
