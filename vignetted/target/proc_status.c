/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/target/proc_status.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void vg_proc_status_text(pid_t pid, const char *key, char text[VG_PROC_STATUS_BYTES])
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof path, pid != 0 ? "/proc/%d/status" : "/proc/self/status", pid);
	text[0] = '\0';
	file = fopen(path, "re");
	while (file != NULL && fgets(text, VG_PROC_STATUS_BYTES, file) != NULL) {
		if (strncmp(text, key, strlen(key)) == 0) {
			memmove(text, text + strlen(key), strlen(text + strlen(key)) + 1);
			break;
		}
		text[0] = '\0';
	}
	if (file != NULL)
		fclose(file);
}

long vg_proc_status_number(pid_t pid, const char *key)
{
	char text[VG_PROC_STATUS_BYTES];

	vg_proc_status_text(pid, key, text);
	return text[0] != '\0' ? strtol(text, NULL, 10) : -1;
}

bool vg_proc_status_capable(int capability)
{
	char text[VG_PROC_STATUS_BYTES];

	vg_proc_status_text(0, "CapEff:", text);
	return (strtoull(text, NULL, 16) >> capability & 1) != 0;
}
