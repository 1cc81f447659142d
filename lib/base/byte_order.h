/* SPDX-License-Identifier: MIT */
#ifndef K2I_BASE_BYTE_ORDER_H
#define K2I_BASE_BYTE_ORDER_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

/* Little-endian numbers at any address; memcpy compiles to one load or store. */

static inline uint16_t k2i_wire_u16(const uint8_t *bytes)
{
	uint16_t value;

	memcpy(&value, bytes, sizeof(value));
	return le16toh(value);
}

static inline uint32_t k2i_wire_u32(const uint8_t *bytes)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof(value));
	return le32toh(value);
}

static inline uint64_t k2i_wire_u64(const uint8_t *bytes)
{
	uint64_t value;

	memcpy(&value, bytes, sizeof(value));
	return le64toh(value);
}

static inline void k2i_wire_u16_put(uint8_t *bytes, uint16_t value)
{
	value = htole16(value);
	memcpy(bytes, &value, sizeof(value));
}

static inline void k2i_wire_u32_put(uint8_t *bytes, uint32_t value)
{
	value = htole32(value);
	memcpy(bytes, &value, sizeof(value));
}

static inline void k2i_wire_u64_put(uint8_t *bytes, uint64_t value)
{
	value = htole64(value);
	memcpy(bytes, &value, sizeof(value));
}

#endif
