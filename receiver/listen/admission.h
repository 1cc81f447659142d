/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_LISTEN_ADMISSION_H
#define K2I_RECEIVER_LISTEN_ADMISSION_H

#include <sys/socket.h>

#include "app/rules/hosts.h"
#include "receiver/base/owner.h"
#include "receiver/listen/lookup.h"

/*
 * Admission decides whether a peer may connect: a NAME of the SLVNODE sections must be for it. It trusts, in this
 * order, the peer's address; the names of its verified certificate; and, without one, the name of its address. That
 * name must lead back to the address, because the owner of an address can give it any name. The peer's own words do not
 * count.
 *
 * A few threads look names up; the answers are kept for a minute. All calls return at once, and any thread can make
 * them.
 */
struct k2i_admission;

enum k2i_verdict {
	K2I_VERDICT_ADMITTED,
	K2I_VERDICT_REFUSED,
	K2I_VERDICT_BUSY,  /* too many names are being looked up: it may try again */
	K2I_VERDICT_LATER, /* its name is being looked up; `tell` says when to ask again */
};
#define K2I_ADMISSION_REASON_ROOM 512u

/* Takes `hosts`, also with an error; NULL: anybody may connect. -ENOMEM. */
typedef void k2i_admission_tell(struct k2i_owner owner);
int k2i_admission_open(struct k2i_hosts *hosts, const struct k2i_lookup *lookup, k2i_admission_tell *tell,
		       struct k2i_admission **admission);
/* Replaces `hosts` for peers that ask from now on or still wait. */
void k2i_admission_change(struct k2i_admission *admission, struct k2i_hosts *hosts);
/* Stops the calls of `tell`. NULL is allowed, also below. */
void k2i_admission_stop(struct k2i_admission *admission);
/* Frees it when nobody asks any more. Look-ups that are under way end by themselves. */
void k2i_admission_free(struct k2i_admission *admission);

struct k2i_tls;
/* `tls`: NULL without. `reason` is filled in unless the peer is admitted. */
enum k2i_verdict k2i_admission_ask(struct k2i_admission *admission, const struct sockaddr *peer,
				   const struct k2i_tls *tls, struct k2i_owner owner,
				   char reason[K2I_ADMISSION_REASON_ROOM]);

#endif
