/* libxdc.h: stands in for libxdc's where that is not there: see xdc.sh. */
#include "examples/compat/libxdc/libxdc.h"
