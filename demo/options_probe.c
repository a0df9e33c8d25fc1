/*
 * Reads the command line as the demo does and ends with status 2 if it is wrong.  `./quern` runs this before it builds the demo.
 */
#include "options.h"

int main(int argc, char **argv) {
    static char name[] = "quern demo";
    argv[0] = name;
    options_parse(argc, argv);
    return 0;
}
