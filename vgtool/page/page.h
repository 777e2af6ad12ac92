/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_PAGE_H
#define VG_VGTOOL_PAGE_H

/*
 * The page of `vgtool view`, as text.  make puts it together from page.html, page.css and the scripts in this folder
 * (page_text.sh).  The data are between the two parts, as base64 of gzip of JSON.
 *
 * Both end with NUL, and are ASCII.
 */
extern const char vg_page_head[];
extern const char vg_page_tail[];

#endif
