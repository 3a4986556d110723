/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The random numbers of patterns, layouts and bodies (PostMark's own generator is elsewhere).
 *
 * xoshiro256++ by Blackman and Vigna ("Scrambled linear pseudorandom number generators", ACM
 * TOMS 47(4), 2021), seeded by splitmix64 as its authors advise. One seed of a run feeds
 * several independent streams: load, layout and data each have their own, so that a change in
 * one never shifts another.
 */
#ifndef ENGINE_RNG_H
#define ENGINE_RNG_H

#include <stdint.h>

enum rng_stream { RNG_LOAD, RNG_LAYOUT, RNG_DATA, RNG_FAULTS };

struct rng {
	uint64_t state[4];
};

static inline uint64_t rng_splitmix(uint64_t *state)
{
	uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static inline void rng_seed(struct rng *rng, uint64_t seed, enum rng_stream stream)
{
	uint64_t state = seed ^ ((uint64_t)stream << 56);

	for (int i = 0; i < 4; i++)
		rng->state[i] = rng_splitmix(&state);
}

static inline uint64_t rng_rotate(uint64_t value, int bits)
{
	return (value << bits) | (value >> (64 - bits));
}

/* The next 64 random bits. */
static inline uint64_t rng_next(struct rng *rng)
{
	uint64_t *s = rng->state;
	const uint64_t result = rng_rotate(s[0] + s[3], 23) + s[0];
	const uint64_t t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rng_rotate(s[3], 45);
	return result;
}

/* Uniform in 0 .. bound - 1 by multiply and shift; the bias is below bound / 2^64. */
static inline uint64_t rng_below(struct rng *rng, uint64_t bound)
{
	return (uint64_t)(((unsigned __int128)rng_next(rng) * bound) >> 64);
}

#endif
