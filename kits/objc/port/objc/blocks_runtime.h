/* Where GNUstep's headers look for the runtime of blocks: Debian has it as Block.h. */

#include <Block.h>
