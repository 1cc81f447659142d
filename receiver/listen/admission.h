/* SPDX-License-Identifier: MIT */
#ifndef K2I_RECEIVER_LISTEN_ADMISSION_H
#define K2I_RECEIVER_LISTEN_ADMISSION_H

#include <sys/socket.h>

#include "app/rules/hosts.h"
#include "receiver/base/owner.h"
#include "receiver/listen/lookup.h"

/*
 * Whether a peer may connect: whether a NAME of the SLVNODE sections is for it. Trusted are, in this order, its address;
 * the names of its certificate, if that was verified; and if it has none, the name that its address has, provided that the
 * name has that address, too: whoever owns an address can give it any name. A peer's own name for itself does not
 * count.
 *
 * Names are looked up on threads of their own, a few at a time, and remembered for a minute. All calls return at once, and
 * can be made by any thread.
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
/* Takes other `hosts`, for those who ask from now on or are still waiting. */
void k2i_admission_change(struct k2i_admission *admission, struct k2i_hosts *hosts);
/* Nothing is told any more. NULL is allowed, also below. */
void k2i_admission_stop(struct k2i_admission *admission);
/* When nobody asks any more; look-ups that are under way are not waited for. */
void k2i_admission_free(struct k2i_admission *admission);

struct k2i_tls;
/* `tls`: NULL without. `reason` is filled in unless the peer is admitted. */
enum k2i_verdict k2i_admission_ask(struct k2i_admission *admission, const struct sockaddr *peer,
				   const struct k2i_tls *tls, struct k2i_owner owner,
				   char reason[K2I_ADMISSION_REASON_ROOM]);

#endif
