/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "receiver/sink/file/output.h"

bool k2i_output_error_own(int error)
{
	switch (-error) {
	case EACCES:
	case EPERM:
	case ELOOP:
	case EXDEV:
	case ENXIO:
	case ENODEV:
	case EISDIR:
	case ENOTDIR:
	case EINVAL:
	case ENAMETOOLONG:
	case ETXTBSY:
	case EOVERFLOW:
	case EFBIG:
	case EILSEQ:
		return true;
	default:
		return false;
	}
}
