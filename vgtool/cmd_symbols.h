/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VGTOOL_CMD_SYMBOLS_H
#define VGTOOL_CMD_SYMBOLS_H

/* vgtool symbols: reads ELF files, writes .sym files.  argv[0] is "symbols".  Exit status: 0, 1 if
 * a file could not be read or written, 2 for wrong usage. */
int cmd_symbols(int argc, char **argv);

#endif
