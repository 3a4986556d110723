/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The process's entry; everything else is reachable from tests. */
#include <locale.h>

#include "tools/command.h"

int main(int argc, char **argv)
{
	/* Only how wide characters are: numbers stay as they are whatever the locale says. */
	(void)setlocale(LC_CTYPE, "");
	return command_main(argc, argv);
}
