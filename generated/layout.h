/*
 * A number of the layout of the ranks' memory, from the text of src/ranks/segment.h and what it includes.
 *
 * Rendered by gen/ from templates/build/layout.h.j2; do not edit.
 */
#ifndef QUERN_GENERATED_LAYOUT_H
#define QUERN_GENERATED_LAYOUT_H

#define QUERN_SEGMENT_LAYOUT 0xf7c73f43u

#endif
