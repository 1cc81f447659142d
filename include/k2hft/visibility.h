/* SPDX-License-Identifier: MIT */
#ifndef K2HFT_VISIBILITY_H
#define K2HFT_VISIBILITY_H

#define K2HFT_API __attribute__((visibility("default")))

#endif
