/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Elevators: which of the waiting requests goes to the drive next.
 *
 * An elevator is a decision over lists that the code here keeps: each request is in one list
 * (elevator_ops.list says which), in order of arrival and, for the sorting ones, by LBA
 * (engine/lba_index). Everything is pure: time is an argument, nothing is allocated after
 * elevator_new, equal offsets go by sequence, and no order comes from a pointer or a hash; so the
 * same calls give the same order.
 *
 * Those named after Linux elevators behave as 2.6.11 to 2.6.20 had them, with their defaults; a
 * request's stream (plan->stream) stands for the process. Flushes never come here.
 *
 * An elevator may leave the drive idle on purpose: next() then returns NULL although requests
 * wait, and says when to ask again. The instant is NSEC_NEVER only while a request is at the
 * drive; its completion, or an insertion, is then the event to ask again on.
 */
#ifndef ENGINE_ELEVATOR_H
#define ENGINE_ELEVATOR_H

#include "engine/lba_index.h"
#include "engine/request.h"

/* Every elevator's tunables, by their names in /sys/block/DEVICE/queue/iosched where Linux has
 * them. Fields of other elevators are ignored. */
struct elevator_options {
	nsec_t read_expire_ns;        /* deadline, anticipatory */
	nsec_t write_expire_ns;       /* deadline, anticipatory */
	uint64_t writes_starved;      /* deadline */
	uint64_t fifo_batch;          /* deadline */
	uint64_t front_merges;        /* deadline; 0 or 1 */
	nsec_t read_batch_expire_ns;  /* anticipatory */
	nsec_t write_batch_expire_ns; /* anticipatory */
	nsec_t antic_expire_ns;       /* anticipatory; 0: never wait */
	uint64_t quantum;             /* cfq */
	nsec_t fifo_expire_sync_ns;   /* cfq */
	nsec_t fifo_expire_async_ns;  /* cfq */
	uint64_t back_seek_max_bytes; /* cfq */
	uint64_t back_seek_penalty;   /* cfq */
	nsec_t slice_sync_ns;         /* cfq */
	nsec_t slice_async_ns;        /* cfq */
	uint64_t slice_async_rq;      /* cfq */
	nsec_t slice_idle_ns;         /* cfq; 0: never wait */
};

enum elevator_unit { ELEVATOR_COUNT, ELEVATOR_DURATION, ELEVATOR_SIZE };

/* One tunable of one elevator. */
struct elevator_option {
	const char *name; /* NULL ends a table */
	enum elevator_unit unit;
	size_t field;      /* offset in struct elevator_options; every field has 64 bits */
	uint64_t standard; /* the era's default */
	uint64_t minimum, maximum;
	const char *what; /* half a line for the help */
};

struct elevator_list {
	struct request *oldest, *newest; /* by arrival, through queue_next and queue_prev */
	size_t count;
};

struct elevator {
	const struct elevator_ops *ops;
	struct elevator_options options;
	uint32_t streams;        /* a request's stream is below that */
	struct lba_index *index; /* NULL: by arrival only */
	struct elevator_list *lists;
	void *per_stream;  /* see elevator_ops.stream_bytes */
	size_t count;      /* waiting; merged requests count once */
	size_t at_drive;   /* handed over and not complete */
	bool front_merges; /* else only with the request inserted last; set by init */
};

struct elevator_ops {
	const char *name;
	const char *summary; /* half a line for the help */
	const struct elevator_option *options;
	size_t bytes;     /* of the struct that begins with its struct elevator */
	bool sorted;      /* keeps its lists by LBA too */
	bool tail_merges; /* a request may only merge with the one inserted last */

	size_t stream_bytes; /* memory, zero at first, for each stream and two more */

	/* How many lists there are; NULL: one. */
	uint32_t (*lists)(uint32_t streams);
	/* The list that a request belongs to; NULL: 0. */
	uint32_t (*list)(const struct elevator *elevator, const struct request *request);

	/* Sets what does not start at zero. May be NULL. */
	void (*init)(struct elevator *elevator);
	/* The request has been put into its list. May be NULL. */
	void (*inserted)(struct elevator *elevator, struct request *request, nsec_t now_ns);
	/* Chooses; elevator_next takes what is returned out of its list. Only called while
	 * something waits. *ret_wake_ns is NSEC_NEVER beforehand. */
	struct request *(*next)(struct elevator *elevator, nsec_t now_ns, nsec_t *ret_wake_ns);
	/* A request that next() returned is complete; at_drive still counts it. May be NULL. */
	void (*completed)(struct elevator *elevator, const struct request *request, nsec_t now_ns);
	/* The waiting request has become part of another one. May be NULL. */
	void (*absorbed)(struct elevator *elevator, const struct request *request);
};

/* All of them, in the order in which the help lists them; NULL at the end. */
extern const struct elevator_ops *const elevators[];

/* The one of that name, or NULL. */
const struct elevator_ops *elevator_find(const char *name);

/* Fills the fields of this elevator with their defaults, the others with 0. */
void elevator_options_default(const struct elevator_ops *ops, struct elevator_options *options);
/* `name=value` with the unit that the table says; -EINVAL, -ERANGE with a sentence. */
int elevator_options_set(const struct elevator_ops *ops, struct elevator_options *options,
	const char *text, struct error *error);
uint64_t elevator_options_get(
	const struct elevator_options *options, const struct elevator_option *option);

/* Room for capacity waiting requests of streams 0 .. streams - 1; -ENOMEM. */
int elevator_new(const struct elevator_ops *ops, const struct elevator_options *options,
	size_t capacity, uint32_t streams, struct elevator **ret_elevator);
void elevator_free(struct elevator *elevator);
/* Memory that elevator_new takes. */
size_t elevator_memory_bytes(const struct elevator_ops *ops, size_t capacity, uint32_t streams);

/* What the host queue calls. Instants never go back. */
void elevator_insert(struct elevator *elevator, struct request *request, nsec_t now_ns);
struct request *elevator_next(struct elevator *elevator, nsec_t now_ns, nsec_t *ret_wake_ns);
void elevator_completed(struct elevator *elevator, const struct request *request, nsec_t now_ns);
/* replacement, which begins where request does and has its sequence, takes its place. */
void elevator_replace(
	struct elevator *elevator, struct request *request, struct request *replacement);
/* The waiting request now begins at offset_bytes (its length is the caller's to set). */
void elevator_move(struct elevator *elevator, struct request *request, uint64_t offset_bytes);
/* gone becomes part of request, which takes the older one's place and instant. */
void elevator_absorb(struct elevator *elevator, struct request *request, struct request *gone);

/* What elevators share. */

/* The next of a one-way sweep at position, with short ways back: the first request of the list at
 * or after position, unless one behind it by at most back_bytes is nearer by more than the factor
 * penalty; with none ahead the nearest within back_bytes, else the lowest. NULL when the list is
 * empty. */
struct request *elevator_one_way(const struct elevator *elevator, uint32_t list, uint64_t position,
	uint64_t back_bytes, uint64_t penalty);

extern const struct elevator_ops elevator_noop_ops;
extern const struct elevator_ops elevator_deadline_ops;
extern const struct elevator_ops elevator_anticipatory_ops;
extern const struct elevator_ops elevator_cfq_ops;
extern const struct elevator_ops elevator_clook_ops;
extern const struct elevator_ops elevator_sstf_ops;

#endif
